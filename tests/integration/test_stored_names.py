"""Names that an earlier version stored: an update gives them their present form and keys."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import agent_lookup
from ladder.enums import LeagueRole
from ladder.ids import UserId
from ladder.leagues.rosters import RosterPerson, parse_roster
from ladder.people import passwords, users
from ladder.people.records import Viewer
from services import setup
from tests import typed
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.test_rosters import changes, join, take
from tests.waiting import wait_until

ROOT = Viewer(user_id=None, is_admin=True)


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with db.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def contest(conn: Connection) -> Contest:
    return make_contest(conn)


@pytest.fixture
def update(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Runs the set-up, as each update of a site does."""
    monkeypatch.setenv("PECK_DATABASE_URL", database_url)
    return lambda: setup.main([])


def store_user(conn: Connection, name: str, key: str | None = None) -> UserId:
    """A person whom an earlier version stored, with a password."""
    user = users.create_user(conn, f"person {len(name)} {key}").id
    conn.execute("update users set name = %s, look_alike = %s where id = %s", (name, key, user))
    passwords.store_hash(conn, user, f"hash of {user}")
    return user


def name_of(conn: Connection, user: UserId) -> str:
    return users.get_user(conn, user).name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("E\u0301quipe", id="decomposed"),
        pytest.param("\u0386\u03c1\u03b7\u03c2", id="final sigma"),
        pytest.param("Wei\u00df", id="sharp s"),
        pytest.param("\uff21\uff22", id="full width"),
        pytest.param("Two  Words", id="two spaces"),
    ],
)
def test_roster_team_gets_no_twin_after_an_update(
    contest: Contest, update: Callable[[], None], name: str
) -> None:
    expected = [RosterPerson(each, each, name, LeagueRole.COMPETITOR) for each in ("ann", "bob")]
    ann, bob = (users.create_user(contest.conn, each.name).id for each in expected)
    lines = take(contest, *expected)
    join(contest, ann, lines[0].code)
    contest.conn.execute(
        "update roster_teams set name_digest = sha256(convert_to(lower(%s), 'UTF8'))", (name,)
    )
    for _ in range(2):
        update()
    join(contest, bob, lines[1].code)
    assert users.teams_of(contest.conn, bob) == users.teams_of(contest.conn, ann)


def test_file_imported_again_after_an_update_changes_no_line(
    contest: Contest, update: Callable[[], None]
) -> None:
    decomposed, file = "E\u0301ric  A", "name,team,role,external_id\n{0},{0},competitor,{0}\n"
    take(contest, RosterPerson(decomposed, decomposed, decomposed, LeagueRole.COMPETITOR))
    update()
    again = take(contest, *parse_roster(file.format(decomposed)))
    assert changes(again) == [("same", False)]


def test_second_roster_line_of_one_id_keeps_its_id(
    contest: Contest, update: Callable[[], None]
) -> None:
    for external_id in ("\u00e9", "e\u0301"):
        take(contest, RosterPerson(external_id, "Zoe\u0301", "", LeagueRole.COMPETITOR))
    update()
    lines = contest.conn.execute("select external_id, name from roster").fetchall()
    assert sorted(lines) == [("e\u0301", "Zo\u00e9"), ("\u00e9", "Zo\u00e9")]


def test_name_gets_its_form_and_key_by_an_update(
    conn: Connection, update: Callable[[], None]
) -> None:
    user = store_user(conn, "b0ss e\u0301", "b0sse")
    update()
    assert name_of(conn, user) == "b0ss \u00e9"
    assert conn.execute("select look_alike from users").fetchone() == ("bosse",)


@pytest.mark.parametrize("key", ["b0sse", None])
def test_person_with_a_taken_key_signs_in_after_an_update(
    conn: Connection, update: Callable[[], None], key: str | None
) -> None:
    store_user(conn, "boss e", "bosse")
    user = store_user(conn, "b0ss e\u0301", key)
    update()
    for name in ("b0ss e\u0301", "b0ss \u00e9"):
        assert passwords.stored_hash(conn, name) == (user, f"hash of {user}")
    assert conn.execute("select look_alike from users where id = %s", (user,)).fetchone() == (key,)


def test_second_of_two_people_with_one_name_gets_a_number(
    conn: Connection, update: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = store_user(conn, "\u00c9ric", "eric"), store_user(conn, "E\u0301ric")
    for _ in range(2):
        update()
    assert [name_of(conn, each) for each in (first, second)] == ["\u00c9ric", "\u00c9ric 2"]
    assert passwords.stored_hash(conn, "\u00c9ric 2") == (second, f"hash of {second}")
    (line,) = (each for each in capfd.readouterr().err.splitlines() if "name_numbered" in each)
    assert second in line


def test_agent_is_found_by_its_name_after_an_update(
    contest: Contest, update: Callable[[], None]
) -> None:
    agent = contest.agent()
    contest.conn.execute("update agents set name = %s where id = %s", ("Cafe\u0301", agent))
    update()
    for name in ("Cafe\u0301", "Caf\u00e9"):
        assert agent_lookup.find_visible_agent(contest.conn, ROOT, name).id == agent


def test_requests_go_on_while_set_up_waits_for_a_row(
    database_url: str, conn: Connection, update: Callable[[], None]
) -> None:
    first, second = (users.create_team(conn, name, name, None).id for name in ("rn1", "rn2"))
    conn.execute("update teams set look_alike = null")
    setting_up = threading.Thread(target=update)
    with db.connect(database_url) as holder:
        holder.execute("select 1 from teams where id = %s for update", (second,))
        setting_up.start()
        waiting = (
            "select 1 from pg_stat_activity where wait_event_type = 'Lock'"
            " and datname = current_database() and query like 'update%teams%'"
        )
        wait_until(lambda: conn.execute(waiting).fetchone() == (1,), "set-up waits for the row")
        conn.execute("select 1 from teams where id = %s for key share nowait", (first,))
        holder.commit()
    setting_up.join(60)
    keys = conn.execute("select look_alike from teams order by id").fetchall()
    assert keys == [("ml",), ("m2",)]


def test_peck_migrate_updates_names_too(
    database_url: str, conn: Connection, tmp_path: Path
) -> None:
    user = store_user(conn, "E\u0301ric")
    variables = {"HOME": str(tmp_path), "PECK_DATABASE_URL": database_url}
    done = typed.peck(tmp_path, variables, "migrate")
    assert (done.stdout, done.stderr) == ("nothing to apply\n", "")
    assert name_of(conn, user) == "\u00c9ric"
