"""A person with unusual words in everything that a person can type, and the search for them later.

After the deletion no column and no blob holds one of the words. The export before it holds them.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import Request
from psycopg import sql
from redis import Redis

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import entries
from ladder.enums import MatchKind
from ladder.ids import EntryId, SeasonId, UserId, new_id
from ladder.leagues import seasons
from ladder.matches import history, lease, matches, workers
from ladder.matches.records import LineupSeat
from ladder.people import (
    device_logins,
    expected_people,
    identities,
    mail_addresses,
    one_time_links,
    recovery,
    sessions,
    sign_in_steps,
)
from ladder.people.identity_visits import ProvedIdentity
from ladder.people.one_time_links import LinkPurpose
from ladder.people.sign_in_steps import StepPurpose
from ladder.people.user_names import look_alike_key
from ladder.privacy import erasing
from services.api_client import ApiError, Client
from services.http.attempt_limits import AttemptLimits, Limits
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.test_cli import Peck
from tests.integration.api.test_cli import fresh_peck as fresh_peck
from tests.integration.api.world import GOOD, WORKER, World, finish, insert_machine

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


def blob_folder(url: str) -> Path:
    return Path(urlsplit(url).path)


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
    made = Client(str(world.http.base_url), http=world.http).sign_up(NAME, PASSWORD)
    me = Client(str(world.http.base_url), made["token"], http=world.http)
    user = UserId(made["user"]["id"])
    me.mint_token(f"token of {WORD}", ["read"])
    me.send(
        "POST",
        "/v1/agents",
        json={"name": f"Agent {WORD}"},
        headers={"Idempotency-Key": f"key-{WORD}"},
    )
    me.create_notice_channel(f"https://1.1.1.1/{WORD}")
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
    shared = me.create_team(f"Shared {NAME}")
    code = me.invite_to_team(shared["id"], max_uses=2)["code"]
    world.client("rival").join_team(code)


def sign_in_elsewhere(world: World, user: UserId) -> None:
    with world.connect() as conn:
        sessions.create_session(conn, user, f"browser of {WORD}")
        login, secret = device_logins.start_login(conn, f"laptop of {WORD}")
        device_logins.answer_login(conn, user, login.code, confirm=True)
        device_logins.redeem_login(conn, secret)
        proved = ProvedIdentity(
            "https://sso.example.org", f"{WORD}-7", f"{WORD}@example.org", WORD, None
        )
        identities.link_identity(conn, user, proved)
        expected_people.add_people(conn, f"name,address\n{NAME},{WORD}@example.net\n", by=None)
        line = expected_people.line_of_address(conn, f"{WORD}@example.net")
        assert line is not None
        expected_people.mark_signed_up(conn, line, user)
        one_time_links.create_link(conn, LinkPurpose.SIGN_UP, address=f"{WORD}@example.com")
        mail_addresses.request_address(conn, user, f"{WORD}@example.org")
        mail_addresses.store_address(conn, user, f"{WORD}@example.com")
        recovery.create_codes(conn, user)
        recovery.create_administrator_link(conn, user, by=None, reason=f"{NAME} lost the phone")
        step = {"subject": proved.subject, "label": proved.label}
        sign_in_steps.begin_step(
            conn, StepPurpose.IDENTITY_SIGN_UP, b"state", b"browser", None, step
        )
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
    agent = me.create_agent(f"Goose {WORD}", slug=f"goose-{WORD}")
    me.change_agent(agent["id"], name=f"Gander {WORD}", open_for_scrims=True)
    season = world.seasons["public"]
    sent = me.send(
        "POST",
        f"/v1/agents/{agent['id']}/submissions",
        content=packed_agent(),
        params={"season": season, "filename": f"{WORD}.tar.gz", "message": f"by {WORD}"},
        headers={"Content-Type": "application/octet-stream"},
    ).json()
    entry = EntryId(sent["entry"]["id"])
    failing = me.upload(agent["id"], f"1 / 0  # {WORD}".encode(), season=season)
    me.submit_remote(agent["id"], f"https://{WORD}.example.org/secret")
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
        lease.fail_attempt(conn, match_id, order.attempt, WORKER, "game", f"move {WORD}")
        conn.commit()
        conn.execute("update matches set refused_until = null where id = %s", (match_id,))
        conn.commit()
        finish(conn, world.blobs, match_id, failed_seat=0, said={0: WORD})
    scrim = me.request_scrim(season, [agent["id"], world.agents["public.host"]])
    with world.connect() as conn:
        (game,) = history.list_matches(conn, scrim_id=scrim["id"])
        finish(conn, world.blobs, game.id, said={0: WORD})
    return entry, match_id


def be_named_by_a_host(world: World, me: Client, team: str) -> None:
    """The host writes the person into a roster and gives reasons that name the person."""
    host = world.client("host")
    csv = f"name,team,role,external_id\nAda {WORD},,competitor,id-{WORD}\n"
    (line,) = host.import_roster("public", csv)["items"]
    terms = me.invitation_terms(line["code"])
    me.join(line["code"], terms["terms"]["digest"])
    host.extend(world.seasons["public"], team, "2999-01-01T00:00:00Z", f"{NAME} was ill")


def be_host(me: Client) -> None:
    """A league of their own, with everything that a host types."""
    league = me.create_league(
        f"league-{WORD}", f"League {WORD}", "hungry_geese", description=f"of {WORD}"
    )
    season = me.create_season(league["id"], seats=2)
    me.invite(league["id"], role="viewer", label=f"friends of {WORD}")
    me.import_roster(
        league["id"], f"name,team,role,external_id\nBob {WORD},T {WORD},competitor,b-{WORD}\n"
    )
    me.extend(season["id"], me.me()["teams"][0]["id"], "2999-01-01T00:00:00Z", f"for {WORD}")


def ask_and_be_blocked(world: World, me: Client, user: UserId) -> None:
    """Asks to join a league and answers requests; hosts and administrators block the person."""
    host, rival = world.client("host"), world.client("rival")
    for league, owner, other in (("gated", host, me), (f"league-{WORD}", me, rival)):
        if owner is host:
            owner.create_league(league, "Gated", "hungry_geese", visibility="invitation")
        owner.patch(f"/v1/leagues/{league}", {"takes_requests": True})
        terms = other.league_to_join(league)["terms"]["digest"]
        asked = other.request_to_join(league, terms, f"I am {WORD}" if other is me else "")
        owner.answer_requests(league, "decline", requests=[asked["id"]], words=f"no, {NAME}")
    host.block_from_league("gated", user, f"{NAME} shouts")
    me.block_from_league(f"league-{WORD}", world.users["rival"], f"no friend of {WORD}")
    with world.connect() as conn:
        conn.execute(
            "insert into user_blocks (user_id, reason, by_user) values (%s, %s, %s)",
            (world.users["commentator"], f"no friend of {WORD}", user),
        )


@pytest.fixture(scope="module")
def person(world: World) -> Person:
    """The person of these tests; the last of them deletes the account."""
    with world.connect() as conn:
        workers.register_worker(
            conn, workers.WorkerHello(WORKER, "here", "node", matches.QUEUES, 4, ("numpy",))
        )
    return type_everywhere(world)


@pytest.fixture
def watching(world: World) -> Iterator[Connection]:
    """A connection in autocommit."""
    with db.connect(world.database_url, autocommit=True) as conn:
        yield conn


def board(world: World) -> httpx.Response:
    return world.http.get(f"/v1/seasons/{world.seasons['public']}/leaderboard")


def test_export_holds_everything_of_the_person_and_no_secret(
    world: World, person: Person, tmp_path: Path
) -> None:
    path = tmp_path / "export.zip"
    person.client.export_account(path, lambda done: None)
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as packed:
        assert packed.testzip() is None
        files = {name: packed.read(name) for name in packed.namelist()}
    tables: dict[str, Any] = {
        name.removeprefix("data/").removesuffix(".json"): json.loads(content)
        for name, content in files.items()
        if name.startswith("data/")
    }
    assert tables["users"][0]["name"] == NAME
    assert {row["label"] for row in tables["tokens"]} >= {f"token of {WORD}"}
    assert tables["roster"][0]["external_id"] == f"id-{WORD}"
    assert tables["leagues"][0]["description"] == f"of {WORD}"
    assert all("hash" not in row for rows in tables.values() for row in rows)
    assert all("seed" not in row for row in tables.get("matches", []))
    bundles = [content for name, content in files.items() if name.startswith("bundles/")]
    assert any(WORD.encode() in piece for bundle in bundles for piece in unpacked(bundle))
    assert len(bundles) == 3
    own = [name for name in files if name.startswith("logs/")]
    assert any(person.match in name and name.endswith("-0.json.gz") for name in own)
    assert not any(person.match in name and name.endswith("-1.json.gz") for name in own)
    assert f"replays/{person.match}-0.json.gz" in files
    assert json.loads(files["left-out.json"]) == []


def test_account_is_deleted_only_with_name_and_password(world: World, person: Person) -> None:
    for name, password, field in (("Somebody", PASSWORD, "name"), (NAME, "wrong", "password")):
        with pytest.raises(ApiError) as refused:
            person.client.delete_account(name, password)
        assert refused.value.status == 422
        assert refused.value.problem["errors"][0]["where"] == f"body.{field}"
    assert person.client.me()["user"]["name"] == NAME


def test_token_of_few_scopes_neither_exports_nor_deletes(world: World, person: Person) -> None:
    text = person.client.mint_token("reader", ["read"])["token"]
    reader = Client(str(world.http.base_url), text, http=world.http)
    for method, path, body in (
        ("GET", "/v1/users/me/export", None),
        ("POST", "/v1/users/me/deletion", {"name": NAME, "password": PASSWORD}),
    ):
        with pytest.raises(ApiError) as refused:
            reader.send(method, path, json=body)
        assert refused.value.status == 403


def test_no_word_of_a_deleted_person_stays(
    world: World, person: Person, watching: Connection, blobs_url: str
) -> None:
    conn = watching
    before = places(conn, blob_folder(blobs_url))
    assert {
        *("users.name", "users.look_alike", "teams.name", "teams.slug", "tokens.label"),
        *("sessions.device", "device_logins.device", "idempotency_keys.key"),
        *("idempotency_keys.body", "agents.name", "agents.slug", "submissions.filename"),
        *("submissions.message", "submissions.url", "entries.reason", "seats.reason"),
        *("attempts.detail", "roster.name", "roster.external_id", "roster.team"),
        *("invitations.label", "audits.reason", "leagues.slug", "leagues.title"),
        *("leagues.description", "notice_channels.address"),
        *("teams.look_alike", "team_audits.details", "machines.name"),
    } <= before
    assert sum(place.startswith("blob") for place in before) >= 6
    tag = board(world).headers["ETag"]

    person.client.delete_account(NAME, PASSWORD)
    assert {place.split(".")[0] for place in places(conn, blob_folder(blobs_url))} <= {
        *("seats", "attempts"),  # the scheduler erases these
        *(place for place in before if place.startswith("blob")),
    }
    conn.execute("update erasures set requested_at = now() - interval '1 minute'")
    assert erasing.finish_erasures(conn, world.blobs) == [person.user]
    assert places(conn, blob_folder(blobs_url)) == set()

    found = world.client("host").match(person.match)
    assert found["seats"][0]["team_name"].startswith("Deleted team")
    assert [seat["placement"] for seat in found["seats"]] != [None, None]
    assert world.client("host").replay(person.match)["steps"]
    again = world.http.get(
        f"/v1/seasons/{person.season}/leaderboard", headers={"If-None-Match": tag}
    )
    assert again.status_code == 200
    with pytest.raises(ApiError) as refused:
        person.client.me()
    assert refused.value.status == 401


def test_peck_deletes_an_account(fresh_peck: Peck, fresh_world: World, tmp_path: Path) -> None:
    exported = fresh_peck("account", "export", "mine.zip")
    assert exported.returncode == 0, exported.stderr
    with zipfile.ZipFile(tmp_path / "mine.zip") as packed:
        assert json.loads(packed.read("data/users.json"))[0]["name"] == "member"
    assert "name another file" in fresh_peck("account", "export", "mine.zip").stderr
    wrong = fresh_peck("account", "delete", "--name", "somebody", PECK_PASSWORD="x")
    assert "type your name" in wrong.stderr
    done = fresh_peck("account", "delete", "--name", "member", PECK_PASSWORD="x")
    assert "goes, with its agents, bundles and logs: team Team member" in done.stdout
    assert "Results stay under Deleted user" in done.stdout
    assert fresh_peck("whoami").returncode == 1


def test_counters_of_attempts_name_nobody(redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
        limits = AttemptLimits(redis_url)
        request = Request({"type": "http", "client": ("192.0.2.7", 1)})
        limits.count(request, Limits.PASSWORD, NAME)
        keys = b" ".join(redis.keys())
        assert b"192.0.2.7" in keys
        assert WORD.encode() not in keys.lower()
