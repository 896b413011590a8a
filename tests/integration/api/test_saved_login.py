"""The saved service and login of the command line, and its output after a refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from services.cli.__main__ import find_command
from services.cli.saved_login import find_login
from tests.integration.api.commands import Peck, read
from tests.integration.api.commands import fresh_peck as fresh_peck
from tests.integration.api.commands import peck as peck
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import GOOD, World

BARE = {"PECK_URL": "", "PECK_TOKEN": ""}
ELSEWHERE = "http://127.0.0.1:9"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The state folder of a `peck up` that runs in this checkout, at its own address."""
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "address").write_text(ELSEWHERE + "\n")
    (folder / "token").write_text("peck_of_the_demo_player\n")
    return folder


def log_in(peck: Peck, world: World, person: str = "member") -> None:
    token = world.tokens[person]
    assert peck("login", str(world.http.base_url), PECK_TOKEN=token).returncode == 0


def test_login_wins_over_a_running_peck_up(peck: Peck, world: World, state: Path) -> None:
    log_in(peck, world)
    told = peck("whoami", **BARE).stdout
    assert told.startswith("member, ")
    assert f"peck up of this checkout at {ELSEWHERE}" in told


def test_changing_verb_names_its_account_and_address(
    peck: Peck, world: World, state: Path, tmp_path: Path
) -> None:
    log_in(peck, world)
    (tmp_path / "main.py").write_bytes(GOOD)
    sent = peck("submit", "main.py", "--agent", "Two", "--league", "public", "--json", **BARE)
    assert read(sent)["entry"]["state"] == "pending"
    where = str(world.http.base_url).rstrip("/")
    assert sent.stderr.count(f"as member at {where} (peck login)") == 1
    assert f"set PECK_URL={ELSEWHERE} or run `peck logout`" in sent.stderr
    assert "as member" not in peck("leaderboard", "public", **BARE).stderr


def test_single_login_is_not_announced(peck: Peck, world: World, tmp_path: Path) -> None:
    log_in(peck, world)
    (tmp_path / "main.py").write_bytes(GOOD)
    sent = peck("submit", "main.py", "--agent", "Three", "--league", "public", "--json", **BARE)
    assert read(sent)["entry"]["state"] == "pending"
    assert "peck login" not in sent.stderr


