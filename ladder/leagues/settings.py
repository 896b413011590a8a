"""Settings of leagues and seasons. Each one is declared once, here.

The type of a field has its bounds and its label (``title``), and the text below it explains it. The
requests of the API, the records, the columns that are written and read, the forms, ``peck season
settings`` and the copy for the next season come from these declarations. A new setting needs a
field here and a column of the same name.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Optional, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model

from ladder.enums import ReplayVisibility, Visibility
from ladder.field_types import AwareDatetime, FilledLine, Line, RequestModel, Slug, SpeedClass, Text
from ladder.leagues.medals import MOST_TEAMS, read_line

USUAL_BUNDLE_BYTES: Final = 100 << 20
"""Largest upload if a season does not say otherwise, and for an upload into no season."""
MOST_BUNDLE_BYTES: Final = 512 << 20
"""No season allows larger uploads."""
LARGEST_NUMBER: Final = 10**9
"""Greatest distance from 0 of a number in a game's configuration."""
ANCHORS: Final = "names of this installation's reference agents, or ids of own submissions"
SET_BY_HOSTS: Final = ("visibility", "replay_visibility")
"""Settings of a league that a co-host may not change."""
MEDAL_SETTINGS: Final[dict[str, Any]] = {"x-group": "medals"}
"""Marks a setting that forms show beside the medals."""
AnchorNames = Annotated[list[FilledLine], Field(max_length=20)]
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
M = TypeVar("M", bound=BaseModel)


class SeasonSettings(RequestModel):
    """Settings of a season that have the same default in every game. None changes later."""

    daily_limit: Annotated[int, Field(ge=0, le=10_000, title="Submissions a day")] = 5
    """For each team."""
    scrim_games_daily: Annotated[int, Field(ge=0, le=10_000, title="Scrim games a day")] = 500
    """For each team. Scrims are unrated."""
    team_active_limit: Annotated[
        int | None, Field(ge=1, le=100, title="Active submissions of a team")
    ] = 3
    """How many of a team's newest submissions play, over all its agents. Leave empty for all."""
    active_limit: Annotated[
        int | None, Field(ge=1, le=100, title="Active submissions of an agent")
    ] = None
    """How many of an agent's newest submissions play. Leave empty for all."""
    max_bundle_bytes: Annotated[
        int, Field(ge=1024, le=MOST_BUNDLE_BYTES, title="Largest submission")
    ] = USUAL_BUNDLE_BYTES
    speed_class: Annotated[SpeedClass, Field(title="Machines", examples=["1.2x"])] = "any"
    """Machines of one speed class give every agent equal work per second."""
    remote_agents: Annotated[
        bool,
        Field(
            title="Allow remote agents: owners submit a URL where their agent answers. The site"
            " cannot check what runs there and measures time over the network."
        ),
    ] = False
    """Whether remote agents may enter, which are asked in Battlesnake's API. Members of the league
    must have agreed to it."""
    medal_confidence: Annotated[
        float,
        Field(
            ge=0.5,
            le=0.99,
            title="Probability needed to seal a medal",
            json_schema_extra=MEDAL_SETTINGS,
        ),
    ] = 0.95
    """Between 0.5 and 0.99. Applies after uploads lock, if three standings reach it. Each of them
    needs a twentieth more results than the one before."""
    stops_when_sealed: Annotated[
        bool,
        Field(title="End the season once every medal is sealed", json_schema_extra=MEDAL_SETTINGS),
    ] = False
    """The season ends at ``ends_at`` at the latest."""


class Clock(RequestModel):
    """Thinking time of agents; ``sandbox.match.clock`` has the same fields."""

    act_seconds: Annotated[float, Field(ge=0, le=60, title="Seconds for a move")] = 1.0
    """Free time of each move."""
    bank_seconds: Annotated[float, Field(ge=0, le=3600, title="Seconds in the bank")] = 60.0
    """Extra time for a whole episode, used by moves that take longer."""
    increment_seconds: Annotated[
        float, Field(ge=0, le=60, title="Seconds returned to the bank")
    ] = 0.0
    """After each move, up to the starting amount."""
    load: Annotated[Literal["first_move", "own"], Field(title="Time to import the agent")] = (
        "first_move"
    )
    """Whether importing the agent counts as part of its first move, as on Kaggle, or separately."""
    load_seconds: Annotated[float, Field(gt=0, le=600, title="Seconds to import")] = 30.0
    """If importing has its own limit."""


class TableMedals(RequestModel):
    """Kaggle's rank table, by the number of teams with a valid entry."""

    kind: Literal["table"]


