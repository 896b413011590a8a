"""Starts, reads and cancels comparisons on the server. ``progress`` plays them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg import Rollback
from psycopg.rows import class_row, dict_row
from psycopg.types.json import Jsonb

from estimates.comparison import Rule, Verdict
from ladder import ids
from ladder.database.db import Connection, atomic_function
from ladder.enums import VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import ComparisonId, LeagueId, MatchId, SeasonId, SubmissionId, TeamId, UserId
from ladder.leagues.records import Season
from ladder.matches import matches
from ladder.people.resources import SubmissionResource
from ladder.scrims import scrims

MOST_RUNNING: Final = 5
"""Comparisons of a team at a time."""
MOST_OPPONENTS: Final = 16
OPPONENTS_SHOWN: Final = 40
LONGEST: Final = timedelta(days=7)
CANCELLED: Final = "the comparison was cancelled"
DECIDED: Final = "the comparison has its verdict"
COMPARISON: Final = (
    "select x.id, x.season_id, s.league_id, l.game, s.seats, x.team_id, x.requested_by,"
    " x.old_submission_id, x.new_submission_id, x.opponents as opponent_submission_ids,"
    " x.margin, x.most_pairs, x.variants,"
    " x.seed, x.state, x.verdict, x.ended_by, x.waits_until, x.replayed_pairs, x.created_at,"
    " x.deadline_at, x.finished_at"
    " from comparisons x join seasons s on s.id = x.season_id join leagues l on l.id = s.league_id"
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two versions. Its submissions never change."""

    id: ComparisonId
    season_id: SeasonId
    league_id: LeagueId
    game: str
    seats: int
    team_id: TeamId
    requested_by: UserId
    old_submission_id: SubmissionId
    new_submission_id: SubmissionId
    opponent_submission_ids: tuple[SubmissionId, ...]
    margin: float
    most_pairs: int
    variants: int
    seed: bytes
    state: str
    verdict: Verdict | None
    """None while it runs, and after it was cancelled."""
    ended_by: str | None
    waits_until: datetime | None
    """Until then no games are asked for: a limit is used up, or an opponent refuses."""
    replayed_pairs: int
    """Pairs that were played again after a host's fault."""
    created_at: datetime
    deadline_at: datetime
    finished_at: datetime | None

    @property
    def rule(self) -> Rule:
        """What decides it."""
        return Rule(self.margin, self.most_pairs, self.variants)


@dataclass(frozen=True, slots=True)
class Versions:
    """The submissions of a comparison."""

    old: SubmissionId
    new: SubmissionId
    opponents: tuple[SubmissionId, ...] = ()
    """Empty: the old version plays in all other seats."""


@dataclass(frozen=True, slots=True)
class PossibleOpponent:
    """An active submission that a comparison may use as an opponent."""

    submission_id: SubmissionId
    agent_name: str
    version: int
    team_name: str
    is_own: bool
    """Whether it is of one of the teams that ask."""


def comparison_resource(comparison: Comparison) -> SubmissionResource:
    """Returns the permission resource of a comparison: it is private like its submissions."""
    return SubmissionResource(comparison.team_id)


@atomic_function
def start_comparison(
    conn: Connection,
    *,
    season: Season,
    team_id: TeamId,
    user_id: UserId,
    versions: Versions,
    rule: Rule,
) -> Comparison:
    """Starts a comparison of two submissions of this team; the scheduler plays its pairs.

    Opponents are the team's own, active with agents open for scrims, or reference agents.

    Raises NotFound, Conflict (agent not open, paused; too many comparisons) and Invalid.
    """
    if season.seats < 2:
        raise Invalid("season", "its game has one seat, so there is no opponent to beat")
    if len(versions.opponents) > MOST_OPPONENTS:
        raise Invalid("opponents", f"name at most {MOST_OPPONENTS}")
    opponents = versions.opponents or (versions.old,)
    # Lock the team's row, so simultaneous requests are counted in turn.
    if not conn.execute(
        "select 1 from teams where id = %s for no key update", (team_id,)
    ).fetchone():
        raise NotFound.of("team")
    _check_own(conn, team_id, "old", versions.old)
    _check_own(conn, team_id, "new", versions.new)
    _refuse_same_bundle(conn, versions)
    _check_opponents(conn, season, team_id, user_id, versions)
    running = conn.execute(
        "select count(*) from comparisons where team_id = %s and state = 'running'", (team_id,)
    ).fetchone()
    assert running is not None
    if running[0] >= MOST_RUNNING:
        raise Conflict(f"cancel one first: your team has {MOST_RUNNING} running comparisons")
    comparison_id = ComparisonId(ids.new_id("cmp"))
    conn.execute(
        "insert into comparisons (id, season_id, team_id, requested_by, old_submission_id,"
        " new_submission_id, opponents, margin, most_pairs, variants, seed, deadline_at)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, now() + %s)",
        (
            comparison_id,
            season.id,
            team_id,
            user_id,
            versions.old,
            versions.new,
            Jsonb(list(opponents)),
            rule.margin,
            rule.most_pairs,
            rule.variants,
            secrets.token_bytes(16),
            LONGEST,
        ),
    )
    return get_comparison(conn, comparison_id)


