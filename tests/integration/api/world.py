"""A small world for the tests of the API: people, a public and a private league, finished matches.

| person | is |
|---|---|
| admin | administrator, in no league |
| host | host of both leagues, with a team |
| member | competitor in the private league, with the team that owns "Flood" |
| rival | plays in the public league alone, with a team |
| insider | plays in the private league alone, with a team |
| cohost | co-host of both leagues |
| grader, commentator | staff of both leagues; host, member and insider agreed to them |
| stranger | no token |

Matches are not played here: their results are written through the lease as a worker would.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import types
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import httpx

from games import GAMES
from games.episode import Episode, Step, to_bytes
from ladder.database.blobs import Blobs, open_blobs
from ladder.database.db import Connection
from ladder.database.kept_connection import KeptConnection
from ladder.entries import agents, entries
from ladder.enums import MatchKind
from ladder.ids import AgentId, MatchId, SeasonId, UserId, new_id
from ladder.leagues import seasons
from ladder.machines import machines
from ladder.matches import history, lease, matches, workers
from ladder.matches.records import EpisodeResult, LineupSeat, MatchOrder, SeatResult
from ladder.people import tokens, users
from ladder.ratings import live_ratings
from services.api_client import Client

WORKER = "worker-of-the-tests"
OPEN = {"whom": "anyone", "accepts_automatically": True}
"""A policy: every team plays without asking."""
SCOPES = ["read", "agents:write", "scrims:write", "leagues:write"]
GOOD = b"def agent(observation, configuration):\n    return 'NORTH'\n"


@dataclass
class World:
    """Ids of the world, and clients for each person."""

    http: httpx.Client
    database_url: str
    blobs: Blobs
    tokens: dict[str, str] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)
    teams: dict[str, str] = field(default_factory=dict)
    leagues: dict[str, str] = field(default_factory=dict)
    seasons: dict[str, str] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)
    submissions: dict[str, str] = field(default_factory=dict)
    entries: dict[str, str] = field(default_factory=dict)
    matches: dict[str, str] = field(default_factory=dict)
    scrims: dict[str, str] = field(default_factory=dict)
    comparisons: dict[str, str] = field(default_factory=dict)
    """By league, once ``comparison_of_member`` was called."""

    def __post_init__(self) -> None:
        self.database = KeptConnection(self.database_url)

    def client(self, person: str) -> Client:
        """The API as this person sees it; ``stranger`` has no token."""
        return Client(str(self.http.base_url), self.tokens.get(person), http=self.http)

    def connect(self) -> AbstractContextManager[Connection]:
        """A connection for one transaction."""
        return self.database.use()

    def copied(self, http: httpx.Client, database_url: str) -> World:
        """The same world in a copy of its database."""
        ids = {name: dict(value) for name, value in vars(self).items() if isinstance(value, dict)}
        return World(http, database_url, self.blobs, **ids)


def build(http: httpx.Client, database_url: str, blobs_url: str) -> World:
    """Make the world, through the API where possible."""
    world = World(http, database_url, open_blobs(blobs_url))
    with world.connect() as conn:
        root = users.create_user(conn, "admin", is_admin=True)
        world.users["admin"] = root.id
        world.tokens["admin"] = tokens.mint_token(conn, root.id, "root", tokens.SCOPES)[1]
        workers.register_worker(
            conn, workers.WorkerHello(WORKER, "here", "node", matches.QUEUES, 4, ("numpy",))
        )
    admin = world.client("admin")
    for person in ("host", "member", "rival", "insider"):
        world.users[person] = admin.post("/v1/users", {"name": person})["id"]
        world.tokens[person] = admin.post(
            f"/v1/users/{world.users[person]}/tokens", {"label": "test", "scopes": SCOPES}
        )["token"]
        team = admin.post(
            "/v1/teams", {"name": f"Team {person}", "slug": person, "owner": world.users[person]}
        )
        world.teams[person] = team["id"]
    host = world.client("host")
    for name in ("public", "private"):
        league = host.post(
            "/v1/leagues",
            {
                "slug": name,
                "title": f"The {name} league",
                "game": "hungry_geese",
                "visibility": name,
                "replay_visibility": "own",
            },
        )
        world.leagues[name] = league["id"]
        season = host.post(f"/v1/leagues/{league['id']}/seasons", {"seats": 2, "daily_limit": 20})
        world.seasons[name] = season["id"]
        host.put(f"/v1/leagues/{name}/members/{world.users['member']}", {"role": "competitor"})
    host.put(f"/v1/leagues/private/members/{world.users['insider']}", {"role": "competitor"})
    appoint(world)
    for name in ("public", "private"):
        enter(world, name, "member")
        enter(world, name, "host")
        play_rated(world, name)
    enter(world, "public", "rival")
    enter(world, "private", "insider")
    reject(world)
    request_scrim(world)
    world.database.close()
    return world


def appoint(world: World) -> None:
    """Name co-host, grader and commentator of both leagues; members agree to the terms."""
    for person, role in (
        ("cohost", "co-host"),
        ("grader", "grader"),
        ("commentator", "commentator"),
    ):
        world.users[person] = world.client("admin").post("/v1/users", {"name": person})["id"]
        world.tokens[person] = world.client("admin").post(
            f"/v1/users/{world.users[person]}/tokens", {"label": "test", "scopes": SCOPES}
        )["token"]
        for league in ("public", "private"):
            world.client("host").put(
                f"/v1/leagues/{league}/members/{world.users[person]}", {"role": role}
            )
    for person, league in (
        ("host", "public"),
        ("host", "private"),
        ("member", "public"),
        ("member", "private"),
        ("insider", "private"),
    ):
        client = world.client(person)
        client.put(
            f"/v1/leagues/{league}/consent",
            {"terms": client.get(f"/v1/leagues/{league}/terms")["digest"]},
        )


def make_reader_and_foreign(world: World) -> None:
    """Adds a token of the member that only reads, and a person who hosts another league."""
    world.tokens["reader"] = world.client("member").post(
        "/v1/users/me/tokens", {"label": "reader", "scopes": ["read"]}
    )["token"]
    admin = world.client("admin")
    foreign = admin.post("/v1/users", {"name": "foreign"})["id"]
    world.tokens["foreign"] = admin.post(
        f"/v1/users/{foreign}/tokens", {"label": "test", "scopes": SCOPES}
    )["token"]
    world.client("foreign").post(
        "/v1/leagues", {"slug": "elsewhere", "title": "Elsewhere", "game": "hungry_geese"}
    )


def enter(world: World, league: str, person: str) -> None:
    """An agent of this person with an active entry, named ``league.person``."""
    client = world.client(person)
    key = f"{league}.{person}"
    agent = client.post("/v1/agents", {"name": f"Flood {key}"})
    made = client.upload(
        f"/v1/agents/{agent['id']}/submissions", GOOD + key.encode(), season=world.seasons[league]
    )
    world.agents[key], world.submissions[key] = agent["id"], made["submission"]["id"]
    world.entries[key] = made["entry"]["id"]
    with world.connect() as conn:
        found = entries.get_entry(conn, made["entry"]["id"])
        assert found.validation_match_id is not None
        finish(conn, world.blobs, found.validation_match_id)
        world.matches[f"{key}.validation"] = found.validation_match_id


def reject(world: World) -> None:
    """A second entry of the member in each league that fails its validation."""
    for league in ("public", "private"):
        client = world.client("member")
        made = client.upload(
            f"/v1/agents/{world.agents[f'{league}.member']}/submissions",
            b"1 / 0",
            season=world.seasons[league],
        )
        world.entries[f"{league}.rejected"] = made["entry"]["id"]
        with world.connect() as conn:
            found = entries.get_entry(conn, made["entry"]["id"])
            assert found.validation_match_id is not None
            finish(conn, world.blobs, found.validation_match_id, failed_seat=1)


def play_rated(world: World, league: str) -> None:
    """One finished and rated match of member against host."""
    match_id = create_rated(world, league)
    with world.connect() as conn:
        finish(conn, world.blobs, match_id)
    with world.connect() as conn:
        live_ratings.rate_season(conn, SeasonId(world.seasons[league]))
    world.matches[f"{league}.rated"] = match_id


def create_rated(world: World, league: str) -> MatchId:
    """A waiting rated match of member against host."""
    with world.connect() as conn:
        season = seasons.get_season(conn, SeasonId(world.seasons[league]))
        lineup = []
        for person in ("member", "host"):
            found = entries.get_entry(conn, world.entries[f"{league}.{person}"])  # type: ignore[arg-type]
            lineup.append(LineupSeat(found.id, found.submission_id, found.agent_id, found.team_id))
        return matches.create_match(conn, season=season, kind=MatchKind.RATED, lineup=lineup)


def begin_rated(world: World, league: str) -> MatchId:
    """A running rated match of member against host."""
    match_id = create_rated(world, league)
    with world.connect() as conn:
        assert lease.claim_match(conn, match_id, WORKER) is not None
    return match_id


def request_scrim(world: World) -> None:
    """Finished scrims of one game in each league, of the member against the host's open agent.

    ``league`` is the private one. ``league.sides`` and ``league.league`` show results and replays
    to both sides, and to the league.
    """
    for league in ("public", "private"):
        agent = world.agents[f"{league}.host"]
        world.client("host").put(f"/v1/agents/{agent}/scrim-policy", OPEN)
        for audience in ("asker", "sides", "league"):
            made = world.client("member").post(
                "/v1/scrims",
                {
                    "season": world.seasons[league],
                    "lineup": [world.agents[f"{league}.member"], world.agents[f"{league}.host"]],
                    "privacy": {"results": audience, "replays": audience},
                },
            )
            key = league if audience == "asker" else f"{league}.{audience}"
            world.scrims[key] = made["id"]
            with world.connect() as conn:
                (match,) = history.list_matches(conn, scrim_id=made["id"])
                finish(conn, world.blobs, match.id)
            world.matches[f"{league}.scrim" if key == league else f"{key}.scrim"] = match.id


def fork_rated(world: World, match: str) -> tuple[str, str]:
    """The member's fork of this match, and its finished game."""
    made = world.client("member").post(f"/v1/matches/{match}/forks", {"step": 1})
    with world.connect() as conn:
        (game,) = history.list_matches(conn, scrim_id=made["id"])
        finish(conn, world.blobs, game.id)
    return made["id"], game.id


