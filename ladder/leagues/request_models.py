"""Request models for leagues and seasons, with the bounds of each value."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from ladder.enums import ReplayVisibility, Visibility
from ladder.field_types import AwareDatetime, Line, Slug, SpeedClass, Text
from ladder.leagues.medals import MOST_TEAMS, read_line
from ladder.leagues.records import MOST_BUNDLE_BYTES, USUAL_BUNDLE_BYTES

LARGEST_NUMBER: Final = 10**9
"""Greatest distance from 0 of a number in a game's configuration."""
ANCHORS: Final = "names of this installation's reference agents, or ids of own submissions"
AnchorNames = Annotated[list[Annotated[Line, Field(min_length=1)]], Field(max_length=20)]
ScoreLine = Annotated[
    float | str,
    BeforeValidator(read_line),
    Field(
        description="a score, or a reference agent of the season with a distance from its score",
        examples=["survivor+100"],
    ),
]
Count = Annotated[int, Field(ge=0, le=MOST_TEAMS)]
Share = Annotated[float, Field(ge=0, le=1)]
LiveDelay = Annotated[int, Field(ge=0, le=3600)]


class Clock(BaseModel):
    """Thinking time of agents; ``sandbox.match.clock`` has the same fields."""

    model_config = ConfigDict(extra="forbid")
    act_seconds: Annotated[float, Field(ge=0, le=60)] = 1.0
    """Free time of each move."""
    bank_seconds: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """Reserve for a whole episode; a move uses it after its free time."""
    increment_seconds: Annotated[float, Field(ge=0, le=60)] = 0.0
    """Seconds added to the reserve after each move, up to its initial value."""
    load: Literal["first_move", "own"] = "first_move"
    """Whether importing the agent counts as part of its first move, as on Kaggle, or separately."""
    load_seconds: Annotated[float, Field(gt=0, le=600)] = 30.0


class TableMedals(BaseModel):
    """Kaggle's rank table, by the number of teams with a valid entry."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["table"]


class LineMedals(BaseModel):
    """The least official score of each class.

    The reference agents of a season have 600 points on average. A line that names one of them moves
    with its score. No line is below that of a lower class.
    """

    model_config = ConfigDict(extra="forbid")
    kind: Literal["lines"]
    gold: ScoreLine
    silver: ScoreLine
    bronze: ScoreLine


class CountMedals(BaseModel):
    """A number of teams in each class."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["counts"]
    gold: Count = Field(examples=[1])
    silver: Count = Field(examples=[2])
    bronze: Count = Field(examples=[3])


class ShareMedals(BaseModel):
    """A share of the teams in each class, rounded down cumulatively."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["shares"]
    gold: Share = Field(examples=[0.1])
    silver: Share = Field(examples=[0.1])
    bronze: Share = Field(examples=[0.2])


Medals = Annotated[
    TableMedals | LineMedals | CountMedals | ShareMedals, Field(discriminator="kind")
]


def check_storable(configuration: dict[str, Any]) -> dict[str, Any]:
    """Returns the configuration after checking its numbers and texts.

    Raises ValueError for numbers that games cannot use or texts that Postgres cannot store.
    """
    for value in configuration.values():
        if isinstance(value, int | float) and not abs(value) <= LARGEST_NUMBER:
            raise ValueError(f"numbers must lie between {-LARGEST_NUMBER} and {LARGEST_NUMBER}")
        if isinstance(value, str) and not value.isprintable():
            raise ValueError("texts must be one line without control characters")
        if not isinstance(value, int | float | str | None):
            raise ValueError("values are numbers, texts, true, false or null")
    return configuration


class NewSeason(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"seats": 4}]})
    configuration: Annotated[
        dict[Line, Any], Field(max_length=100), AfterValidator(check_storable)
    ] = Field(default_factory=dict, description="changes to the game's defaults")
    clock: Clock | None = Field(default=None, description="changes to the game's own clock")
    seats: Annotated[int, Field(ge=1, le=16)] | None = Field(
        default=None, description="default: 4, or as many as the game has"
    )
    daily_limit: Annotated[int, Field(ge=0, le=10_000)] = 5
    scrim_games_daily: Annotated[int, Field(ge=0, le=10_000)] = Field(
        default=500, description="scrim games that a team may request in a day"
    )
    max_bundle_bytes: Annotated[int, Field(ge=1024, le=MOST_BUNDLE_BYTES)] = USUAL_BUNDLE_BYTES
    active_limit: Annotated[int | None, Field(ge=1, le=100)] = Field(
        default=None,
        description="number of an agent's newest submissions that play; default: all of them",
    )
    team_active_limit: Annotated[int | None, Field(ge=1, le=100)] = Field(
        default=3,
        description="number of a team's newest submissions that play, over all its agents;"
        " null: all of them",
    )
    medals: Medals = Field(
        default_factory=lambda: TableMedals(kind="table"),
        description="Kaggle's rank table, the least official score of each class, or a number"
        " or share of teams in each class",
    )
    medal_confidence: Annotated[float, Field(ge=0.5, le=0.99)] = 0.95
    stops_when_sealed: bool = Field(
        default=False, description="end the finals when every medal is sealed, even before ends_at"
    )
    speed_class: SpeedClass = Field(
        default="any",
        examples=["1.2x"],
        description="play only on machines of this speed class, as the list of machines names it",
    )
    remote_agents: bool = Field(
        default=False,
        description="whether remote agents may enter, which are asked in Battlesnake's API;"
        " members of the league must have agreed to it",
    )
    closes_at: AwareDatetime | None = None
    ends_at: AwareDatetime | None = None
    opens_at: AwareDatetime | None = Field(default=None, description="at once when left out")


class NewLeague(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"slug": "geese", "title": "Geese", "game": "hungry_geese"}]
        },
    )
    slug: Slug
    title: Annotated[Line, Field(min_length=1)]
    game: Annotated[Line, Field(examples=["hungry_geese"])]
    visibility: Visibility = Visibility.PUBLIC
    replay_visibility: ReplayVisibility = ReplayVisibility.PUBLIC
    description: Text = ""
    same_team_lineups: bool = False
    season: NewSeason | None = Field(
        default=None, description="first season, created with the league"
    )
    anchors: AnchorNames = Field(
        default_factory=list,
        description=f"reference agents that fix the season's scale: {ANCHORS}",
        examples=[["greedy", "random-legal"]],
    )
    fill: bool = Field(
        default=True,
        description="enter more reference agents, until one agent can play",
    )


class LeagueChange(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"state": "paused"}]})
    title: Annotated[Line, Field(min_length=1)] | None = None
    description: Text | None = None
    visibility: Visibility | None = None
    replay_visibility: ReplayVisibility | None = None
    same_team_lineups: bool | None = None
    takes_requests: bool | None = Field(
        default=None, description="whether people may ask to join; title and terms are then open"
    )
    live_delay_seconds: LiveDelay | None = Field(
        default=None, description="seconds by which people see running matches late"
    )
    state: Literal["open", "paused", "closed"] | None = None