def get_comparison(conn: Connection, comparison_id: ComparisonId) -> Comparison:
    """Returns the comparison with this id. Raises NotFound."""
    found = _select(conn, "where x.id = %s", (comparison_id,))
    if not found:
        raise NotFound.of("comparison")
    return found[0]


def list_comparisons(
    conn: Connection,
    team_ids: Sequence[TeamId],
    league_id: LeagueId | None = None,
    after: ComparisonId | None = None,
    limit: int = 50,
) -> list[Comparison]:
    """Returns these teams' comparisons in the league, or in all, newest first."""
    return _select(
        conn,
        "where x.team_id = any (%(teams)s)"
        " and (%(league)s::text is null or s.league_id = %(league)s)"
        " and (%(after)s::text is null or x.id < %(after)s) order by x.id desc limit %(limit)s",
        {"teams": sorted(team_ids), "league": league_id, "after": after, "limit": limit},
    )


@atomic_function
def cancel_comparison(conn: Connection, comparison_id: ComparisonId) -> Comparison:
    """Ends a comparison without a verdict. No error if it has already ended."""
    ended = conn.execute(
        "update comparisons set state = 'cancelled', finished_at = clock_timestamp()"
        " where id = %s and state = 'running'",
        (comparison_id,),
    )
    if ended.rowcount:
        void_unfinished(conn, comparison_id, VoidCause.CALLED_OFF)
    return get_comparison(conn, comparison_id)


def void_unfinished(conn: Connection, comparison_id: ComparisonId, cause: VoidCause) -> None:
    """Voids the comparison's matches that are queued or running."""
    rows = conn.execute(
        "select m.id from matches m join scrims c on c.id = m.scrim_id"
        " where c.comparison_id = %s and c.state = 'running' and m.state in ('queued', 'running')"
        " order by m.id",
        (comparison_id,),
    )
    reason = CANCELLED if cause is VoidCause.CALLED_OFF else DECIDED
    matches.void_matches(conn, [MatchId(row[0]) for row in rows], cause, reason)


def possible_opponents(
    conn: Connection, season: Season, team_ids: Sequence[TeamId]
) -> list[PossibleOpponent]:
    """Returns active agents of the season that these teams may choose, reference agents first.

    They are reference agents, agents that accept every scrim, and the teams' own.
    """
    with conn.cursor(row_factory=class_row(PossibleOpponent)) as cur:
        return cur.execute(
            "select e.submission_id, a.name as agent_name,"
            " submission_version(b.agent_id, b.number) as version, t.name as team_name,"
            " e.team_id = any (%(teams)s) as is_own"
            " from entries e join submissions b on b.id = e.submission_id"
            " join agents a on a.id = e.agent_id join teams t on t.id = e.team_id"
            " left join scrim_policies p on p.agent_id = a.id"
            " where e.season_id = %(season)s and e.state = 'active'"
            " and (e.is_anchor or p.whom = 'anyone' and p.accepts_automatically"
            "   or e.team_id = any (%(teams)s))"
            " order by e.is_anchor desc, is_own desc, a.name, e.id desc limit %(most)s",
            {"season": season.id, "teams": list(team_ids), "most": OPPONENTS_SHOWN},
        ).fetchall()


def _check_own(conn: Connection, team_id: TeamId, field: str, submission: SubmissionId) -> None:
    row = conn.execute(
        "select a.team_id from submissions b join agents a on a.id = b.agent_id where b.id = %s",
        (submission,),
    ).fetchone()
    if row is None or row[0] != team_id:
        raise NotFound(f"your team has no submission {submission}", field=field)


def _check_opponents(
    conn: Connection, season: Season, team_id: TeamId, user_id: UserId, versions: Versions
) -> None:
    """Asks for a scrim of both versions against all opponents, and takes it back.

    So whatever a scrim refuses is refused before the first pair.
    """
    others = list(versions.opponents or (versions.old,))
    try:
        while others:
            rest = [others[place % len(others)] for place in range(season.seats - 1)]
            with conn.transaction():
                # Both at once, as in a pair: an opponent may have few games left today.
                for version in (versions.old, versions.new):
                    scrims.request_scrim(
                        conn,
                        season=season,
                        team_id=team_id,
                        user_id=user_id,
                        lineup=[version, *rest],
                        games=1,
                    )
                raise Rollback
            del others[: season.seats - 1]
    except (Conflict, NotFound) as refused:
        raise type(refused)(refused.message, field="opponents") from None


def _refuse_same_bundle(conn: Connection, versions: Versions) -> None:
    row = conn.execute(
        "select count(distinct coalesce(url, digest)) from submissions where id = any (%s)",
        ([versions.old, versions.new],),
    ).fetchone()
    assert row is not None
    if row[0] < 2:
        raise Invalid("new", "choose another submission: both have the same files")


def _select(conn: Connection, tail: str, arguments: Any) -> list[Comparison]:
    with conn.cursor(row_factory=dict_row) as cur:
        return [
            Comparison(
                **{
                    **row,
                    "opponent_submission_ids": tuple(row["opponent_submission_ids"]),
                    "seed": bytes(row["seed"]),
                    "verdict": Verdict(row["verdict"]) if row["verdict"] else None,
                }
            )
            for row in cur.execute(f"{COMPARISON} {tail}", arguments)
        ]
