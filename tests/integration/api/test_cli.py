"""The `peck` command as a process against the running API."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_group

from services.cli.__main__ import GROUPS, MODULES, full_app
from tests.integration.api.commands import CHECKOUT, Peck, member_environment, read
from tests.integration.api.commands import peck as peck
from tests.integration.api.shared import world as world
from tests.integration.api.world import World


@pytest.fixture
def environment(world: World, tmp_path: Path) -> dict[str, str]:
    return member_environment(world, tmp_path)


def test_a_process_of_its_own_prints_and_ends_alike(
    peck: Peck, environment: dict[str, str], tmp_path: Path
) -> None:
    for arguments in (("leaderboard", "public"), ("leaderboard", "nowhere")):
        alone = subprocess.run(
            [sys.executable, "-m", "services.cli", *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=120,
            env=environment,
        )
        here = peck(*arguments)
        assert here.stdout + here.stderr
        assert (here.returncode, here.stdout) == (alone.returncode, alone.stdout)
        assert here.stderr == alone.stderr


def test_a_league_is_created_with_its_first_season(peck: Peck) -> None:
    made = read(peck("league", "create", "club", "visibility=private", "seats=2", "--json"))
    assert made["season"]["seats"] == 2
    assert "club" in peck("league", "list").stdout
    shown = peck("league", "show", "club").stdout
    assert "2 seats" in shown
    assert "uploads of at most 100 MB; the newest 3 of a team play\n" in shown


def test_a_login_is_saved_for_its_user_only(peck: Peck, world: World, tmp_path: Path) -> None:
    address = str(world.http.base_url)
    wrong = peck("login", address, "--token", "peck_wrong", PECK_URL="", PECK_TOKEN="")
    assert wrong.returncode == 1
    right = ("login", address, "--token", world.tokens["member"])
    assert peck(*right, PECK_URL="", PECK_TOKEN="").returncode == 0
    (kept,) = tmp_path.rglob("login.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "member" in peck("whoami", PECK_URL="", PECK_TOKEN="").stdout


def test_a_refusal_is_one_sentence_with_at_most_two_remedies(peck: Peck, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, word in (
        (("leaderboard", "nowhere"), "league"),
        (("submit", "empty", "--agent", "flood-public-member", "--league", "public"), "main.py"),
        (("insights", "nobody"), "flood-public-member"),
        (("replay", "mat_1"), "match"),
    ):
        done = peck(*arguments)
        assert done.returncode == 1, arguments
        assert done.stderr.startswith("peck: "), done.stderr
        assert word in done.stderr
        first, *remedies = done.stderr.splitlines()
        assert first.startswith("peck: ")
        assert len(remedies) <= 2
        assert all(line.startswith("  ") for line in remedies), done.stderr
    away = peck("whoami", PECK_URL="http://127.0.0.1:9")
    assert away.returncode == 1
    assert "no answer from http://127.0.0.1:9" in away.stderr


def test_every_verb_explains_itself(peck: Peck) -> None:
    verbs = (
        "submit",
        "episodes",
        "scrim",
        "leaderboard",
        "login",
        "watch",
        "insights",
        "feed",
    )
    for verb in verbs:
        assert "Usage: " in peck(verb, "--help").stdout


def test_a_client_command_loads_no_server_modules() -> None:
    code = (
        "import sys; from services.cli.__main__ import smallest_app_for;"
        "smallest_app_for(sys.argv[1:]); print(*sys.modules)"
    )
    loaded = {
        verb: subprocess.run(
            [sys.executable, "-c", code, verb],
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for verb in ("whoami", "up")
    }
    heavy = {"psycopg", "numpy", "services.run.demo"}
    assert not heavy.intersection(loaded["whoami"])
    assert heavy <= set(loaded["up"])


def test_text_of_other_users_is_printed_literally(peck: Peck, world: World) -> None:
    world.client("host").patch("/v1/leagues/public", {"title": "[/] [red]Geese[/red]"})
    for command in (("league", "show", "public"), ("league", "list")):
        shown = peck(*command)
        assert shown.returncode == 0, shown.stderr
        assert "[/] [red]Geese[/red]" in shown.stdout


def test_a_league_is_created_with_medals_by_score_lines(peck: Peck) -> None:
    made = read(
        peck(
            *("league", "create", "lined", "medals=lines:1210,1080,1050"),
            *("stops_when_sealed=true", "speed_class=1.2x", "--json"),
        )
    )
    lines = {"kind": "lines", "gold": 1210.0, "silver": 1080.0, "bronze": 1050.0}
    assert made["season"]["medals"] == lines
    assert made["season"]["stops_when_sealed"]
    shown = peck("league", "show", "lined").stdout
    assert "medals lines:1210,1080,1050, sealed from 95% on" in shown
    assert "plays only on machines of speed class 1.2x" in shown
    refused = peck("league", "create", "odd", "medals=lines:1210")
    assert refused.returncode == 1
    assert "lines:survivor+100,survivor,500" in refused.stderr


def test_two_people_form_a_team(peck: Peck, world: World) -> None:
    made = read(peck("api", "create-team", "name=Night Geese", "--json"))
    invitation = read(peck("api", "create-team-invitation", "night-geese", "--json"))
    assert "/join-team?code=team_" in invitation["path"]
    as_rival = {"PECK_TOKEN": world.tokens["rival"]}
    assert peck("api", "join-team", f"code={invitation['code']}", **as_rival).returncode == 0
    members = read(peck("api", "list-team-members", made["id"], "--json", **as_rival))["items"]
    assert {row["name"] for row in members} == {"member", "rival"}


def test_a_shell_completes_commands_leagues_and_agents(peck: Peck) -> None:
    def completed(words: str) -> set[str]:
        done = peck(_PECK_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(
            len(words.split()) - (not words.endswith(" "))))  # fmt: skip
        return set(done.stdout.split())

    assert completed("peck leaderb") == {"leaderboard"}
    assert completed("peck leaderboard pub") == {"public"}
    assert "flood-public-member" in completed("peck insights flood-public-m")
    assert completed("peck api create-team-i") == {"create-team-invitation"}
    assert completed("peck api read-league pub") == {"public"}
    assert "visibility=" in " ".join(completed("peck api change-league public vis"))
    for shell in ("bash", "zsh", "fish"):
        assert "_PECK_COMPLETE" in peck("completion", shell).stdout


def test_a_call_imports_the_modules_of_its_command() -> None:
    defining = {
        file.stem
        for file in (CHECKOUT / "services" / "cli").glob("*.py")
        if "\ndef register(" in file.read_text()
    }
    assert defining == MODULES.keys()
    used = {
        (inner.callback.__module__.removeprefix("services.cli."), word)
        for word, command in get_group(full_app()).commands.items()
        for inner in getattr(command, "commands", {"": command}).values()
    }
    assert used == {(name, word) for name, words in MODULES.items() for word in words}


def test_help_groups_every_command(peck: Peck) -> None:
    assert re.fullmatch(r"peck \d+\.\d+\.\d+\n", peck("--version").stdout)
    grouped = {name for names in GROUPS.values() for name in names}
    assert grouped <= get_group(full_app()).commands.keys()
    help_text = peck("--help").stdout
    assert all(group in help_text for group in GROUPS)
