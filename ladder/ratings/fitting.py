"""Fits a season's whole log and writes the official standings as immutable versions.

A version records its log number, the version whose messages it began from, and the seed of its
draws. So the chain of versions can be recomputed to the byte. The last version of a finished season
is a cold fit: it depends on the log alone.

A round rates all seasons: live ratings first, then the official standings due.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Final

import psycopg
from cachetools import LRUCache
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ladder.database.db import Connection, atomic_function, fetch, fetch_one
from ladder.entries import deadlines, medal_lines
from ladder.errors import Conflict, NotFound
from ladder.ids import EntryId, MatchId, SeasonId, TeamId
from ladder.leagues.medals import MedalRules
from ladder.ratings import live_ratings, medal_sealing, solo_seasons
from ladder.ratings.official.fit import GROWTH, Fit, Messages, fit_season, season_seed
from ladder.ratings.official.representatives import Entrant
from ladder.ratings.official.season_suspects import find_suspects
from ladder.ratings.official.standing import (
    FINAL_WEIGHT,
    OfficialPlace,
    OfficialStanding,
    build_standing,
)
from ladder.ratings.season_log import SeasonLog
from ladder.ratings.standing_versions import (
    SEASONS_KEPT,
    RowsDropped,
    get_version,
    latest_version,
    places_of_content,
    suspects_of_version,
    why_dropped,
)
from ladder.telemetry import log_event, traceback_text

LOCK: Final = 0x6F666669  # "offi": class of the advisory locks, one per season


FITTED_BY: Final = 7
"""Version of the method; increases with every change that affects results."""


LEAST_SECONDS: Final = 1.0


MOST_SECONDS: Final = 10.0


_place_fields = attrgetter(*(field.name for field in fields(OfficialPlace)))


@dataclass(slots=True)
class _LastFit:
    """Start of a season's next fit."""

    log: SeasonLog
    version: int = 0
    messages: Messages | None = None


class OfficialFitter:
    """Fits seasons and caches data for the next fit; one per process."""

    def __init__(self) -> None:
        self._kept: LRUCache[SeasonId, _LastFit] = LRUCache(SEASONS_KEPT)

    def refit(self, conn: Connection, season_id: SeasonId) -> int:
        """Writes the season's next version and returns its number; the caller commits.

        A season that ranks by measures needs no fit: its standing is marked as final. Raises
        NotFound.
        """
        if _select_season(conn, season_id)["measures"] is not None:
            return solo_seasons.make_standing_final(conn, season_id)
        kept = self._kept.setdefault(season_id, _LastFit(SeasonLog(season_id)))
        return _write_next_version(conn, season_id, kept)


def seasons_to_fit(conn: Connection) -> list[SeasonId]:
    """Returns seasons whose official standing is out of date.

    The log grew by a twentieth, some time has passed, or the entries changed. A finished season
    waits for its last games and gets one cold fit. It gets another one only after an audited act
    makes the log longer. A season of one seat gets only this final mark.
    """
    return fetch(
        conn,
        SeasonId,
        """select id from seasons s
        where rated_no > 0
          and (state <> 'finished' and measures is null
            and (official_at is null
              or (rated_no > official_no
                and official_at <= now() - make_interval(secs => %(most_seconds)s))
              or (official_at <= now() - make_interval(secs => %(least_seconds)s)
                and (official_is_stale or rated_no > official_no
                  and rated_no >= %(growth)s * official_no)))
            or state = 'finished' and rated_no = accepted_no
            and (final_version is null or rated_no > official_no)
            and not exists (select 1 from matches m
              where m.season_id = s.id and m.kind = 'rated' and m.state in ('queued', 'running'))
            and not exists (
              select 1 from rejudged d join rejudgements r on r.id = d.rejudgement_id
              where r.season_id = s.id and d.by_match_id is null and d.refusal is null))
        order by id""",
        {"most_seconds": MOST_SECONDS, "least_seconds": LEAST_SECONDS, "growth": GROWTH},
    )


