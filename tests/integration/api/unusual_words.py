"""A person who types unusual words wherever a person can, and the search for them."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from psycopg import sql

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.enums import MatchKind
from ladder.ids import EntryId, SeasonId, UserId, new_id
from ladder.leagues import seasons
from ladder.matches import history, lease, matches
from ladder.matches.records import AttemptFault, LineupSeat
from ladder.people import identities, one_time_links, passkeys, recovery, sessions, tokens
from ladder.people.identities import ProvedIdentity
from ladder.people.one_time_links import LinkPurpose
from ladder.people.passkeys import StepPurpose
from ladder.people.users import look_alike_key
from services.api_client import Client
from tests.integration.api.world import GOOD, OPEN, WORKER, World, finish, insert_machine

WORD = "zqxwords"
NAME = "Zqxwords Ada"
PASSWORD = "four geese on a torus"
COLUMNS = (
    "select c.table_name, c.column_name, c.data_type from information_schema.columns c"
    " join pg_class p on p.oid = format('%I.%I', c.table_schema, c.table_name)::regclass"
    " where c.table_schema = 'public' and p.relkind in ('r', 'p') and not p.relispartition"
)


@dataclass
class Person:
    """The person, and what the test asks for later."""

    client: Client
    user: UserId
    entry: EntryId
    season: str
    match: str


def unpacked(content: bytes) -> Iterator[bytes]:
    """The bytes, and the names and bytes of what they pack: gzip, tar, zip, in each other."""
    yield content
    inner: list[bytes] = []
    if content[:2] == b"\x1f\x8b":
        inner.append(gzip.decompress(content))
    elif content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            for name in packed.namelist():
                inner += [name.encode(), packed.read(name)]
    elif content[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            for member in tar:
                file = tar.extractfile(member)
                inner += [member.name.encode(), file.read() if file else b""]
    for each in inner:
        yield from unpacked(each)


def places(conn: Connection, blobs: Path) -> set[str]:
    """The columns and blobs in which one of the person's words stands."""
    found = set()
    words = {WORD, look_alike_key(WORD)}
    for table, column, kind in conn.execute(COLUMNS).fetchall():
        shape = "encode(x.{}, 'escape')" if kind == "bytea" else "x.{}::text"
        query = sql.SQL(f"select 1 from {{}} x where lower({shape}) ~ %s limit 1").format(
            sql.Identifier(table), sql.Identifier(column)
        )
        if conn.execute(query, ("|".join(words),)).fetchone() is not None:
            found.add(f"{table}.{column}")
    for path in blobs.rglob("*"):
        pieces = unpacked(path.read_bytes()) if path.is_file() else ()
        if any(WORD.encode() in piece.lower() for piece in pieces):
            found.add(f"blob {path.name}")
    return found


