"""Checks a request for a league or season against its game, and creates it.

Default values replace values that the request omits.
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
from ladder.errors import Invalid
from ladder.ids import UserId
from ladder.leagues import leagues, seasons, terms
from ladder.leagues.measures import Measure
from ladder.leagues.medals import MedalRules
from ladder.leagues.records import League, Season
from ladder.leagues.request_models import Clock, NewLeague, NewSeason
from ladder.leagues.seasons import SeasonColumns
from ladder.moments import moment_text
from ladder.people import audit_log, quotas
from ladder.people.records import Viewer

LONGEST_MATCH_HOURS: Final = 1
"""Longest possible match of a season. A longer match would block a slot, miss its validation's
deadline, and finally be killed by the workers, although no agent made an error.
"""
REMOTE_KEYS: Final = frozenset({"game", "turn", "board", "you"})
"""Keys of an observation that Battlesnake's API can express; the sandbox requires the same."""


@atomic_function
def make_league(conn: Connection, asked: NewLeague, by: UserId | None) -> League:
    """Creates the league alone; ``by`` becomes host. Raises Conflict (slug taken), LimitReached."""
    settings = asked.model_dump(exclude={"season", "anchors", "fill"})
    league = leagues.create_league(conn, created_by=by, **settings)
    if by is not None:
        quotas.check_league_quota(conn, by)
    return league


@atomic_function
def make_season(conn: Connection, league: League, asked: NewSeason, game: Game[Any]) -> Season:
    """Creates the league's next season; ``game`` is the league's.

    Raises Invalid for a wrong value, Conflict if members have not agreed to remote agents, and
    LimitReached.
    """
    columns = season_columns(asked, game)
    if asked.remote_agents:
        terms.refuse_unagreed_settings(conn, league.id, remote=True)
    season = seasons.create_season(conn, league.id, columns)
    quotas.check_season_quota(conn, league.id)
    return season


@atomic_function
def add_next_season(
    conn: Connection, by: Viewer, league: League, asked: NewSeason, game: Game[Any]
) -> Season:
    """Creates a season of a league with earlier ones, as `make_season` does; ``by`` manages it.

    A closed league opens again. Writes an audit entry.
    """
    season = make_season(conn, league, asked, game)
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


def season_columns(asked: NewSeason, game: Game[Any]) -> SeasonColumns:
    """Returns the columns of the season's row. Raises Invalid."""
    check_dates(asked)
    seats = asked.seats or min(4, game.seats.stop - 1)
    if seats not in game.seats:
        raise Invalid(
            "seats", f"give {game.seats.start} to {game.seats.stop - 1} seats for {game.title}."
        )
    given = asked.clock.model_dump(exclude_unset=True) if asked.clock else {}
    clock = Clock.model_validate({**game.clock, **given})
    configuration = configure(asked, game, seats, clock)
    canonical = json.dumps(configuration, sort_keys=True, separators=(",", ":"))
    return SeasonColumns(
        configuration=configuration,
        configuration_digest=hashlib.sha256(canonical.encode()).hexdigest(),
        clock=clock.model_dump(),
        seats=seats,
        daily_limit=asked.daily_limit,
        scrim_games_daily=asked.scrim_games_daily,
        max_bundle_bytes=asked.max_bundle_bytes,
        active_limit=asked.active_limit,
        team_active_limit=asked.team_active_limit,
        medals=medal_rules_of(asked, seats),
        medal_confidence=asked.medal_confidence,
        stops_when_sealed=asked.stops_when_sealed,
        opens_at=asked.opens_at,
        closes_at=asked.closes_at,
        ends_at=asked.ends_at,
        remote_agents=asked.remote_agents,
        speed_class=asked.speed_class,
        fault_rule=KAGGLE if game.lenient and seats > 1 else OWN_SEAT,
        measures=measures_of(game, seats, configuration),
    )


def check_dates(asked: NewSeason) -> None:
    """Raises Invalid if a season would close or end before it opens."""
    dates = {
        "opens_at": asked.opens_at or datetime.now(UTC),
        "closes_at": asked.closes_at,
        "ends_at": asked.ends_at,
    }
    words = {"opens_at": "the opening", "closes_at": "the upload lock"}
    known = [(name, date) for name, date in dates.items() if date is not None]
    for (before, first), (name, then) in pairwise(known):
        if then < first:
            raise Invalid(
                name,
                f"give a moment after {words[before]}, {moment_text(first)}.",
            )


def configure(asked: NewSeason, game: Game[Any], seats: int, clock: Clock) -> dict[str, Json]:
    """Returns the whole configuration after one trial start of the game. Raises Invalid."""
    try:
        configuration = game.configure(asked.configuration)
        state, _ = game.reset(configuration, seats, Random(0))  # noqa: S311 (is there room for all?)
    except ConfigurationError as error:
        raise Invalid(f"configuration.{error.field}", error.message) from None
    except GameError as error:
        raise Invalid(error.field or "configuration", error.message) from None
    if asked.remote_agents:
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
    each = clock.act_seconds + clock.increment_seconds
    seconds = seats * (steps * each + clock.bank_seconds + clock.load_seconds)
    return episodes * seconds / 3600


def medal_rules_of(asked: NewSeason, seats: int) -> MedalRules:
    """Returns the rules that award medals. Raises Invalid."""
    try:
        medals = MedalRules.from_json(asked.medals.model_dump())
    except Invalid as error:
        raise error.within("medals") from None
    if seats == 1 and medals.lines is not None:
        raise Invalid(
            "medals",
            "choose table, counts or shares: matches with one seat have no score for lines.",
        )
    if seats == 1 and asked.stops_when_sealed:
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
        replace(Measure.of_json(asdict(each)), least=least, most=most)
        for each in game.measures
        for least, most in [bounds.get(each.name, (None, None))]
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