def recompute_digest(conn: Connection, season_id: SeasonId, version: int) -> str:
    """Recomputes the digest of a version's content from the log and its chain of versions.

    The rows of a version list its ranked entries. So a version without rows cannot be recomputed.
    Raises NotFound, RowsDropped, and Conflict if an earlier method made the version.
    """
    missing = NotFound("there is no such version of the standings")
    query = "select content from standings where season_id = %s and version = %s"
    (content,) = fetch_one(conn, tuple[str | None], query, (season_id, version), missing)
    if content is None:
        raise RowsDropped(why_dropped(conn, season_id, version))
    chain = [get_version(conn, season_id, version)]
    while chain[-1].parent is not None:
        chain.append(get_version(conn, season_id, chain[-1].parent))
    if any(link.fitted_by != FITTED_BY for link in chain):
        raise Conflict(
            f"version: an earlier method than {FITTED_BY} made version {version} or one that it"
            " continues, so this service cannot compute it again"
        )
    log = SeasonLog(season_id)
    fitted: Fit | None = None
    for link in reversed(chain):
        fitted = _fit_log(conn, log, link.log_no, fitted.messages if fitted else None)
    assert fitted is not None
    season = _select_season(conn, season_id)
    own = chain[0]
    if own.medals is not None:
        season = {**season, "medals": own.medals}
    entrants = _select_entrants(conn, season_id, log, version, places_of_content(content))
    standing = _draw_up_standing(fitted, entrants, season, own.seed, own.boundary_weight, own.teams)
    return _digest(_content_json(entrants, standing))


def standing_without_matches(
    conn: Connection, season_id: SeasonId, void: Collection[MatchId]
) -> dict[EntryId, OfficialPlace] | None:
    """Returns the places of the newest version if these matches had been void; None before it.

    Makes a cold fit of the version's part of the log with its draws. Writes nothing.
    """
    latest = latest_version(conn, season_id)
    if latest is None:
        return None
    version, _ = latest
    log = SeasonLog(season_id, void)
    fitted = _fit_log(conn, log, version.log_no, None)
    entrants = _select_entrants(conn, season_id, log, version.version + 1)
    season = _select_season(conn, season_id)
    standing = _draw_up_standing(
        fitted, entrants, season, version.seed, version.boundary_weight, version.teams
    )
    return {
        entrant.entry_id: place for entrant, place in zip(entrants, standing.places, strict=True)
    }