def packed_agent() -> bytes:
    """A bundle whose file name and content hold the word."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in (("main.py", GOOD), (f"{WORD}.txt", WORD.encode())):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def type_everywhere(world: World) -> Person:
    """Signs up and types the word wherever a person can, plays, and hosts."""
    made = Client(str(world.http.base_url), http=world.http).post(
        "/v1/sign-up", {"name": NAME, "password": PASSWORD}
    )
    me = Client(str(world.http.base_url), made["token"], http=world.http)
    user = UserId(made["user"]["id"])
    me.post("/v1/users/me/tokens", {"label": f"token of {WORD}", "scopes": ["read"]})
    me.send(
        "POST",
        "/v1/agents",
        json={"name": f"Agent {WORD}"},
        headers={"Idempotency-Key": f"key-{WORD}"},
    )
    me.post("/v1/me/notices/channels", {"address": f"https://1.1.1.1/{WORD}"})
    sign_in_elsewhere(world, user)
    entry, match = play(world, me)
    be_named_by_a_host(world, me, made["team"]["id"])
    be_host(me)
    ask_and_be_blocked(world, me, user)
    own_teams(world, me, made["team"]["id"])
    let_a_machine_join(world, user)
    return Person(me, user, entry, world.seasons["public"], match)


def own_teams(world: World, me: Client, team: str) -> None:
    """Renames the own team, and leaves another one to the rival."""
    me.patch(f"/v1/teams/{team}", {"name": f"Flock {WORD}"})
    shared = me.post("/v1/teams", {"name": f"Shared {NAME}"})
    code = me.post(f"/v1/teams/{shared['id']}/invitations", {"max_uses": 2})["code"]
    world.client("rival").post("/v1/join-team", {"code": code})


def sign_in_elsewhere(world: World, user: UserId) -> None:
    with world.connect() as conn:
        sessions.create_session(conn, user, f"browser of {WORD}")
        login, secret = tokens.start_login(conn, f"laptop of {WORD}")
        tokens.answer_login(conn, user, login.code, confirm=True)
        tokens.redeem_login(conn, secret)
        proved = ProvedIdentity(
            "https://sso.example.org", f"{WORD}-7", f"{WORD}@example.org", WORD, None
        )
        identities.link_identity(conn, user, proved)
        one_time_links.create_link(conn, LinkPurpose.SIGN_UP, address=f"{WORD}@example.com")
        recovery.request_address(conn, user, f"{WORD}@example.org")
        recovery.store_address(conn, user, f"{WORD}@example.com")
        recovery.create_codes(conn, user)
        recovery.create_administrator_link(conn, user, by=None, reason=f"{NAME} lost the phone")
        step = {"subject": proved.subject, "label": proved.label}
        passkeys.begin_step(conn, StepPurpose.IDENTITY_SIGN_UP, b"state", b"browser", None, step)
        conn.execute(
            "insert into passkeys (id, user_id, credential_id, public_key, sign_count, name)"
            " values (%s, %s, %s, '', 0, %s)",
            (new_id("psk"), user, WORD.encode(), f"phone of {WORD}"),
        )


def let_a_machine_join(world: World, user: UserId) -> None:
    """As a former administrator did."""
    with world.connect() as conn:
        insert_machine(conn, user, f"laptop-of-{WORD}")


def play(world: World, me: Client) -> tuple[EntryId, str]:
    """Uploads bundles, fails one validation, plays a match whose first attempt failed, scrims."""
    agent = me.post("/v1/agents", {"name": f"Goose {WORD}", "slug": f"goose-{WORD}"})
    me.patch(f"/v1/agents/{agent['id']}", {"name": f"Gander {WORD}"})
    me.put(f"/v1/agents/{agent['id']}/scrim-policy", OPEN)
    season = world.seasons["public"]
    sent = me.send(
        "POST",
        f"/v1/agents/{agent['id']}/submissions",
        content=packed_agent(),
        params={"season": season, "filename": f"{WORD}.tar.gz", "message": f"by {WORD}"},
        headers={"Content-Type": "application/octet-stream"},
    ).json()
    entry = EntryId(sent["entry"]["id"])
    failing = me.upload(
        f"/v1/agents/{agent['id']}/submissions", f"1 / 0  # {WORD}".encode(), season=season
    )
    me.post(f"/v1/agents/{agent['id']}/remotes", {"url": f"https://{WORD}.example.org/secret"})
    for made, failed in ((sent, None), (failing, 1)):
        with world.connect() as conn:
            match_id = entries.get_entry(conn, made["entry"]["id"]).validation_match_id
            assert match_id is not None
            finish(conn, world.blobs, match_id, failed_seat=failed, said={0: WORD, 1: WORD})
    lineup = []
    with world.connect() as conn:
        for one in (entry, world.entries["public.host"]):
            found = entries.get_entry(conn, EntryId(one))
            lineup.append(LineupSeat(found.id, found.submission_id, found.agent_id, found.team_id))
        match_id = matches.create_match(
            conn,
            season=seasons.get_season(conn, SeasonId(season)),
            kind=MatchKind.RATED,
            lineup=lineup,
        )
    with world.connect() as conn:
        order = lease.claim_match(conn, match_id, WORKER)
        assert order is not None
        conn.commit()
        lease.fail_attempt(
            conn, match_id, order.attempt, WORKER, AttemptFault("game", f"move {WORD}")
        )
        conn.commit()
        conn.execute("update matches set refused_until = null where id = %s", (match_id,))
        conn.commit()
        finish(conn, world.blobs, match_id, failed_seat=0, said={0: WORD})
    scrim = me.post(
        "/v1/scrims", {"season": season, "lineup": [agent["id"], world.agents["public.host"]]}
    )
    with world.connect() as conn:
        (game,) = history.list_matches(conn, scrim_id=scrim["id"])
        finish(conn, world.blobs, game.id, said={0: WORD})
    return entry, match_id


def be_named_by_a_host(world: World, me: Client, team: str) -> None:
    """The host writes the person into a roster and gives reasons that name the person."""
    host = world.client("host")
    csv = f"name,team,role,external_id\nAda {WORD},,competitor,id-{WORD}\n"
    (line,) = host.post("/v1/leagues/public/roster", {"csv": csv})["items"]
    terms = me.post("/v1/join/terms", {"code": line["code"]})
    me.post("/v1/join", {"code": line["code"], "terms": terms["terms"]["digest"]})
    host.put(
        f"/v1/seasons/{world.seasons['public']}/extensions/{team}",
        {"closes_at": "2999-01-01T00:00:00Z", "reason": f"{NAME} was ill"},
    )


def be_host(me: Client) -> None:
    """A league of their own, with everything that a host types."""
    league = me.post(
        "/v1/leagues",
        {
            "slug": f"league-{WORD}",
            "title": f"League {WORD}",
            "game": "hungry_geese",
            "description": f"of {WORD}",
        },
    )
    season = me.post(f"/v1/leagues/{league['id']}/seasons", {"seats": 2})
    me.post(
        f"/v1/leagues/{league['id']}/invitations", {"role": "viewer", "label": f"friends of {WORD}"}
    )
    me.post(
        f"/v1/leagues/{league['id']}/roster",
        {"csv": f"name,team,role,external_id\nBob {WORD},T {WORD},competitor,b-{WORD}\n"},
    )
    me.put(
        f"/v1/seasons/{season['id']}/extensions/{me.get('/v1/me')['teams'][0]['id']}",
        {"closes_at": "2999-01-01T00:00:00Z", "reason": f"for {WORD}"},
    )


def ask_and_be_blocked(world: World, me: Client, user: UserId) -> None:
    """Asks to join a league and answers requests; hosts and administrators block the person."""
    host, rival = world.client("host"), world.client("rival")
    for league, owner, other in (("gated", host, me), (f"league-{WORD}", me, rival)):
        if owner is host:
            owner.post(
                "/v1/leagues",
                {
                    "slug": league,
                    "title": "Gated",
                    "game": "hungry_geese",
                    "visibility": "invitation",
                },
            )
        owner.patch(f"/v1/leagues/{league}", {"takes_requests": True})
        terms = other.get(f"/v1/leagues/{league}/requests/terms")["terms"]["digest"]
        asked = other.post(
            f"/v1/leagues/{league}/requests",
            {"terms": terms, "words": f"I am {WORD}" if other is me else ""},
        )
        owner.post(
            f"/v1/leagues/{league}/requests/answers",
            {"act": "decline", "requests": [asked["id"]], "words": f"no, {NAME}"},
        )["items"]
    host.put(f"/v1/leagues/gated/blocks/{user}", {"reason": f"{NAME} shouts"})
    me.put(
        f"/v1/leagues/{f'league-{WORD}'}/blocks/{world.users['rival']}",
        {"reason": f"no friend of {WORD}"},
    )
    with world.connect() as conn:
        conn.execute(
            "insert into user_blocks (user_id, reason, by_user) values (%s, %s, %s)",
            (world.users["commentator"], f"no friend of {WORD}", user),
        )
