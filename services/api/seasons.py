"""Seasons: one time-boxed ladder of a league, with one game, configuration and clock."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from games import GAMES
from games.protocol import ConfigurationError, Game, GameError, with_clock
from ladder.entries import entries
from ladder.errors import Invalid
from ladder.leagues import invitations, seasons, terms
from ladder.leagues.measures import Kind
from ladder.leagues.medals import FARTHEST, MOST_TEAMS, Rules
from ladder.leagues.records import League
from ladder.people import quotas
from services.http import permissions
from services.http.auth import Anyone, Host, Known
from services.http.fields import Filter, LeagueKey, Line, Moment, SeasonKey
from services.http.idempotency import Once
from services.http.paging import Page
from services.http.problems import ProblemError, of
from services.http.state import Db
from services.rulebook import rating_of

router = APIRouter(prefix="/v1", tags=["seasons"])
LARGEST: Final = 10**9
LONGEST_MATCH_HOURS: Final = 1
"""A match that could last longer is refused when its season is made: it would hold a slot, outlast
its validation's deadline, and at last be killed by the workers' backstop though nobody erred."""


SPOKEN: Final = frozenset({"game", "turn", "board", "you"})
"""What an observation tells that can be a request of Battlesnake's API; boxes ask for the same."""


ScoreLine = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]
Count = Annotated[int, Field(ge=0, le=MOST_TEAMS)]
Share = Annotated[float, Field(ge=0, le=1)]


class Clock(BaseModel):
    """How long agents may think."""

    model_config = ConfigDict(extra="forbid")
    act_seconds: Annotated[float, Field(ge=0, le=60)] = 1.0
    """Free for each move."""
    bank_seconds: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """For the whole match, drawn by what a move takes above that."""
    increment_seconds: Annotated[float, Field(ge=0, le=60)] = 0.0
    """Put back into the bank after each move, up to what it held at the start."""
    load: Literal["first_move", "own"] = "first_move"
    """Whether importing the agent is part of its first move, as on Kaggle, or timed alone."""
    load_seconds: Annotated[float, Field(gt=0, le=600)] = 30.0


class TableMedals(BaseModel):
    """Kaggle's rank table, by the number of ranked teams."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["table"]


class LineMedals(BaseModel):
    """The least official score of each class."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["lines"]
    gold: ScoreLine = Field(examples=[1210])
    silver: ScoreLine = Field(examples=[1080])
    bronze: ScoreLine = Field(examples=[1050])


class CountMedals(BaseModel):
    """So many teams in each class."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["counts"]
    gold: Count = Field(examples=[1])
    silver: Count = Field(examples=[2])
    bronze: Count = Field(examples=[3])


class ShareMedals(BaseModel):
    """Such a part of the ranked teams in each class, rounded down cumulatively."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["shares"]
    gold: Share = Field(examples=[0.1])
    silver: Share = Field(examples=[0.1])
    bronze: Share = Field(examples=[0.2])


Medals = Annotated[
    TableMedals | LineMedals | CountMedals | ShareMedals, Field(discriminator="kind")
]


def storable(configuration: dict[str, Any]) -> dict[str, Any]:
    """The configuration, if games can count with its numbers and Postgres can keep its texts."""
    for value in configuration.values():
        if isinstance(value, int | float) and not abs(value) <= LARGEST:
            raise ValueError(f"numbers must lie between {-LARGEST} and {LARGEST}")
        if isinstance(value, str) and not value.isprintable():
            raise ValueError("texts must be one line without control characters")
        if not isinstance(value, int | float | str | None):
            raise ValueError("values are numbers, texts, true, false or null")
    return configuration


class MeasureOut(BaseModel):
    """One thing that a season ranks by whose matches have one seat."""

    model_config = ConfigDict(from_attributes=True)
    name: str = Field(examples=["won"])
    title: str = Field(examples=["Games won"])
    kind: Kind = Field(description="a share of the games, or a mean over them")
    is_higher_better: bool
    of: str | None = Field(description="the share that a game must count for to be counted here")


class SeasonOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["sea_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    league_id: str
    number: int
    game: str
    configuration: dict[str, Any]
    clock: dict[str, Any]
    seats: int
    memory_mb: int
    max_bundle_bytes: int
    daily_limit: int
    active_limit: int | None = Field(
        description="an agent's newest submissions that play on; null: all of them"
    )
    mu0: float
    sigma0: float
    beta: float
    tau: float
    draw_probability: float
    fault_rule: str
    medals: Medals = Field(description="who earns one, by rank or by official score")
    medal_confidence: float = Field(
        description="once uploads are locked a medal is sealed from this probability on, when "
        "three standings agree, each with a twentieth more results than the one before"
    )
    stops_when_sealed: bool = Field(
        description="the finals end once every medal is sealed, at ends_at at the latest"
    )
    opens_at: datetime
    closes_at: datetime | None
    ends_at: datetime | None
    state: str = Field(examples=["open"])
    measures: list[MeasureOut] = Field(
        description="what it ranks by where a match has one seat; else empty"
    )
    remote_agents: bool = Field(description="whether it takes remote agents. " + terms.REMOTE)
    revision: int = Field(description="grows when something shown on the leaderboard changed")


class NewSeason(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"seats": 4}]})
    configuration: Annotated[dict[Line, Any], Field(max_length=100), AfterValidator(storable)] = (
        Field(default_factory=dict, description="what differs from the game's defaults")
    )
    clock: Clock | None = Field(default=None, description="what differs from the game's own")
    seats: Annotated[int, Field(ge=1, le=16)] | None = Field(
        default=None, description="4 when left out, or as many as the game has"
    )
    daily_limit: Annotated[int, Field(ge=0, le=10_000)] = 5
    max_bundle_bytes: Annotated[int, Field(ge=1024, le=512 << 20)] = 100 << 20
    active_limit: Annotated[int | None, Field(ge=1, le=100)] = Field(
        default=None,
        description="an agent's newest submissions that play on; all of them when left out",
    )
    medals: Medals = Field(
        default_factory=lambda: TableMedals(kind="table"),
        description="Kaggle's rank table, the least official score of each class, or so many teams "
        "or such a share of them in each",
    )
    medal_confidence: Annotated[float, Field(ge=0.5, le=0.99)] = 0.95
    stops_when_sealed: bool = Field(
        default=False, description="end the finals once every medal is sealed, if not at ends_at"
    )
    remote_agents: bool = Field(
        default=False,
        description="whether agents at addresses of their owners may enter, which are asked in"
        " Battlesnake's API; members of the league must have agreed to it",
    )
    closes_at: Moment | None = None
    ends_at: Moment | None = None
    opens_at: Moment | None = Field(default=None, description="at once when left out")


class SeasonState(BaseModel):
    model_config = ConfigDict(extra="forbid")
    state: Literal["open", "locked", "finished"]


class LimitsOut(BaseModel):
    """How many more uploads a team may enter today."""

    model_config = ConfigDict(from_attributes=True)
    used: int
    allowed: int
    left: int
    resets_at: datetime
    closes_at: datetime | None = Field(
        description="when this team's uploads lock, an extension included"
    )


def longest_match_hours(steps: int, clock: Clock, seats: int, episodes: int = 1) -> float:
    """How long seats that use all their time, one after another, can hold a worker."""
    each = clock.act_seconds + clock.increment_seconds
    seconds = seats * (steps * each + clock.bank_seconds + clock.load_seconds)
    return episodes * seconds / 3600


def is_spoken(game: Game[Any], state: Any) -> bool:
    """Whether what agents see of this game can be a request of Battlesnake's API."""
    return game.observe(state, game.to_move(state)[0]).keys() >= SPOKEN


def speaks(game: Game[Any]) -> bool:
    """Whether remote agents can be asked in it."""
    seats = max(game.seats[0], min(4, game.seats[-1]))
    state, _ = game.reset(game.configure({}), seats, Random(0))  # noqa: S311
    return is_spoken(game, state) and seats > 1


def refuse_unspoken(game: Game[Any], state: Any, seats: int) -> None:
    """Raises ProblemError where remote agents cannot play, or could know what is to come."""
    if not is_spoken(game, state):
        raise Invalid(
            "remote_agents",
            f"they are asked in Battlesnake's API, in which {game.title} cannot"
            " be told; leave it out.",
        )
    if seats == 1:
        raise Invalid(
            "remote_agents",
            "with one seat everybody plays the same starts, and a remote agent"
            " could read them up; take 2 seats or more.",
        )


@router.get("/leagues/{league}/seasons", summary="List seasons", responses=of(404))
def list_seasons(league: LeagueKey, conn: Db, who: Anyone) -> Page[SeasonOut]:
    """Newest first."""
    found = permissions.league(conn, who, league)
    rows = seasons.list_seasons(conn, found.id)
    return Page(items=[SeasonOut.model_validate(row) for row in rows])


@router.post(
    "/leagues/{league}/seasons",
    status_code=201,
    summary="Create a season",
    response_model=SeasonOut,
    responses=of(403, 404, 409, 429),
)
def create_season(league: LeagueKey, body: NewSeason, conn: Db, who: Host, once: Once) -> Response:
    """Hosts and administrators only. What results depend on is fixed from here on."""
    found = permissions.hosted_league(conn, who, league)
    return once.run(season_maker(conn, found, body))