@atomic_function
def _write_next_version(conn: Connection, season_id: SeasonId, kept: _LastFit) -> int:
    conn.execute("select pg_advisory_xact_lock(%s, hashtext(%s))", (LOCK, season_id))
    season = _select_season(conn, season_id)
    parent: int | None = season["official_version"]
    reset_count = kept.log.reset_count
    until = int(season["rated_no"])
    is_over = season["state"] == "finished"
    warm = None if is_over or kept.version != parent else kept.messages
    fitted = _fit_log(conn, kept.log, until, warm)
    if warm is None or kept.log.reset_count != reset_count:
        parent = None
    # This locks the season; changes during the fit count.
    season = _select_season(conn, season_id, locked=True)
    if season["state"] == "finished" and parent is not None:
        fitted, parent = _fit_log(conn, kept.log, until, None), None
    is_over = season["state"] == "finished" and until == season["rated_no"]
    version = int(season["official_version"]) + 1
    kept.version, kept.messages = version, fitted.messages  # if not committed, the next fit is cold
    entrants = _select_entrants(conn, season_id, kept.log, version)
    weight = None if season["state"] == "open" else FINAL_WEIGHT
    seed = season_seed(season_id)
    teams = season["medal_teams"]
    standing = _draw_up_standing(fitted, entrants, season, seed, weight, teams)
    content = _content_json(entrants, standing)
    suspects = find_suspects(
        fitted,
        entrants,
        suspects_of_version(conn, season_id, season["official_version"]),
    )
    conn.execute(
        """insert into standings (
          season_id, version, log_no, parent, seed, fitted_by, boundary_weight, centre, spread,
          kappa, reference, wrong_medals, teams, expected_order, medals, digest, content, suspects)
        values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""",
        (
            *(season_id, version, until, parent, seed, FITTED_BY, standing.boundary_weight),
            *(fitted.centre, fitted.spread, fitted.kappa),
            *(standing.reference, standing.wrong_medals, standing.teams, standing.expected_order),
            *(Jsonb(season["medals"]), _digest(content), content, suspects.to_json()),
        ),
    )
    is_settled = is_over or (
        season["state"] == "locked" and not deadlines.is_waiting_for_entries(conn, season_id)
    )
    is_sealed = is_settled and medal_sealing.seal_medals(
        conn,
        season_id,
        version,
        entrants,
        standing,
        standing.rules,
        season["medal_confidence"],
        [] if is_over else _standings_to_check(conn, season_id, until),
    )
    # Moves the live scores to the same scale, where reference agents are at mu0.
    conn.execute(
        """update seasons s
        set official_version = %s, official_no = %s, official_at = now(),
          official_is_stale = false, revision = revision + 1, is_sealed = %s,
          final_version = case when %s then %s end, medal_teams = case when %s then %s end,
          score_offset = coalesce((select s.mu0 - avg(mu) from entries
              where season_id = s.id and is_anchor and state = 'active' and games > 0), 0)
        where id = %s""",
        (
            *(version, until, is_sealed, is_over, version),
            *(is_settled, standing.teams, season_id),
        ),
    )
    return version


def _standings_to_check(
    conn: Connection, season_id: SeasonId, log_no: int
) -> list[dict[EntryId, OfficialPlace]]:
    """Returns the earlier standings that must agree before a medal is sealed.

    Empty if there is no such standing.
    """
    looks: list[dict[EntryId, OfficialPlace]] = []
    for _ in range(medal_sealing.STANDINGS_THAT_MUST_AGREE - 1):
        row = conn.execute(
            """select log_no, content from standings
            where season_id = %(season_id)s and log_no * %(growth)s <= %(log_no)s
              and content is not null order by version desc limit 1""",
            {"season_id": season_id, "growth": medal_sealing.GROWTH, "log_no": log_no},
        ).fetchone()
        log_no, content = row or (0, "[]")
        looks.append(places_of_content(content))
    return looks


def _fit_log(conn: Connection, log: SeasonLog, until: int, warm: Messages | None) -> Fit:
    """Fits the log up to this number; cold if part of what was read has been withdrawn."""
    reset_count = log.reset_count
    while log.log_no < until:
        log.read(conn, until)
    return fit_season(log.games, log.parents, warm=warm if log.reset_count == reset_count else None)


def _draw_up_standing(
    fitted: Fit,
    entrants: Sequence[Entrant],
    season: Mapping[str, Any],
    seed: int,
    weight: float | None,
    teams: int | None,
) -> OfficialStanding:
    return build_standing(
        fitted,
        entrants,
        mu0=season["mu0"],
        beta=season["beta"],
        seed=seed,
        boundary_weight=weight,
        rules=MedalRules.from_json(season["medals"]),
        anchor_names=season["anchor_names"],
        teams=teams,
    )


def _select_season(
    conn: Connection, season_id: SeasonId, *, locked: bool = False
) -> Mapping[str, Any]:
    if locked:
        conn.execute("select 1 from seasons where id = %s for no key update", (season_id,))
    with conn.cursor(row_factory=dict_row) as cur:
        query = """select state, mu0, beta, rated_no, official_version, medals, medal_confidence,
              medal_teams, measures
            from seasons
            where id = %(season_id)s"""
        season = cur.execute(query, {"season_id": season_id}).fetchone()
    if season is None:
        raise NotFound.of("season")
    return {**season, "anchor_names": medal_lines.anchor_names(conn, season_id)}


