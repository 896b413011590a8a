"""What hosts do with leagues and seasons: create, change, lock and end them.

A new season is checked against its game. Each change is in the audit log: who, when, and what
changed. For a title or description the log says only that it changed, because deleting an account
must also delete its texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from typing import Any, Final

from games.protocol import ConfigurationError, Game, GameError, measure_bounds, with_clock
from ladder.database.db import Connection, atomic_function
from ladder.enums import KAGGLE, OWN_SEAT, Json
from ladder.errors import Conflict, Forbidden, Invalid
from ladder.ids import SeasonId, UserId
from ladder.leagues import leagues, seasons, terms
from ladder.leagues.measures import Measure
from ladder.leagues.medals import MedalRules
from ladder.leagues.records import League, Season
from ladder.leagues.seasons import SeasonColumns
from ladder.leagues.settings import (
    SET_BY_HOSTS,
    Clock,
    LeagueChange,
    LeagueSettings,
    NewLeague,
    NewSeason,
    SeasonDates,
    SeasonSettings,
)
from ladder.moments import moment_text
from ladder.people import audit_log, quotas
from ladder.people.permissions import may_appoint
from ladder.people.records import Viewer

TEXTS: Final = ("title", "description")
LEAGUE_ACTS: Final = {"open": "resume", "paused": "pause", "closed": "close"}
SEASON_ACTS: Final = {"open": "reopen-season", "locked": "lock-season", "finished": "end-season"}
LONGEST_MATCH_HOURS: Final = 1
"""Longest possible match of a season. A longer match would block a slot, miss its validation's
deadline, and finally be killed by the workers, although no agent made an error.
"""
REMOTE_KEYS: Final = frozenset({"game", "turn", "board", "you"})
"""Keys of an observation that Battlesnake's API can express; the sandbox requires the same."""


@atomic_function
def make_league(conn: Connection, new: NewLeague, by: UserId | None) -> League:
    """Creates the league alone; ``by`` becomes host. Raises Conflict (slug taken), LimitReached."""
    settings = {name: getattr(new, name) for name in LeagueSettings.model_fields}
    league = leagues.create_league(conn, slug=new.slug, game=new.game, created_by=by, **settings)
    if by is not None:
        quotas.check_league_quota(conn, by)
    return league


@atomic_function
def make_season(conn: Connection, league: League, new: NewSeason, game: Game[Any]) -> Season:
    """Creates the league's next season; ``game`` is the league's.

    Raises Invalid for a wrong value, Conflict if members have not agreed to remote agents, and
    LimitReached.
    """
    columns = season_columns(new, game)
    if new.remote_agents:
        terms.refuse_unagreed_settings(conn, league.id, remote=True)
    season = seasons.create_season(conn, league.id, columns)
    quotas.check_season_quota(conn, league.id)
    return season


@atomic_function
def add_next_season(
    conn: Connection, by: Viewer, league: League, new: NewSeason, game: Game[Any]
) -> Season:
    """Creates a season of a league with earlier ones, as `make_season` does; ``by`` manages it.

    A closed league opens again. Writes an audit entry.
    """
    season = make_season(conn, league, new, game)
    if leagues.get_league(conn, league.id).state == "closed":
        leagues.set_league_state(conn, league.id, "open")
    audit_log.record_audit(
        conn,
        league.id,
        season_id=season.id,
        by=by.user_id,
        act="new-season",
        subject=season.id,
        reason=f"season {season.number}",
    )
    return season