def season_maker(conn: Db, found: League, body: NewSeason) -> Callable[[], SeasonOut]:
    """What makes this season of the league, once its terms are checked. Raises ProblemError."""
    dates = {
        "opens_at": body.opens_at or datetime.now(UTC),
        "closes_at": body.closes_at,
        "ends_at": body.ends_at,
    }
    known = [(name, date) for name, date in dates.items() if date is not None]
    for (before, first), (name, then) in pairwise(known):
        if then < first:
            raise Invalid(
                f"{name}",
                f"it lies before {before}, {first.isoformat(timespec='minutes')}; make it later.",
            )
    game = GAMES.get(found.game)
    if game is None:
        raise ProblemError(
            "invalid",
            f"this site has no game {found.game!r} any more; set PECK_GAMES.",
            where="body",
        )
    seats = body.seats or min(4, game.seats.stop - 1)
    if seats not in game.seats:
        raise Invalid(
            "seats", f"{game.title} takes {game.seats.start} to {game.seats.stop - 1} seats."
        )
    try:
        configuration = game.configure(body.configuration)
        state, _ = game.reset(configuration, seats, Random(0))  # noqa: S311 (is there room for all?)
        if body.remote_agents:
            refuse_unspoken(game, state, seats)
    except ConfigurationError as error:
        raise Invalid(f"configuration.{error.field}", error.message) from None
    except GameError as error:
        raise Invalid(error.field or "configuration", error.message) from None
    given = body.clock.model_dump(exclude_unset=True) if body.clock else {}
    clock = Clock.model_validate({**game.clock, **given})
    configuration = with_clock(game, configuration, clock.model_dump())
    episodes = 2 if game.mirrored else 1
    hours = longest_match_hours(game.longest(configuration), clock, seats, episodes)
    if hours > LONGEST_MATCH_HOURS:
        raise Invalid(
            "configuration",
            f"seats that use all their time could make a match "
            f"last {hours:,.1f} hours, at most {LONGEST_MATCH_HOURS} are allowed: fewer steps, or "
            "less time a move.",
        )
    try:
        medals = Rules.of(body.medals.model_dump())
    except Invalid as error:
        raise error.within("medals") from None
    if seats == 1 and medals.lines is not None:
        raise Invalid(
            "medals",
            "lines are of a score, and matches with one seat give none; choose table, "
            "counts or shares.",
        )
    if seats == 1 and body.stops_when_sealed:
        raise Invalid(
            "stops_when_sealed", "nothing is sealed where matches have one seat; give ends_at."
        )

    def create() -> SeasonOut:
        if body.remote_agents:
            invitations.refuse_widening(conn, found.id, remote=True)
        canonical = json.dumps(configuration, sort_keys=True, separators=(",", ":"))
        season = seasons.create_season(
            conn,
            found.id,
            configuration=configuration,
            configuration_digest=hashlib.sha256(canonical.encode()).hexdigest(),
            clock=clock.model_dump(),
            seats=seats,
            daily_limit=body.daily_limit,
            max_bundle_bytes=body.max_bundle_bytes,
            active_limit=body.active_limit,
            medals=medals,
            medal_confidence=body.medal_confidence,
            stops_when_sealed=body.stops_when_sealed,
            closes_at=body.closes_at,
            ends_at=body.ends_at,
            opens_at=body.opens_at,
            remote_agents=body.remote_agents,
            **rating_of(game, seats),
        )
        quotas.seasons(conn, found.id)
        return SeasonOut.model_validate(season)

    return create


@router.get("/seasons/{season}", summary="Read a season", responses=of(404))
def read_season(season: SeasonKey, conn: Db, who: Anyone) -> SeasonOut:
    """By its id, or by a league's slug for the current one."""
    return SeasonOut.model_validate(permissions.season(conn, who, season))


@router.patch("/seasons/{season}", summary="Lock or finish a season", responses=of(403, 404, 409))
def change_season(season: SeasonKey, body: SeasonState, conn: Db, who: Host) -> SeasonOut:
    """Hosts and administrators only. Locked takes no uploads; finished plays no more."""
    found = permissions.season(conn, who, season)
    permissions.hosted_league(conn, who, found.league_id)
    return SeasonOut.model_validate(seasons.set_season_state(conn, found.id, body.state))


@router.get("/seasons/{season}/limits", summary="Uploads left today", responses=of(403, 404))
def read_limits(season: SeasonKey, conn: Db, who: Known, team: Filter = None) -> LimitsOut:
    """For the caller's team; name it where there are several."""
    found = permissions.season(conn, who, season)
    playing = permissions.own_team(conn, who, team)
    return LimitsOut.model_validate(entries.limits(conn, found.id, playing.id))
