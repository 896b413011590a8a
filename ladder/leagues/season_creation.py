"""Makes leagues and seasons as asked for.

A season's request is checked against its game, and what it leaves out is filled in.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from typing import Any, Final

from games.protocol import ConfigurationError, Game, GameError, with_clock
from ladder.database.db import Connection, atomic_function
from ladder.enums import KAGGLE, OWN_SEAT, Json
from ladder.errors import Invalid
from ladder.ids import UserId
from ladder.leagues import invitations, leagues, seasons
from ladder.leagues.measures import Measure
from ladder.leagues.medals import MedalRules
from ladder.leagues.records import League, Season
from ladder.leagues.request_models import Clock, NewLeague, NewSeason
from ladder.leagues.seasons import SeasonColumns
from ladder.people import quotas

LONGEST_MATCH_HOURS: Final = 1
"""A match that could last longer is refused when its season is made: it would hold a slot, outlast
its validation's deadline, and at last be killed by the workers' backstop though nobody erred."""
REMOTE_KEYS: Final = frozenset({"game", "turn", "board", "you"})
"""What an observation tells that can be a request of Battlesnake's API; boxes ask for the same."""


@atomic_function
def make_league(conn: Connection, asked: NewLeague, by: UserId | None) -> League:
    """The league alone; ``by`` becomes its host. Raises Conflict when the slug is taken, and
    LimitReached."""
    settings = asked.model_dump(exclude={"season", "anchors", "fill"})
    league = leagues.create_league(conn, created_by=by, **settings)
    if by is not None:
        quotas.check_league_quota(conn, by)
    return league


@atomic_function
def make_season(conn: Connection, league: League, asked: NewSeason, game: Game[Any]) -> Season:
    """The league's next season, as asked for; ``game`` is the league's.

    Raises Invalid for a value that cannot be, Conflict where members have not agreed to remote
    agents yet, and LimitReached.
    """
    columns = season_columns(asked, game)
    if asked.remote_agents:
        invitations.refuse_widening(conn, league.id, remote=True)
    season = seasons.create_season(conn, league.id, columns)
    quotas.check_season_quota(conn, league.id)
    return season


def season_columns(asked: NewSeason, game: Game[Any]) -> SeasonColumns:
    """What the season's row holds. Raises Invalid."""
    check_dates(asked)
    seats = asked.seats or min(4, game.seats.stop - 1)
    if seats not in game.seats:
        raise Invalid(
            "seats", f"{game.title} takes {game.seats.start} to {game.seats.stop - 1} seats."
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
        max_bundle_bytes=asked.max_bundle_bytes,
        active_limit=asked.active_limit,
        medals=medal_rules_of(asked, seats),
        medal_confidence=asked.medal_confidence,
        stops_when_sealed=asked.stops_when_sealed,
        opens_at=asked.opens_at,
        closes_at=asked.closes_at,
        ends_at=asked.ends_at,
        remote_agents=asked.remote_agents,
        fault_rule=KAGGLE if game.lenient and seats > 1 else OWN_SEAT,
        measures=measures_of(game, seats),
    )


def check_dates(asked: NewSeason) -> None:
    """Raises Invalid where a season would close or end before it opens."""
    dates = {
        "opens_at": asked.opens_at or datetime.now(UTC),
        "closes_at": asked.closes_at,
        "ends_at": asked.ends_at,
    }
    known = [(name, date) for name, date in dates.items() if date is not None]
    for (before, first), (name, then) in pairwise(known):
        if then < first:
            raise Invalid(
                name,
                f"it lies before {before}, {first.isoformat(timespec='minutes')}; make it later.",
            )


def configure(asked: NewSeason, game: Game[Any], seats: int, clock: Clock) -> dict[str, Json]:
    """The whole configuration, tried with one start of the game. Raises Invalid."""
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
            f"seats that use all their time could make a match last {hours:,.1f} hours, at most"
            f" {LONGEST_MATCH_HOURS} are allowed: fewer steps, or less time a move.",
        )
    return configuration


def longest_match_hours(steps: int, clock: Clock, seats: int, episodes: int = 1) -> float:
    """How long seats that use all their time, one after another, can hold a worker."""
    each = clock.act_seconds + clock.increment_seconds
    seconds = seats * (steps * each + clock.bank_seconds + clock.load_seconds)
    return episodes * seconds / 3600


def medal_rules_of(asked: NewSeason, seats: int) -> MedalRules:
    """Who earns which medal. Raises Invalid."""
    try:
        medals = MedalRules.of(asked.medals.model_dump())
    except Invalid as error:
        raise error.within("medals") from None
    if seats == 1 and medals.lines is not None:
        raise Invalid(
            "medals",
            "lines are of a score, and matches with one seat give none; choose table, counts or"
            " shares.",
        )
    if seats == 1 and asked.stops_when_sealed:
        raise Invalid(
            "stops_when_sealed", "nothing is sealed where matches have one seat; give ends_at."
        )
    return medals


def measures_of(game: Game[Any], seats: int) -> tuple[Measure, ...]:
    """What a season of one seat ranks by; empty for more seats, where entries are rated."""
    return tuple(Measure.of_json(asdict(each)) for each in game.measures) if seats == 1 else ()


def supports_remote(game: Game[Any]) -> bool:
    """Whether remote agents can play the game: there are opponents, and Battlesnake's API can tell
    what agents see of it."""
    seats = max(game.seats[0], min(4, game.seats[-1]))
    state, _ = game.reset(game.configure({}), seats, Random(0))  # noqa: S311
    return supports_battlesnake_api(game, state) and seats > 1


def supports_battlesnake_api(game: Game[Any], state: Any) -> bool:
    """Whether what agents see of this game can be a request of Battlesnake's API."""
    return game.observe(state, game.to_move(state)[0]).keys() >= REMOTE_KEYS


def refuse_unsupported_remote_agents(game: Game[Any], state: Any, seats: int) -> None:
    """Raises Invalid where remote agents cannot play, or could know what is to come."""
    if not supports_battlesnake_api(game, state):
        raise Invalid(
            "remote_agents",
            f"they are asked in Battlesnake's API, in which {game.title} cannot be told; leave it"
            " out.",
        )
    if seats == 1:
        raise Invalid(
            "remote_agents",
            "with one seat everybody plays the same starts, and a remote agent could read them up;"
            " take 2 seats or more.",
        )