def older_submission(world: World, league: str) -> str:
    """Another submission of the member's agent, in no season."""
    with world.connect() as conn:
        name = hashlib.sha256(f"older in {league}".encode()).hexdigest()
        agent = AgentId(world.agents[f"{league}.member"])
        return agents.add_submission(conn, agent, name, 10, "main.py", "", None)[0].id


def comparison_of_member(world: World, league: str) -> str:
    """A running comparison of two submissions of the member, always the same."""
    if league not in world.comparisons:
        old, new = older_submission(world, league), world.submissions[f"{league}.member"]
        made = world.client("member").post(
            f"/v1/leagues/{league}/comparisons", {"old": old, "new": new, "margin": 0.5}
        )
        world.comparisons[league] = made["id"]
    return world.comparisons[league]


def insert_machine(conn: Connection, admin: str, name: str) -> str:
    """A machine without a role in Postgres: roles belong to the server, which tests share."""
    by = users.viewer_of_user(conn, UserId(admin))
    assert by is not None
    invitation = machines.invite(conn, by)
    conn.execute("update machine_invitations set used_at = now() where id = %s", (invitation.id,))
    machine = new_id("mch")
    conn.execute(
        "insert into machines (id, name, login, secret_hash, invitation_id)"
        " values (%s, %s, %s, %s, %s)",
        (machine, name, machine.replace("mch", "peck_machine"), machine, invitation.id),
    )
    return machine