def season_columns(new: NewSeason, game: Game[Any]) -> SeasonColumns:
    """Returns the columns of the season's row. Raises Invalid."""
    check_dates(new)
    seats = new.seats or min(4, game.seats.stop - 1)
    if seats not in game.seats:
        raise Invalid(
            "seats", f"give {game.seats.start} to {game.seats.stop - 1} seats for {game.title}."
        )
    chosen = new.clock.model_dump(exclude_unset=True) if new.clock else {}
    clock = Clock.model_validate({**game.clock, **chosen})
    configuration = configure(new, game, seats, clock)
    canonical = json.dumps(configuration, sort_keys=True, separators=(",", ":"))
    return SeasonColumns(
        **{
            name: getattr(new, name)
            for name in (*SeasonSettings.model_fields, *SeasonDates.model_fields)
        },
        configuration=configuration,
        configuration_digest=hashlib.sha256(canonical.encode()).hexdigest(),
        clock=clock.model_dump(),
        seats=seats,
        medals=medal_rules_of(new, seats),
        fault_rule=KAGGLE if game.lenient and seats > 1 else OWN_SEAT,
        measures=measures_of(game, seats, configuration),
    )


def check_dates(new: NewSeason) -> None:
    """Raises Invalid if a season would close or end before it opens."""
    dates = {
        "opens_at": new.opens_at or datetime.now(UTC),
        "closes_at": new.closes_at,
        "ends_at": new.ends_at,
    }
    words = {"opens_at": "the opening", "closes_at": "the upload lock"}
    ordered = [(name, date) for name, date in dates.items() if date is not None]
    for (before, first), (name, second) in pairwise(ordered):
        if second < first:
            raise Invalid(
                name,
                f"give a moment after {words[before]}, {moment_text(first)}.",
            )


def configure(new: NewSeason, game: Game[Any], seats: int, clock: Clock) -> dict[str, Json]:
    """Returns the whole configuration after one trial start of the game. Raises Invalid."""
    try:
        configuration = game.configure(new.configuration)
        state, _ = game.reset(configuration, seats, Random(0))  # noqa: S311 (is there room for all?)
    except ConfigurationError as error:
        raise Invalid(f"configuration.{error.field}", error.message) from None
    except GameError as error:
        raise Invalid(error.field or "configuration", error.message) from None
    if new.remote_agents:
        refuse_unsupported_remote_agents(game, state, seats)
    configuration = with_clock(game, configuration, clock.model_dump())
    episodes = 2 if game.mirrored else 1
    hours = longest_match_hours(game.longest(configuration), clock, seats, episodes)
    if hours > LONGEST_MATCH_HOURS:
        raise Invalid(
            "configuration",
            f"give fewer steps or less time a move: a match could last {hours:,.1f}"
            f" hours, at most {LONGEST_MATCH_HOURS} are allowed.",
        )
    return configuration


def longest_match_hours(steps: int, clock: Clock, seats: int, episodes: int = 1) -> float:
    """Returns how long a match can last if all seats use all their time in turn."""
    step_seconds = clock.act_seconds + clock.increment_seconds
    seconds = seats * (steps * step_seconds + clock.bank_seconds + clock.load_seconds)
    return episodes * seconds / 3600


def medal_rules_of(new: NewSeason, seats: int) -> MedalRules:
    """Returns the rules that award medals. Raises Invalid."""
    try:
        medals = MedalRules.from_json(new.medals.model_dump())
    except Invalid as error:
        raise error.within("medals") from None
    if seats == 1 and medals.lines is not None:
        raise Invalid(
            "medals",
            "choose table, counts or shares: matches with one seat have no score for lines.",
        )
    if seats == 1 and new.stops_when_sealed:
        raise Invalid(
            "stops_when_sealed", "give ends_at: medals are not sealed in seasons of one seat."
        )
    return medals


def measures_of(
    game: Game[Any], seats: int, configuration: Mapping[str, Json]
) -> tuple[Measure, ...]:
    """Returns the measures of a one-seat season with their bounds; empty for more seats."""
    if seats != 1:
        return ()
    bounds = measure_bounds(game, configuration)
    return tuple(
        replace(Measure.of_json(asdict(measure)), least=least, most=most)
        for measure in game.measures
        for least, most in [bounds.get(measure.name, (None, None))]
    )