def test_logout_selects_the_running_peck_up(
    peck: Peck, world: World, state: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log_in(peck, world)
    assert peck("logout").stdout == "the login is deleted; its token stays valid\n"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PECK_STATE", str(state))
    for name in BARE:
        monkeypatch.delenv(name, raising=False)
    found = find_login()
    assert (found.address, found.token, found.unused) == (
        ELSEWHERE,
        "peck_of_the_demo_player",
        None,
    )


def test_address_in_the_environment_uses_its_saved_token(
    peck: Peck, world: World, state: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log_in(peck, world)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PECK_STATE", str(state))
    monkeypatch.delenv("PECK_TOKEN", raising=False)
    for address, token in (
        (ELSEWHERE, "peck_of_the_demo_player"),
        (str(world.http.base_url), world.tokens["member"]),
        ("http://127.0.0.1:10", None),
    ):
        monkeypatch.setenv("PECK_URL", address)
        assert find_login().token == token


def forget_token(home: Path) -> None:
    """Replace the saved token, as if the service were new and knew no token."""
    file = home / ".config" / "peck" / "login.json"
    file.write_text(
        json.dumps({**json.loads(file.read_text()), "token": "peck_of_an_old_instance"})
    )


def test_refused_login_names_the_command_that_replaces_it(
    peck: Peck, world: World, tmp_path: Path
) -> None:
    log_in(peck, world)
    forget_token(tmp_path)
    refused = peck("whoami", **BARE)
    where = str(world.http.base_url).rstrip("/")
    assert refused.stderr.splitlines()[-1].strip() == f"next: peck login {where}"


def test_old_login_at_the_address_of_the_running_peck_up_can_be_dropped(
    peck: Peck, world: World, state: Path, tmp_path: Path
) -> None:
    log_in(peck, world)
    forget_token(tmp_path)
    (state / "address").write_text(f"{world.http.base_url}\n")
    (state / "token").write_text(world.tokens["member"] + "\n")
    refused = peck("whoami", **BARE)
    assert (
        refused.stderr.splitlines()[-1].strip().startswith("next: peck logout (to use the token of")
    )
    assert peck("logout").returncode == 0
    assert peck("whoami", **BARE).stdout.startswith("member, ")


def test_wrong_league_name_lists_the_leagues(peck: Peck) -> None:
    refused = peck("leaderboard", "pubic")
    assert refused.returncode == 1
    assert refused.stderr.splitlines() == [
        "peck: there is no such league",
        "  leagues: public, private",
        "  next: peck league list",
    ]
    assert "leagues: public\n" in peck("leaderboard", "pubic", PECK_TOKEN="").stderr


@pytest.mark.parametrize(
    ("arguments", "token", "line"),
    [
        (["whoami"], "peck_wrong", "next: set PECK_TOKEN to a token of http"),
        (["league", "create", "public"], None, "next: peck league create --help"),
        (["league", "create", "x", "seats=9"], None, "next: peck league create --help"),
        (["league", "fill", "public"], None, "next: peck whoami"),
        (["api", "list-users"], None, "next: peck login http"),
        (["entries", "ent_01j8x6m3c2k4v9q0w7r5t1y8z3"], None, "next: peck entries"),
        (["watch", "sea_01j8x6m3c2k4v9q0w7r5t1y8z3"], None, "next: peck league list"),
        (["api", "read-rejudgement", "rej_01j8x6m3c2k4v9q0w7r5t1y8z3"], None, "next: peck "),
        (["tournament", "show", "nope"], None, "next: peck tournament list"),
        (["insights", "nope"], None, "next: peck agent list"),
    ],
)
def test_refusal_ends_with_the_next_command(
    peck: Peck, arguments: list[str], token: str | None, line: str
) -> None:
    refused = peck(*arguments, **({"PECK_TOKEN": token} if token else {}))
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1].strip().startswith(line)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["agent", "list"], "next: peck submit "),
        (["feed"], "next: peck submit "),
        (["insights", "nope"], "next: peck submit "),
        (["tournament", "list"], "next: peck tournament create LEAGUE TITLE (if "),
    ],
)
def test_newcomer_without_agents_learns_the_next_command(
    peck: Peck, world: World, arguments: list[str], line: str
) -> None:
    done = peck(*arguments, PECK_TOKEN=world.tokens["cohost"])
    assert done.stderr.splitlines()[-1].strip().startswith(line)


def test_empty_feed_of_a_person_with_agents_names_the_list(
    fresh_peck: Peck, fresh_world: World
) -> None:
    cohost = fresh_world.client("cohost")
    cohost.post("/v1/teams", {"name": "Grey Geese"})
    cohost.post("/v1/agents", {"name": "No upload yet"})
    done = fresh_peck("feed", PECK_TOKEN=fresh_world.tokens["cohost"])
    assert (done.stdout, done.stderr) == ("(nothing)\n", "next: peck agent list\n")


def test_used_up_limit_names_the_time_to_try_again(
    fresh_peck: Peck, fresh_world: World, tmp_path: Path
) -> None:
    with fresh_world.connect() as conn:
        conn.execute("update seasons set daily_limit = 0")
    (tmp_path / "main.py").write_bytes(GOOD + b"#")
    submit = ("submit", "main.py", "--agent", "flood-public-member", "--league", "public")
    refused = fresh_peck(*submit)
    last = refused.stderr.splitlines()[-1]
    assert last.startswith("  next: the same command after 2")
    assert last.endswith(" 00:00 UTC")


def test_command_name_leaves_out_arguments() -> None:
    assert find_command(["league", "create", "autumn", "seats=2"])[0] == "peck league create"
    assert find_command(["submit", "league"])[0] == "peck submit"
    assert find_command([])[0] == "peck"


def test_not_found_problem_names_the_missing_resource(world: World) -> None:
    for path, what in (
        ("/v1/leagues/none", "league"),
        ("/v1/leagues/private", "league"),
        ("/v1/seasons/none", "league"),
        (f"/v1/seasons/{world.seasons['private']}", "season"),
        (f"/v1/entries/{world.entries['private.member']}", "entry"),
    ):
        answer = world.http.get(path)
        assert answer.status_code == 404
        assert json.loads(answer.content)["what"] == what