def _select_entrants(
    conn: Connection,
    season_id: SeasonId,
    log: SeasonLog,
    version: int,
    written: Mapping[EntryId, OfficialPlace] | None = None,
) -> list[Entrant]:
    """Returns the entries on the board by id, or those of a ``written`` version.

    Ranks depend on what teams had declared by then, and on the places that they share.
    """
    rows = conn.execute(
        """select e.id, e.team_id, e.is_anchor, coalesce(e.parent_entry_id, ''),
          d.entry_id is not null, b.digest || ':' || e.profile, coalesce(p.place, '')
        from entries e join submissions b on b.id = e.submission_id
        left join declared_entries d on d.entry_id = e.id
        left join lateral (select p.place from shared_places p join teams t on t.id = p.team_id
          where p.season_id = e.season_id and e.team_id in (t.id, t.merged_into)
            and %s between p.from_version and coalesce(p.until_version, %s) order by p.place
          limit 1) p on true
        where e.season_id = %s and (e.id = any (%s) or %s and e.state in ('active', 'paused'))
        order by e.id collate "C"
        """,
        (version, version, season_id, list(written or ()), written is None),
    ).fetchall()
    number = log.numbers.get
    games = log.games_by_contender()
    return [
        Entrant(
            EntryId(entry),
            TeamId(team),
            number(entry, -1),
            number(parent, -1),
            is_anchor,
            is_declared if written is None else written[entry].rank is not None,
            bundle,
            int(games[number(entry)]) if entry in log.numbers else 0,
            place,
        )
        for entry, team, is_anchor, parent, is_declared, bundle, place in rows
    ]


def _content_json(entrants: Sequence[Entrant], standing: OfficialStanding) -> str:
    rows = zip(entrants, standing.places, strict=True)
    return json.dumps(
        [[entrant.entry_id, *_place_fields(place)] for entrant, place in rows],
        separators=(",", ":"),
    )


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


FOLD: Final = 200
"""Results of a season's log in one round and transaction."""


def rate_all_seasons(
    conn: Connection, fitter: OfficialFitter, ends_at: float, progressed: Callable[[], None]
) -> None:
    """Rates all seasons in turn until nothing is left, or until ``ends_at`` (monotonic clock).

    Commits after each turn, then calls ``progressed``. A season that fails is logged and retried in
    the next call. Raises psycopg.OperationalError when the server disconnects.
    """
    unrated, unfitted = set[SeasonId](), set[SeasonId]()

    def fold(season: SeasonId) -> None:
        folded = live_ratings.rate_season(conn, season, FOLD)
        conn.commit()
        progressed()
        if folded:
            log_event("rated", season=season, results=folded)

    def fit(season: SeasonId) -> None:
        version = fitter.refit(conn, season)
        conn.commit()
        progressed()
        log_event("fitted", season=season, version=version)

    while True:
        seasons = [key for key in live_ratings.seasons_to_rate(conn) if key not in unrated]
        conn.commit()
        unrated |= _run_for_seasons(conn, seasons, fold)
        due = [season_id for season_id in seasons_to_fit(conn) if season_id not in unfitted]
        conn.commit()
        unfitted |= _run_for_seasons(conn, due, fit)
        if not seasons or time.monotonic() > ends_at:
            return


def _run_for_seasons(
    conn: Connection, seasons: Sequence[SeasonId], act: Callable[[SeasonId], None]
) -> set[SeasonId]:
    """Acts on each season; returns those that failed."""
    failed = set[SeasonId]()
    for season in seasons:
        try:
            act(season)
        except psycopg.OperationalError:
            raise
        except Exception as error:  # the failure of one season does not stop the others
            conn.rollback()
            failed.add(season)
            log_event(
                "rate_failed",
                level="error",
                season=season,
                error=str(error),
                trace=traceback_text(error),
            )
    return failed