def supports_remote(game: Game[Any]) -> bool:
    """Whether the game has opponents and Battlesnake's API can express its observations."""
    seats = max(game.seats[0], min(4, game.seats[-1]))
    state, _ = game.reset(game.configure({}), seats, Random(0))  # noqa: S311
    return supports_battlesnake_api(game, state) and seats > 1


def supports_battlesnake_api(game: Game[Any], state: Any) -> bool:
    """Whether Battlesnake's API can express the observations of this game."""
    return game.observe(state, game.to_move(state)[0]).keys() >= REMOTE_KEYS


def refuse_unsupported_remote_agents(game: Game[Any], state: Any, seats: int) -> None:
    """Raises Invalid if remote agents cannot play, or could know the future of a game."""
    if not supports_battlesnake_api(game, state):
        raise Invalid(
            "remote_agents",
            "leave it out: Battlesnake's API, which remote agents use, cannot"
            f" express {game.title}.",
        )
    if seats == 1:
        raise Invalid(
            "remote_agents",
            "take 2 seats or more: with one seat all entries get the same starts,"
            " which a remote agent could look up.",
        )


@atomic_function
def change_league(conn: Connection, by: Viewer, league: League, change: LeagueChange) -> League:
    """Applies all requested changes to a league, or none; ``by`` manages the league.

    Raises Forbidden if a co-host changes who sees the league or its replays. Raises Conflict if
    more people would see the league than its competitors agreed to, or if a closed league would
    open without a new season.
    """
    settings = change.model_dump(exclude_none=True, exclude={"state"})
    if settings.keys() & SET_BY_HOSTS and not may_appoint(by, league.id):
        raise Forbidden("Ask a host of the league: a co-host does not change who sees it.")
    terms.refuse_unagreed_settings(
        conn,
        league.id,
        change.visibility or league.visibility,
        change.replay_visibility or league.replay_visibility,
    )
    before = leagues.get_league(conn, league.id)  # now locked
    if before.state == "closed" and change.state in ("open", "paused"):
        raise Conflict(
            f"this league is closed; a new season opens it again: peck season create {before.slug}",
            field="state",
        )
    changed = leagues.update_league(conn, league.id, **settings)
    _record(conn, by, changed, "edit", _difference(before, changed))
    if change.state is not None and change.state != before.state:
        changed = leagues.set_league_state(conn, league.id, change.state)
        act = LEAGUE_ACTS[change.state]
        _record(conn, by, changed, act, [f"{before.state} becomes {changed.state}"])
    return changed


@atomic_function
def change_season_state(conn: Connection, by: Viewer, season_id: SeasonId, state: str) -> Season:
    """Opens, locks or finishes a season; ``by`` manages its league. Writes an audit entry.

    Raises Conflict, as `seasons.set_season_state` does.
    """
    before = seasons.lock_season(conn, season_id)
    changed = seasons.set_season_state(conn, season_id, state)
    if changed.state != before.state:
        audit_log.record_audit(
            conn,
            changed.league_id,
            season_id=season_id,
            by=by.user_id,
            act=SEASON_ACTS[changed.state],
            subject=season_id,
            reason=f"season {changed.number}: {before.state} becomes {changed.state}",
        )
    return changed


def _difference(before: League, changed: League) -> list[str]:
    """What changed, such as ``visibility: public becomes private``."""
    parts = []
    for name in LeagueChange.model_fields:
        old, new = getattr(before, name), getattr(changed, name)
        if old != new:
            words = name.replace("_", " ")
            parts.append(words if name in TEXTS else f"{words}: {_text(old)} becomes {_text(new)}")
    return parts


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _record(conn: Connection, by: Viewer, league: League, act: str, changes: list[str]) -> None:
    if changes:
        audit_log.record_audit(
            conn, league.id, by=by.user_id, act=act, subject=league.id, reason=", ".join(changes)
        )