def finish(
    conn: Connection,
    blobs: Blobs,
    match_id: MatchId,
    *,
    failed_seat: int | None = None,
    worker: str = WORKER,
    chance: int = 7,
    said: Mapping[int, str] = types.MappingProxyType({}),
) -> None:
    """Claim the match and report a complete result, as a worker would.

    ``said`` is what a seat printed. It stands in its log and in the reason of its fault.
    """
    # Else another validation with a lower turn may be claimed.
    conn.execute("update matches set turn = 0 where id = %s", (match_id,))
    order = lease.claim_match(conn, match_id, worker)
    assert order is not None
    conn.commit()
    episode = simulate(
        order.game, order.configuration, order.clock, len(order.digests), chance=chance
    )
    report(conn, blobs, order, episode, failed_seat=failed_seat, worker=worker, said=said)


def report(
    conn: Connection,
    blobs: Blobs,
    order: MatchOrder,
    episode: Episode,
    *,
    failed_seat: int | None = None,
    worker: str = WORKER,
    said: Mapping[int, str] = types.MappingProxyType({}),
) -> None:
    """Report the result of a claimed match."""
    replay = blobs.put_bytes(to_bytes(episode))
    seats = []
    for seat, placement in enumerate(episode.placements):
        failed = seat == failed_seat
        reason = f"ZeroDivisionError: division by zero{said.get(seat, '')}"
        log = blobs.put_bytes(seat_log(f"secret of seat {seat}{said.get(seat, '')}", failed=failed))
        seats.append(
            SeatResult(
                seat=seat,
                placement=placement,
                reward=episode.rewards[seat],
                verdict="ERROR" if failed else "DONE",
                reason=reason if failed else None,
                failed_step=1 if failed else None,
                charged_seconds=0.5,
                max_move_seconds=0.1,
                log_digest=log.digest,
            )
        )
    done = lease.finish_match(
        conn,
        order.match_id,
        order.attempt,
        worker,
        seats,
        [EpisodeResult(len(episode.steps), replay.digest)],
        node="node",
        image_digest="",
        rules_digest="",
    )
    conn.commit()
    assert done.value == "accepted"


