"""The one-shot set-up of a deployment."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from ladder.database import db
from ladder.people import users
from ladder.settings import Settings
from services.run import demo, setup
from services.run.passwords import write_private
from tests import typed

CHECKOUT = Path(__file__).resolve().parents[2]


def test_a_failed_write_leaves_the_old_secret(tmp_path: Path) -> None:
    path = tmp_path / "password"
    write_private(path, "first")
    with pytest.raises(TypeError):
        write_private(path, 2)  # type: ignore[arg-type]
    assert path.read_text() == "first", "a database is not locked out by a killed set-up"
    write_private(path, "second")
    assert path.read_text() == "second"
    assert path.stat().st_mode & 0o777 == 0o600


def peck_migrate(folder: Path, url: str, *options: str) -> subprocess.CompletedProcess[str]:
    return typed.peck(folder, {"HOME": str(folder), "PECK_DATABASE_URL": url}, "migrate", *options)


def test_peck_migrate_names_the_applied_files(database_url: str, tmp_path: Path) -> None:
    with db.connect(database_url, autocommit=True) as conn:
        conn.execute("drop schema public cascade")
        conn.execute("create schema public")
    first = peck_migrate(tmp_path, database_url)
    assert first.stdout.splitlines()[0] == "applied schema.sql", first.stderr
    assert peck_migrate(tmp_path, database_url, "--after").stdout == "nothing to apply\n"


def test_a_database_of_an_earlier_version_is_refused_in_a_sentence(
    database_url: str, tmp_path: Path
) -> None:
    with db.connect(database_url, autocommit=True) as conn:
        conn.execute("update migrations set name = '0001_schema.sql' where name = 'schema.sql'")
    by_process = subprocess.run(
        [sys.executable, "-P", "-m", "services.run.setup"],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "PECK_DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        check=False,
    )
    for refused in (by_process, peck_migrate(tmp_path, database_url)):
        assert refused.returncode == 1
        [sentence] = refused.stderr.splitlines()
        assert "an earlier version of Pecking Order made this database" in sentence
        assert "another folder with --state" in sentence


UNREACHABLE = "postgresql://peck:hidden@/peck?host=/nowhere"


@pytest.mark.parametrize("command", [("migrate",), ("blobs",), ("admin", "token", "me")])
def test_unreachable_database_is_named_in_one_line(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    given = {"PECK_DATABASE_URL": UNREACHABLE, "PECK_BLOBS_URL": tmp_path.as_uri()}
    done = typed.peck(tmp_path, given, *command)
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("peck: cannot reach the database at /nowhere, database peck: ")
    assert "hidden" not in sentence
    assert done.returncode == (2 if command == ("blobs",) else 1)


def test_set_up_with_a_wrong_password_ends_in_one_line(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PECK_DATABASE_URL", UNREACHABLE)
    with pytest.raises(SystemExit, match="cannot reach the database at /nowhere"):
        setup.main(["--admin", "me"])
    monkeypatch.setenv("PECK_DATABASE_URL", database_url)
    with pytest.raises(SystemExit, match="No such file"):
        setup.main(["--worker-password-file", str(tmp_path / "missing")])


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://peck:sec@ret@127.0.0.1:5/peck",
        "postgresql://peck:sec/ret@127.0.0.1/peck",
        "postgresql://peck:sec%ZZret@127.0.0.1/peck",
    ],
)
def test_refusal_of_a_wrong_address_shows_no_part_of_the_password(url: str) -> None:
    with pytest.raises(db.DatabaseUnreachable) as refused:
        db.require_reachable(url)
    assert "ret" not in str(refused.value)


def test_simultaneous_set_ups_make_each_demo_league_once(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    with db.connect(database_url, autocommit=True) as conn:
        users.create_team(conn, "Bee Lines", "beeline", None)  # a slug that a demo team has
    settings = Settings(database_url=database_url, blobs_url=(tmp_path / "blobs").as_uri())
    start = Barrier(3)

    def seed(_: int) -> str:
        start.wait()
        return setup.seed_demo(settings, None)

    with ThreadPoolExecutor(3) as machines:
        tokens = list(machines.map(seed, range(3)))
    assert len(set(tokens)) == 3
    with db.connect(database_url) as conn:
        made = conn.execute(
            "select (select count(*) from leagues), (select count(*) from entries),"
            " (select count(*) from matches where kind = 'validation')"
        ).fetchone()
        weights = conn.execute("select distinct pairing_weight from entries").fetchall()
    assert weights == [(1.0,)], "long matches need no second brake"
    field = sum(len(league.entrants) for league in demo.LEAGUES)
    assert made == (len(demo.LEAGUES), field, field)


def test_chosen_demo_leagues_are_made(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PECK_DEMO_LEAGUES", "snake, battlesnake")
    settings = Settings(database_url=database_url, blobs_url=f"file://{tmp_path}")
    setup.seed_demo(settings, None)
    with db.connect(database_url) as conn:
        slugs = conn.execute("select slug from leagues order by slug").fetchall()
    assert slugs == [("battlesnake",), ("snake",)]


def test_an_unknown_demo_league_is_refused_with_the_known_ones(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PECK_DATABASE_URL", database_url)
    monkeypatch.setenv("PECK_BLOBS_URL", f"file://{tmp_path}")
    monkeypatch.setenv("PECK_DEMO_LEAGUES", "geese")
    with pytest.raises(SystemExit, match="choose among hungry-geese"):
        setup.main(["--demo"])