class LineMedals(RequestModel):
    """The least official score of each class.

    The reference agents of a season have 600 points on average. A line that names one of them moves
    with its score. No line is below that of a lower class.
    """

    kind: Literal["lines"]
    gold: ScoreLine
    silver: ScoreLine
    bronze: ScoreLine


class CountMedals(RequestModel):
    """A number of teams in each class."""

    kind: Literal["counts"]
    gold: Count = Field(examples=[1])
    silver: Count = Field(examples=[2])
    bronze: Count = Field(examples=[3])


class ShareMedals(RequestModel):
    """A share of the teams in each class, rounded down cumulatively."""

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


class SeasonDates(RequestModel):
    """The next season does not copy these."""

    closes_at: Annotated[AwareDatetime | None, Field(title="Uploads lock")] = None
    """The deadline for agents. Leave empty for none."""
    ends_at: Annotated[AwareDatetime | None, Field(title="Ends")] = None
    """No match starts after this time; then the standings are final. Leave empty for no end."""
    opens_at: Annotated[AwareDatetime | None, Field(title="Opens")] = None
    """Leave empty to open at once."""


class NewSeason(SeasonDates, SeasonSettings):
    model_config = ConfigDict(json_schema_extra={"examples": [{"seats": 4}]})
    seats: Annotated[int | None, Field(ge=1, le=16, title="Seats in a match")] = None
    """Default: 4, or as many as the game has."""
    clock: Clock | None = None
    """Changes to the game's own clock."""
    configuration: Annotated[
        dict[Line, Any], Field(max_length=100), AfterValidator(check_storable)
    ] = Field(default_factory=dict)
    """Changes to the game's defaults."""
    medals: Medals = Field(default_factory=lambda: TableMedals(kind="table"))
    """Kaggle's rank table, the least official score of each class, or a number or share of teams in
    each class."""


class NextSeason(NewSeason):
    """The next season of a league."""

    fill: Annotated[
        bool, Field(title="Add reference agents, so that one agent is enough to play")
    ] = False


class SeasonChange(RequestModel):
    """What a host can change in a season."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "locked"}]})
    state: Literal["open", "locked", "finished"] | None = None
    medals: LineMedals | None = None
    """Other medal lines, until uploads close."""


class LeagueSettings(RequestModel):
    """Settings of a league. Hosts change all of them at any time."""

    title: Annotated[FilledLine, Field(title="Title")]
    description: Annotated[Text, Field(title="Description")] = ""
    """Everybody who sees the league reads it. You may leave it empty."""
    visibility: Annotated[Visibility, Field(title="Who may join")] = Visibility.PUBLIC
    """If more people would see the league, all members must agree first."""
    replay_visibility: Annotated[ReplayVisibility, Field(title="Who may watch replays")] = (
        ReplayVisibility.PUBLIC
    )
    """To show replays to more people later, all members must agree first."""
    same_team_lineups: Annotated[
        bool,
        Field(title="Allow rated matches between agents of one team (for very small leagues)"),
    ] = False
    takes_requests: Annotated[bool, Field(title="Take requests to join")] = False
    """Whether people may ask to join. Then everybody who knows the name of the league may read its
    title and terms."""
    live_delay_seconds: Annotated[
        int, Field(ge=0, le=3600, title="Delay of running matches, in seconds (0: none)")
    ] = 0
    """Seconds by which people see running matches late."""


class NewLeague(LeagueSettings):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"slug": "geese", "title": "Geese", "game": "hungry_geese"}]
        },
    )
    slug: Annotated[Slug, Field(title="Short name for addresses")]
    game: Annotated[Line, Field(examples=["hungry_geese"])]
    season: NewSeason | None = None
    """First season, created with the league."""
    anchors: AnchorNames = Field(
        default_factory=list,
        description=f"reference agents that fix the season's scale: {ANCHORS}",
        examples=[["greedy", "random-legal"]],
    )
    fill: Annotated[
        bool,
        Field(title="Add more reference agents, so that your first agent can play at once"),
    ] = True


def with_optional_fields(model: type[M]) -> type[M]:
    """The model with every field optional. A field that is left out is None."""
    fields: dict[str, Any] = {
        name: (
            Optional[field.rebuild_annotation()],  # noqa: UP045 (the annotation is a value)
            Field(default=None, title=field.title, description=field.description),
        )
        for name, field in model.model_fields.items()
    }
    return create_model(model.__name__, __base__=model, __module__=model.__module__, **fields)


@with_optional_fields
class LeagueChange(LeagueSettings):
    """What a host changes in a league."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "paused"}]})
    state: Literal["open", "paused", "closed"] | None = None
