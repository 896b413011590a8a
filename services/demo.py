"""What a fresh house holds: a player with a token, and a league of each game that plays.

Goes through the store, so that uploads, validation and ratings are those of everybody. Safe to
repeat: what is there already is left as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from games import GAMES
from games.protocol import Json, with_clock
from ladder.database import db
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.errors import Conflict, NotFound
from ladder.ids import SeasonId, UserId
from ladder.kinds import ReplayVisibility, Visibility
from ladder.leagues import leagues, seasons
from ladder.people import tokens, users
from ladder.people.records import Team
from services import bundles
from services.rulebook import rating_of

PLAYER: Final = "player"
PLAYER_TEAM: Final = "players"
HOST: Final = "demo"
SCOPES: Final = ("read", "agents:write", "scrims:write", "leagues:write")


@dataclass(frozen=True)
class DemoAgent:
    """A reference agent as its demo league enters it."""

    folder: str
    name: str
    team: str


@dataclass(frozen=True)
class DemoLeague:
    """A league of the house. Its agents belong to ordinary teams, so it has ranks and medals."""

    slug: str
    title: str
    game: str
    seats: int
    entrants: tuple[DemoAgent, ...]
    configuration: Mapping[str, Json] = field(default_factory=dict)
    description: str = "Reference agents play here around the clock. Send yours."
    remote_agents: bool = False


LEAGUES: Final = (
    DemoLeague(
        "hungry-geese",
        "Hungry Geese",
        "hungry_geese",
        4,
        (
            DemoAgent("random_legal", "Random Legal", "Loose Feathers"),
            DemoAgent("greedy", "Greedy", "Breadcrumb Club"),
            DemoAgent("survivor", "Survivor", "Pond Patrol"),
            DemoAgent("numpy_heuristic", "Numpy Heuristic", "Vector Flock"),
            DemoAgent("convolutional", "Convolutional", "Understudies"),
            DemoAgent("searcher", "Searcher", "Deep Waters"),
            DemoAgent("bank_spender", "Bank Spender", "Overtime"),
        ),
        description="The demo league: reference agents that play around the clock. Send yours.",
    ),
    DemoLeague(
        "battlesnake",
        "Battlesnake",
        "battlesnake",
        4,
        (
            DemoAgent("safe_step", "Safe Step", "Mind the Gap"),
            DemoAgent("grazer", "Grazer", "Greener Pastures"),
            DemoAgent("painter", "Painter", "Fresh Coat"),
            DemoAgent("searcher", "Searcher", "Long View"),
        ),
        description="Reference agents play here around the clock. Send yours, or the address of one"
        " that runs elsewhere.",
        remote_agents=True,
    ),
    DemoLeague(
        "game-of-life-and-death",
        "Game of Life and Death",
        "golad",
        2,
        (
            DemoAgent("random", "Random", "Primordial Soup"),
            DemoAgent("pass", "Pass", "Still Life"),
            DemoAgent("kill", "Kill", "Overcrowding"),
            DemoAgent("greedy_kills", "Greedy Kills", "Grim Arithmetic"),
            DemoAgent("greedy", "Greedy", "Breeders"),
            DemoAgent("search", "Search", "Garden of Eden"),
        ),
        {"width": 6, "height": 6, "startingCells": 10},
        "On 6x6 with 10 starting cells; a match is two games of one board. Send yours.",
    ),
    DemoLeague(
        "snake",
        "Snake",
        "snake",
        1,
        (
            DemoAgent("uniform", "Uniform", "Wanderlust"),
            DemoAgent("cycle", "Hamiltonian Cycle", "Round Trip"),
            DemoAgent("shortest_path", "Shortest Path", "Beeline"),
            DemoAgent("cycle_repair", "Cycle Repair", "Roadworks"),
            DemoAgent("rollouts", "Rollouts", "What If"),
        ),
        description="Alone on 10x10, everybody on the same apples, round by round. Send yours.",
    ),
)


def known(game: str, folder: str) -> DemoAgent | None:
    """What the demo leagues call the reference agent in this folder, if they have it."""
    return next((each for each in _entrants(game) if each.folder == folder), None)


def folders(game: str) -> list[str]:
    """The reference agents of the game's demo leagues, in their order."""
    return [each.folder for each in _entrants(game)]


