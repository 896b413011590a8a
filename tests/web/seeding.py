"""A contest for the pages: teams, agents, validated entries, rated matches and a scrim."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from games import GAMES
from ladder import ids
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.entries.records import Entry
from ladder.enums import MatchKind
from ladder.ids import (
    AgentId,
    EntryId,
    MatchId,
    ScrimBatchId,
    ScrimId,
    ScrimRequestId,
    TournamentId,
)
from ladder.leagues import leagues, seasons
from ladder.leagues.records import League, Season
from ladder.machines import machines
from ladder.matches import history, matches
from ladder.matches.records import LineupSeat
from ladder.people import tokens, users
from ladder.people.records import Team, User
from ladder.ratings import live_ratings
from ladder.ratings.fitting import OfficialFitter
from ladder.scrims import batches, policies, scrims
from ladder.scrims import requests as scrim_requests
from ladder.scrims.batches import BatchKind, NewBatch
from ladder.scrims.policies import ScrimPolicy, Whom
from ladder.scrims.requests import NewScrimRequest
from ladder.scrims.scrims import Asker
from ladder.tournaments import entrants, tournaments
from ladder.tournaments.records import NewTournament
from tests.web import other_games
from tests.web.games_played import Agent, crashing, play_queued, reference

CLOCK = {"act_seconds": 1.0, "bank_seconds": 60.0, "load": "first_move", "load_seconds": 30.0}
SCRIPT_NAME = "<script>alert('name')</script>"
ROSTER = (
    ("Tidewater", "Long Neck", "survivor"),
    ("Quiet Pond", "Careful", "survivor"),
    ("Down & Out", "Breadwinner", "greedy"),
    ("Grey Lag", "Honk 9000", "greedy"),
    ("Team Reed", "Lattice", "greedy"),
    ("Solo: Mara", "Drifter", "random_legal"),
    ("Migrators", "South by Winter", "greedy"),
    ("Flock of 2", "Ganter", "survivor"),
    ("Night Feeders", "Crumb Seeker", "greedy"),
    ("Algebra Geese", SCRIPT_NAME, "greedy"),
    ("Puddle Lab", "Torus Tom", "random_legal"),
)


LONG_GAME_SEED = bytes(16)
"""Seed of a match in which the crashing agent lives until it raises."""


@dataclass
class Contest:
    """The seeded objects that tests refer to."""

    league: League
    season: Season
    private: League
    owner: User
    owner_token: str
    stranger_token: str
    host_token: str
    admin_token: str
    players: dict[EntryId, Callable[[], Agent]] = field(default_factory=dict)
    active: list[Entry] = field(default_factory=list)
    own: list[Entry] = field(default_factory=list)
    pending: Entry | None = None
    rejected: Entry | None = None
    rated: list[MatchId] = field(default_factory=list)
    failed_match: MatchId | None = None
    private_match: MatchId | None = None
    scrim: ScrimId | None = None
    tournament: TournamentId | None = None
    batch: ScrimBatchId | None = None
    request: ScrimRequestId | None = None
    other_games: dict[str, MatchId] = field(default_factory=dict)
    """A match of each game beside Hungry Geese."""


def seed(conn: Connection, blobs: Blobs, *, rated: int, scrim_games: int = 6) -> Contest:
    """The contest after this many rated matches; commits as it goes."""
    host = users.create_user(conn, "Harriet Host")
    add_machine(conn, host, "pond.example.org")
    _, host_token = tokens.mint_token(conn, host.id, "laptop", ["read", "leagues:write"])
    owner = users.create_user(conn, "Odo Owner")
    _, owner_token = tokens.mint_token(conn, owner.id, "laptop", ["read", "agents:write"])
    tokens.mint_token(conn, owner.id, "build server", ["agents:write", "scrims:write"])
    stranger = users.create_user(conn, "Sten Stranger")
    users.create_team(conn, "Passers-by", "passers-by", stranger.id)
    _, stranger_token = tokens.mint_token(conn, stranger.id, "phone", ["read"])
    league, season = make_league(conn, host, "hungry-geese", "Hungry Geese", "public")
    private, _ = make_league(conn, host, "club", "Club of Ornithologists", "private")
    admin = users.create_user(conn, "Adele Admin", is_admin=True)
    _, admin_token = tokens.mint_token(conn, admin.id, "laptop", tokens.SCOPES)
    contest = Contest(
        *(league, season, private, owner, owner_token, stranger_token, host_token, admin_token)
    )

    mine = users.create_team(conn, "Odo and Friends", "odo", owner.id)
    for team_name, agent_name, kind in ROSTER:
        team = users.create_team(conn, team_name, slug(team_name), None)
        add(conn, blobs, contest, team, agent_name, kind)
    add(
        conn,
        blobs,
        contest,
        team_of(conn, "Pecking Order"),
        "Anchor: greedy",
        "greedy",
        anchor=True,
    )
    first = add(conn, blobs, contest, mine, "Gosling", "greedy")
    contest.own.append(first)
    contest.own.append(add(conn, blobs, contest, mine, "Gosling", "survivor", again=first.agent_id))
    policies.set_policy(
        conn,
        agents.get_agent(conn, contest.active[0].agent_id),
        ScrimPolicy(whom=Whom.ANYONE, accepts_automatically=True),
    )
    conn.commit()

    contest.rejected = add(
        conn, blobs, contest, mine, "Gosling", "greedy", again=first.agent_id, crash=4
    )
    crasher = add(conn, blobs, contest, mine, "Brittle", "survivor")
    contest.own.append(crasher)
    contest.players[crasher.id] = lambda: crashing(30, "survivor")
    contest.failed_match = play_rated(
        conn, blobs, contest, [crasher, *contest.active[:3]], LONG_GAME_SEED
    )
    fitter, draw = OfficialFitter(), random.Random(7)
    for games in (rated // 2, rated - rated // 2):
        play_many(conn, blobs, contest, games, draw)
        fitter.refit(conn, contest.season.id)
        conn.commit()
    play_scrim(conn, blobs, contest, mine, scrim_games)
    request_scrims(conn, contest, mine, host)
    contest.tournament = open_tournament(conn, contest)
    contest.other_games = other_games.play_all(conn, blobs, host)
    contest.pending = enter(conn, contest, first.agent_id, b"waits", "tries a longer look-ahead")
    conn.commit()
    return contest


def open_tournament(conn: Connection, contest: Contest) -> TournamentId:
    """A tournament of heats whose registration is open, with two entrants."""
    heats = {"format": "heats", "rounds": 2, "seats": contest.season.seats}
    wanted = NewTournament(title="Goose Cup", plan={"stages": [heats]})
    made = tournaments.create_tournament(conn, contest.league, contest.season, wanted, None).id
    for entry in contest.active[:2]:
        entrants.enter_agent(conn, made, agents.get_agent(conn, entry.agent_id), None)
    return made


def add_machine(conn: Connection, owner: User, name: str) -> None:
    """A machine that joined, without a role in Postgres: roles belong to the server."""
    by = users.viewer_of_user(conn, owner.id)
    assert by is not None
    invitation = machines.invite(conn, by)
    machine = ids.new_id("mch")
    conn.execute(
        "insert into machines (id, name, login, secret_hash, invitation_id, tier, owner_id)"
        " select %s, %s, %s, %s, id, tier, owner_id from machine_invitations where id = %s",
        (machine, name, machine.replace("mch", "peck_machine"), machine, invitation.id),
    )


def make_league(
    conn: Connection, host: User, name: str, title: str, visibility: str
) -> tuple[League, Season]:
    """A league of Hungry Geese with an open season."""
    configuration = GAMES["hungry_geese"].configure({})
    league = leagues.create_league(
        conn,
        slug=name,
        title=title,
        game="hungry_geese",
        visibility=visibility,
        replay_visibility="public",
        created_by=host.id,
        description="Four geese on a torus. Eat, grow, and be the last one on the pond.",
    )
    season = seasons.create_season(
        conn,
        league.id,
        seasons.SeasonColumns(
            configuration=configuration,
            configuration_digest=hashlib.sha256(json.dumps(configuration).encode()).hexdigest(),
            clock=CLOCK,
            seats=4,
            daily_limit=20,
        ),
    )
    conn.commit()
    return league, season


def add(
    conn: Connection,
    blobs: Blobs,
    contest: Contest,
    team: Team,
    name: str,
    kind: str,
    *,
    anchor: bool = False,
    again: AgentId | None = None,
    crash: int | None = None,
) -> Entry:
    """An agent (or one more submission of it) that has been through its validation match."""
    agent_id = again or agents.create_agent(conn, team.id, name, slug(name)).id
    content = f"# {team.name} {name} {kind} {crash}".encode()
    blobs.put_bytes(content)
    entry = enter(conn, contest, agent_id, content, f"plays like {kind}", anchor=anchor)
    conn.commit()

    def make() -> Agent:
        return crashing(crash, kind) if crash else reference(kind)

    contest.players[entry.id] = make
    assert entry.validation_match_id is not None
    if crash:  # with another seed a goose may die before its agent raises
        conn.execute(
            "update matches set seed = %s where id = %s",
            (LONG_GAME_SEED, entry.validation_match_id),
        )
    play_queued(conn, blobs, entry.validation_match_id, [make() for _ in range(4)])
    entry = entries.get_entry(conn, entry.id)
    if entry.state == "active":
        contest.active.append(entry)
    return entry


def enter(
    conn: Connection,
    contest: Contest,
    agent_id: AgentId,
    content: bytes,
    message: str,
    *,
    anchor: bool = False,
) -> Entry:
    """A submission with these bytes, entered in the season."""
    digest = hashlib.sha256(content).hexdigest()
    submission, _ = agents.add_submission(
        conn, agent_id, digest, len(content), "main.py", message, None
    )
    return entries.enter_season(conn, contest.season.id, submission.id, is_anchor=anchor)[0]


def play_rated(
    conn: Connection,
    blobs: Blobs,
    contest: Contest,
    lineup: list[Entry],
    seed: bytes | None = None,
) -> MatchId:
    """Play and rate one match."""
    match_id = matches.create_match(
        conn,
        season=contest.season,
        kind=MatchKind.RATED,
        lineup=[LineupSeat(e.id, e.submission_id, e.agent_id, e.team_id) for e in lineup],
        seed=seed,
    )
    conn.commit()
    play_queued(conn, blobs, match_id, [contest.players[entry.id]() for entry in lineup])
    live_ratings.rate_season(conn, contest.season.id)
    conn.commit()
    contest.rated.append(match_id)
    return match_id


def play_many(
    conn: Connection, blobs: Blobs, contest: Contest, count: int, draw: random.Random
) -> None:
    """Play rated matches of random lineups, one entry of a team in each."""
    for _ in range(count):
        lineup: list[Entry] = []
        for entry in draw.sample(contest.active, len(contest.active)):
            if entry.team_id not in {one.team_id for one in lineup} and len(lineup) < 4:
                lineup.append(entry)
        play_rated(conn, blobs, contest, lineup)


def play_scrim(conn: Connection, blobs: Blobs, contest: Contest, team: Team, games: int) -> None:
    """Play a scrim of the owner's team, and leave one or two games unplayed."""
    lineup = [contest.own[0], contest.own[1], contest.active[0], contest.own[0]]
    scrim = scrims.request_scrim(
        conn,
        Asker(contest.season, team.id, contest.owner.id),
        [entry.submission_id for entry in lineup],
        games=games,
    )
    conn.commit()
    contest.scrim = scrim.id
    waiting = history.list_matches(conn, scrim_id=scrim.id, limit=games)
    for match in waiting[1:]:
        players = [contest.players[seat.entry_id]() for seat in match.seats if seat.entry_id]
        play_queued(conn, blobs, match.id, players)


def request_scrims(conn: Connection, contest: Contest, team: Team, host: User) -> None:
    """A batch of the owner's team, and another team's request to it. Neither is played."""
    gosling, rival = contest.own[1], contest.active[1]
    made = batches.start_batch(
        conn,
        Asker(contest.season, team.id, contest.owner.id),
        NewBatch(
            season=contest.season.id,
            kind=BatchKind.GAUNTLET,
            agents=[gosling.submission_id, contest.active[0].agent_id],
            games=2,
        ),
    )
    asked = scrim_requests.ask_for_scrim(
        conn,
        Asker(contest.season, rival.team_id, host.id),
        NewScrimRequest(
            season=contest.season.id,
            lineup=[rival.agent_id, *[gosling.agent_id] * 3],
            games=8,
            words="Shall we play before the weekend?",
        ),
    )
    contest.batch, contest.request = made.id, asked.id


def team_of(conn: Connection, name: str) -> Team:
    return users.create_team(conn, name, slug(name), None)


def slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())
