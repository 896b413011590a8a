"""Demo data of a new instance: a player with a token, and one league for each game.

Calls the functions of ``ladder``, so uploads, validation and ratings work as for everybody. Safe to
repeat: existing data stays unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from games import GAMES
from games.protocol import Json
from ladder.database import db
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries, reference_agents
from ladder.entries.anchors import set_up_league
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import SeasonId, UserId
from ladder.leagues import leagues
from ladder.leagues.records import Season
from ladder.leagues.settings import NewLeague, NewSeason
from ladder.people import tokens, users
from ladder.people.records import Viewer
from ladder.scrims import policies
from ladder.scrims.policies import ScrimPolicy, Whom

PLAYER: Final = "player"
HOST: Final = "demo"


@dataclass(frozen=True)
class DemoAgent:
    """A reference agent in a demo league."""

    name: str
    team: str


@dataclass(frozen=True)
class DemoLeague:
    """A demo league. Its agents belong to ordinary teams, so it has ranks and medals."""

    slug: str
    title: str
    game: str
    seats: int
    teams: Mapping[str, str]
    """Team name of each reference agent, by the agent's name."""
    configuration: Mapping[str, Json] = field(default_factory=dict)
    description: str = "Reference agents play here around the clock. Send yours."
    remote_agents: bool = False

    @property
    def entrants(self) -> tuple[DemoAgent, ...]:
        """The agents, in the order of the season's reference agents."""
        order = reference_agents.FIRST[self.game]
        return tuple(DemoAgent(name, self.teams[name]) for name in order)


LEAGUES: Final = (
    DemoLeague(
        "hungry-geese",
        "Hungry Geese",
        "hungry_geese",
        4,
        {
            "random-legal": "Loose Feathers",
            "greedy": "Breadcrumb Club",
            "survivor": "Pond Patrol",
            "numpy-heuristic": "Vector Flock",
            "convolutional": "Understudies",
            "searcher": "Deep Waters",
            "bank-spender": "Overtime",
        },
        description="Reference agents play here around the clock. Send yours.",
    ),
    DemoLeague(
        "battlesnake",
        "Battlesnake",
        "battlesnake",
        4,
        {
            "safe-step": "Mind the Gap",
            "grazer": "Greener Pastures",
            "painter": "Fresh Coat",
            "searcher": "Long View",
        },
        description="Reference agents play here around the clock. Send yours, or the address of "
        "your own server.",
        remote_agents=True,
    ),
    DemoLeague(
        "game-of-life-and-death",
        "Game of Life and Death",
        "golad",
        2,
        {
            "random": "Primordial Soup",
            "pass": "Still Life",
            "kill": "Overcrowding",
            "greedy-kills": "Grim Arithmetic",
            "greedy": "Breeders",
            "search": "Garden of Eden",
        },
        {"width": 6, "height": 6, "startingCells": 10},
        "Board of 6x6 with 10 starting cells; a match is two games from one start. Send yours.",
    ),
    DemoLeague(
        "snake",
        "Snake",
        "snake",
        1,
        {
            "uniform": "Wanderlust",
            "cycle": "Round Trip",
            "shortest-path": "Beeline",
            "cycle-repair": "Roadworks",
            "rollouts": "What If",
        },
        description="One snake on a board of 10x10. Each round gives all agents the same apples. "
        "Send yours.",
    ),
)


def player_token(conn: Connection, known_token: str | None) -> str:
    """A token of an ordinary user with a team: ``known_token`` if it works, else a new one."""
    if known_token is not None and users.viewer_of_token(conn, known_token) is not None:
        return known_token
    user_id = _find_or_create_user(conn, PLAYER)
    if not users.teams_of(conn, user_id):
        users.create_own_team(conn, "Players", user_id)
    return tokens.mint_token(conn, user_id, "peck up", tokens.DEVICE_SCOPES)[1]


def select_demo_leagues(slugs: str) -> list[DemoLeague]:
    """The demo leagues with these comma-separated slugs; all if there is none.

    Raises Invalid for an unknown slug.
    """
    leagues_by_slug = {league.slug: league for league in LEAGUES}
    wanted = [slug.strip() for slug in slugs.split(",") if slug.strip()]
    for slug in wanted:
        if slug not in leagues_by_slug:
            names = ", ".join(leagues_by_slug)
            raise Invalid(
                "PECK_DEMO_LEAGUES", f"choose among {names}; no demo league is called {slug!r}"
            )
    return [leagues_by_slug[slug] for slug in wanted or leagues_by_slug]


def fill_demo_leagues(conn: Connection, blobs: Blobs, slugs: str = "") -> list[SeasonId]:
    """Creates the missing demo leagues with their reference agents."""
    seasons = [_create_demo_league(conn, blobs, league) for league in select_demo_leagues(slugs)]
    return [season_id for season_id in seasons if season_id is not None]


def _create_demo_league(conn: Connection, blobs: Blobs, demo: DemoLeague) -> SeasonId | None:
    try:
        leagues.get_league(conn, demo.slug)
        return None
    except NotFound:
        host = _find_or_create_user(conn, HOST)
    new_league = NewLeague(
        slug=demo.slug,
        title=demo.title,
        game=demo.game,
        description=demo.description,
        season=NewSeason(
            configuration=dict(demo.configuration),
            seats=demo.seats,
            daily_limit=20,
            remote_agents=demo.remote_agents,
        ),
        fill=False,  # agents of ordinary teams play instead
    )
    try:
        opened = set_up_league(conn, blobs, new_league, GAMES[demo.game], Viewer(host, HOST))
    except Conflict:
        return None  # another machine created it first
    assert opened.season is not None
    for demo_agent in demo.entrants:
        _enter_agent(conn, blobs, opened.season, host, demo_agent)
    return opened.season.id


def _enter_agent(
    conn: Connection, blobs: Blobs, season: Season, host: UserId, demo_agent: DemoAgent
) -> None:
    team = users.create_own_team(conn, demo_agent.team, None)  # nobody competes with several teams
    title = reference_agents.title_of(season.game, demo_agent.name)
    agent = agents.create_agent(conn, team.id, title, demo_agent.name)
    policies.set_policy(conn, agent, ScrimPolicy(whom=Whom.ANYONE, accepts_automatically=True))
    filename, content = reference_agents.read_bundle(season.game, demo_agent.name)
    stored = blobs.put_bytes(content)
    submission, _ = agents.add_submission(
        conn, agent.id, stored.digest, stored.size, filename, "reference agent", host
    )
    entries.enter_season(conn, season.id, submission.id, count_limit=False)


def _find_or_create_user(conn: Connection, name: str) -> UserId:
    """The user of this name, created if missing."""
    try:
        return users.create_user(conn, name).id
    except Conflict:
        user = users.find_user(conn, name)
        if user is None:  # a person has a name that looks like this one
            raise
        return user


def admin_token(conn: db.Connection, name: str) -> str:
    """A token with all scopes, for the administrator of this name, created if missing."""
    try:
        user_id = users.create_user(conn, name, is_admin=True).id
    except Conflict:
        user_id = _find_or_create_user(conn, name)
        if not users.get_user(conn, user_id).is_admin:
            raise Conflict(
                f"choose another name; {name} is a user without administrator rights"
            ) from None
    return tokens.mint_token(conn, user_id, "set-up", tokens.SCOPES)[1]