def _entrants(game: str) -> Iterator[DemoAgent]:
    return (each for league in LEAGUES if league.game == game for each in league.entrants)


def player(conn: Connection, known_token: str | None) -> str:
    """A token of an ordinary user with a team: ``known_token`` while it works, else a new one."""
    if known_token is not None and users.viewer(conn, known_token) is not None:
        return known_token
    user_id = _user(conn, PLAYER)
    if not users.teams_of(conn, user_id):
        users.create_team(conn, "Players", PLAYER_TEAM, user_id)
    return tokens.mint_token(conn, user_id, "peck up", SCOPES)[1]


def fill(conn: Connection, blobs: Blobs) -> list[SeasonId]:
    """The demo leagues with every reference agent entered, of those that do not stand already."""
    made = [_league(conn, blobs, each) for each in LEAGUES]
    return [season_id for season_id in made if season_id is not None]


def _league(conn: Connection, blobs: Blobs, demo: DemoLeague) -> SeasonId | None:
    try:
        leagues.get_league(conn, demo.slug)
        return None
    except NotFound:
        host = _user(conn, HOST)
    game = GAMES[demo.game]
    configuration = with_clock(game, game.configure(demo.configuration), game.clock)
    canonical = json.dumps(configuration, sort_keys=True, separators=(",", ":"))
    try:
        made = leagues.create_league(
            conn,
            slug=demo.slug,
            title=demo.title,
            game=game.name,
            visibility=Visibility.PUBLIC,
            replay_visibility=ReplayVisibility.PUBLIC,
            created_by=host,
            description=demo.description,
        )
    except Conflict:
        return None  # another machine was a moment faster
    season = seasons.create_season(
        conn,
        made.id,
        configuration=configuration,
        configuration_digest=hashlib.sha256(canonical.encode()).hexdigest(),
        clock=dict(game.clock),
        seats=demo.seats,
        daily_limit=20,
        remote_agents=demo.remote_agents,
        **rating_of(game, demo.seats),
    )
    for each in demo.entrants:
        _enter(conn, blobs, season.id, host, demo.game, each)
    return season.id


def _enter(
    conn: Connection,
    blobs: Blobs,
    season_id: SeasonId,
    host: UserId,
    game: str,
    each: DemoAgent,
) -> None:
    team = _team(conn, each.team, host)
    agent = agents.create_agent(conn, team.id, each.name, each.folder.replace("_", "-"))
    agents.update_agent(conn, agent.id, open_for_scrims=True)
    filename, content = bundles.read(game, each.folder)
    stored = blobs.put_bytes(content)
    submission, _ = agents.add_submission(
        conn, agent.id, stored.digest, stored.size, filename, "reference agent", host
    )
    entries.enter(conn, season_id, submission.id, count_limit=False)


def _team(conn: Connection, name: str, host: UserId) -> Team:
    """A new team; on a house that people have used for long, its slug may be theirs."""
    slug = name.lower().replace(" ", "-")
    try:
        return users.create_team(conn, name, slug, host)
    except Conflict:
        return users.create_team(conn, name, f"{HOST}-{slug}", host)


def _user(conn: Connection, name: str) -> UserId:
    """The user of this name, made when missing."""
    try:
        return users.create_user(conn, name).id
    except Conflict:
        found = conn.execute(
            "select id from users where lower(name) = lower(%s) and erased_at is null", (name,)
        ).fetchone()
        assert found is not None
        return UserId(found[0])


def admin_token(conn: db.Connection, name: str) -> str:
    """A token that may do everything, of an administrator of this name, made when missing."""
    try:
        user_id = users.create_user(conn, name, is_admin=True).id
    except Conflict:
        user_id = _user(conn, name)
        if not users.get_user(conn, user_id).is_admin:
            raise Conflict(f"{name} is there and no administrator; choose another name") from None
    return tokens.mint_token(conn, user_id, "set-up", tokens.SCOPES)[1]