def simulate(
    name: str, configuration: dict[str, Any], clock: dict[str, Any], seats: int, *, chance: int = 7
) -> Episode:
    """An episode of seats that move at random."""
    game, rng = GAMES[name], random.Random(chance)
    state, first = game.reset(configuration, seats, rng)
    steps = []
    while (outcome := game.outcome(state)) is None:
        asked = game.to_move(state)
        moves = {seat: game.sample(state, seat, rng) for seat in asked}
        state, chance = game.step(state, moves, rng)
        steps.append(
            Step(
                moves=tuple(moves.get(seat) for seat in range(seats)),
                chance=chance,
                charged_seconds=tuple(0.01 if seat in moves else None for seat in range(seats)),
                bank_seconds=tuple(60.0 if seat in moves else None for seat in range(seats)),
            )
        )
    return Episode(
        game=name,
        version=game.version,
        configuration=configuration,
        clock=clock,
        seats=seats,
        chance=first,
        steps=tuple(steps),
        placements=outcome.placements,
        rewards=outcome.rewards,
        verdicts=tuple(verdict.value for verdict in outcome.verdicts),
    )


def seat_log(text: str, *, failed: bool) -> bytes:
    """A log in the referee's format."""
    move = {"step": 1, "charged_seconds": 0.01, "wall_seconds": 0.01, "stdout": text, "stderr": ""}
    record = {
        "format": "peck-log/1",
        "moves": [move],
        "verdict": "ERROR" if failed else "DONE",
        "reason": "ZeroDivisionError: division by zero" if failed else None,
        "failed_step": 1 if failed else None,
        "traceback": "Traceback ..." if failed else None,
    }
    return gzip.compress(json.dumps(record).encode(), mtime=0)
