"""The `peck` command as a process against the running API."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_group

from ladder.entries import entries
from services.cli.__main__ import GROUPS, MODULES, full_app
from services.cli.submissions import is_being_retried
from tests import typed
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.test_profiles import serve
from tests.integration.api.test_season_health import lively
from tests.integration.api.world import GOOD, World, finish

CHECKOUT = Path(__file__).resolve().parents[3]
Peck = Callable[..., subprocess.CompletedProcess[str]]


def member_environment(world: World, home: Path) -> dict[str, str]:
    """The variables of the member, with an empty home."""
    return {
        "PATH": os.environ["PATH"],
        "PECK_STATE": str(home / "state"),
        "PYTHONPATH": str(CHECKOUT),
        "HOME": str(home),
        "COLUMNS": str(typed.WIDTH),
        "PECK_URL": str(world.http.base_url),
        "PECK_TOKEN": world.tokens["member"],
    }


@pytest.fixture
def environment(world: World, tmp_path: Path) -> dict[str, str]:
    return member_environment(world, tmp_path)


def typing(world: World, folder: Path) -> Peck:
    """Runs `peck` as the member, in this folder."""
    environment = member_environment(world, folder)

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return typed.peck(folder, {**environment, **more}, *arguments)

    return run


@pytest.fixture
def peck(world: World, tmp_path: Path) -> Peck:
    return typing(world, tmp_path)


@pytest.fixture
def fresh_peck(fresh_world: World, tmp_path: Path) -> Peck:
    return typing(fresh_world, tmp_path)


def read(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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


def test_a_folder_is_submitted_entered_and_listed(peck: Peck, world: World, tmp_path: Path) -> None:
    (tmp_path / "goose").mkdir()
    (tmp_path / "goose" / "main.py").write_bytes(GOOD)
    (tmp_path / "goose" / "weights.txt").write_text("1 2 3")
    first = read(peck("submit", "goose", "--agent", "New goose", "--league", "public", "--json"))
    again = read(peck("submit", "goose", "--agent", "new-goose", "--league", "public", "--json"))
    assert first["submission"]["filename"] == "goose.tar.gz"
    assert first["submission"]["id"] == again["submission"]["id"]
    assert first["entry"]["state"] == "pending"
    listed = read(peck("submissions", "--agent", "New goose", "--json"))
    assert [row["id"] for row in listed] == [first["submission"]["id"]]
    with world.connect() as conn:
        found = entries.get_entry(conn, first["entry"]["id"])
        assert found.validation_match_id is not None
        finish(conn, world.blobs, found.validation_match_id, failed_seat=0)
    waited = peck("submit", "goose", "--agent", "new-goose", "--league", "public", "--wait")
    assert waited.returncode == 1
    assert "ZeroDivisionError" in waited.stdout
    assert "Traceback" not in waited.stderr
    assert "rejected" in peck("entries").stdout


def test_a_submission_over_the_daily_limit_leaves_no_new_agent(
    fresh_peck: Peck, fresh_world: World, tmp_path: Path
) -> None:
    season = fresh_world.client("host").create_season("public", seats=2, daily_limit=1)["id"]
    (tmp_path / "main.py").write_bytes(GOOD)
    submit = ("submit", "main.py", "--league", season, "--agent")
    assert fresh_peck(*submit, "First").returncode == 0
    before = [row["id"] for row in fresh_world.client("member").agents()]
    (tmp_path / "main.py").write_bytes(GOOD + b"# 2")
    refused = fresh_peck(*submit, "Second")
    assert refused.returncode == 1
    assert "uploads a day" in refused.stderr
    assert "removed the new agent Second" in refused.stderr
    assert [row["id"] for row in fresh_world.client("member").agents()] == before
    assert fresh_peck(*submit, "First").returncode == 1
    assert [row["id"] for row in fresh_world.client("member").agents()] == before


def test_hidden_files_of_a_folder_are_uploaded_and_named(peck: Peck, tmp_path: Path) -> None:
    (tmp_path / "goose").mkdir()
    (tmp_path / "goose" / "main.py").write_bytes(GOOD)
    submit = ("submit", "goose", "--league", "public", "--agent", "Hidden files")
    assert "hidden" not in peck(*submit).stderr
    (tmp_path / "goose" / ".env").write_text("KEY=1")
    assert "it holds hidden files: .env\n" in peck(*submit).stderr


def test_a_folder_that_cannot_be_packed_makes_no_agent(
    peck: Peck, world: World, tmp_path: Path
) -> None:
    before = [row["id"] for row in world.client("member").agents()]
    (tmp_path / "main.py").symlink_to("/etc/hostname")
    refused = peck("submit", ".", "--league", "public", "--agent", "New")
    assert refused.returncode == 1
    assert "main.py: a link that leads out of the folder" in refused.stderr
    assert [row["id"] for row in world.client("member").agents()] == before


def test_submitting_to_an_unserved_profile_reports_the_wait(
    peck: Peck, world: World, tmp_path: Path
) -> None:
    serve(world, "numpy")
    listed = {row["name"]: row for row in read(peck("profiles", "--json", PECK_TOKEN=""))}
    assert listed["numpy"]["served"]
    assert not listed["torch"]["served"]
    assert "numpy 2.4.6" in peck("profiles").stdout
    (tmp_path / "main.py").write_bytes(GOOD)
    submit = ("submit", "main.py", "--agent", "Net", "--league", "public", "--profile")
    waiting = peck(*submit, "torch")
    assert waiting.returncode == 0
    assert "no node serves profile torch now; it waits until one does" in waiting.stdout
    refused = peck(*submit, "keras")
    assert refused.returncode == 1
    assert "profile" in refused.stderr
    assert "'numpy', 'science', 'torch' or 'torch-gpu'" in refused.stderr


def test_the_address_of_a_paused_agent_is_resumed(peck: Peck, world: World) -> None:
    made = read(
        peck(
            *("league", "create", "far", "--game", "battlesnake", "--seats", "2"),
            *("--remote-agents", "--json"),
            PECK_TOKEN=world.tokens["host"],
        )
    )
    assert made["season"]["remote_agents"]
    submit = ("submit", "--agent", "Far", "--league", "far", "--url")
    sent = read(peck(*submit, "https://snake.example.org/k3J9/", "--api", "2017", "--json"))
    assert sent["submission"]["url"] == "https://snake.example.org/k3J9"
    refused = peck(*submit, "https://user@snake.example.org")
    assert refused.returncode == 1
    assert "peck: --url: leave out the user and password" in refused.stderr
    unknown = peck(*submit, "https://snake.example.org", "--api", "3").stderr
    assert "--api: " in unknown
    assert unknown.count("'2017'") == 1
    with world.connect() as conn:
        conn.execute(
            "update entries set state = 'paused', paused_at = now(), deadline_at = null,"
            " reason = 'no connection', next_try_at = now() + interval '1 hour' where id = %s",
            (sent["entry"]["id"],),
        )
    listed = peck("entries").stdout
    assert "paused: no connection; next try at" in listed
    assert "Far (remote)" in listed
    assert re.search(r"far +Far \(remote\)", listed)
    nameless = peck("dataset").stderr
    assert "name a league (peck dataset LEAGUE): " in nameless
    resumed = read(peck("resume", "--json"))
    assert (resumed["id"], resumed["state"]) == (sent["entry"]["id"], "paused")
    assert resumed["next_try_at"] is None
    assert is_being_retried({**resumed, "queue": None})  # its match is over and not yet judged


def test_the_leaderboard_is_a_table_or_json(peck: Peck) -> None:
    assert "Team host" in peck("leaderboard", "public", PECK_TOKEN="").stdout
    assert [row["rank"] for row in read(peck("leaderboard", "public", "--json"))] == [1, 2, None]


def test_watch_shows_the_alarm_of_a_silent_league(fresh_peck: Peck, fresh_world: World) -> None:
    lively(fresh_world)  # its building may be minutes ago
    assert read(fresh_peck("watch", "public", "--json"))["alarm"] is None
    assert "expected: one every 60 s" in fresh_peck("watch", "public", PECK_TOKEN="").stdout
    with fresh_world.connect() as conn:
        conn.execute("update entries set last_match_at = now() - interval '1 hour'")
        conn.execute("update workers set live_until = now() - interval '1 hour'")
    silent = fresh_peck("watch", "public")
    assert silent.returncode == 1
    assert "alarm (no_capacity): No machine is free" in silent.stdout


def test_insights_take_an_agent_name_or_an_entry_id(peck: Peck, world: World) -> None:
    mine = read(peck("insights", "flood-public-member", "--json"))
    assert mine["entry_id"] == world.entries["public.member"]
    shown = peck("insights", "flood-public-member", "--within", "100").stdout
    for words in (
        "until the score is precise to +-100",
        "Flood public.host",
        "slowest move",
        "seat",
    ):
        assert words in shown
    others = peck("insights", world.entries["public.host"], PECK_TOKEN="")
    assert "Flood public.member" in others.stdout
    assert "slowest move" not in others.stdout
    assert "name an agent" in peck("insights").stderr


def test_the_feed_is_sentences_or_json(peck: Peck, world: World) -> None:
    items = read(peck("feed", "--json"))
    assert items[-1]["at"] == max(item["at"] for item in items)
    shown = peck("feed").stdout
    assert "Flood public.member placed" in shown
    assert "failed its validation: ERROR at step 1" in shown
    assert "a scrim is over, 1 of 1 games played" in shown
    assert len(peck("feed", "-n", "2").stdout.splitlines()) == 2


def test_downloaded_files_have_kaggle_names(peck: Peck, world: World, tmp_path: Path) -> None:
    submission = world.submissions["public.member"]
    rows = read(peck("episodes", submission, "--json"))
    rated = next(row for row in rows if row["kind"] == "rated")
    number = rated["episodes"][0]["number"]
    assert str(number) in peck("episodes", submission).stdout
    assert peck("replay", str(number), "-p", "down").returncode == 0
    assert peck("logs", rated["id"], "1", "-p", "down").returncode == 0
    replay = json.loads((tmp_path / "down" / f"episode-{number}-replay.json").read_text())
    assert replay["name"] == "hungry_geese"
    log = json.loads((tmp_path / "down" / f"episode-{number}-agent-0-logs.json").read_text())
    assert log[0][0]["stdout"] == "secret of seat 0"
    refused = peck("logs", rated["id"], "2")
    assert refused.returncode == 1
    assert "owner" in refused.stderr


def test_a_dataset_holds_the_samples_of_the_best_agents(peck: Peck, tmp_path: Path) -> None:
    manifest = read(peck("dataset", "public", "--out", "geese", "--top", "50", "--json"))
    assert manifest["game"] == "hungry_geese"
    assert manifest["samples"] == sum(source["samples"] for source in manifest["episodes"]) > 0
    assert json.loads((tmp_path / "geese.json").read_text()) == manifest
    with np.load(tmp_path / "geese.npz", allow_pickle=False) as data:
        assert data["planes"].shape == (manifest["samples"], *manifest["shape"])
        assert {name: [str(data[name].dtype), *data[name].shape] for name in data} == manifest[
            "arrays"
        ]
        assert set(data["placement"].tolist()) > {1}
    winners = read(
        peck("dataset", "public", "--out", "w.npz", "--top", "50", "--placed", "1", "--json")
    )
    assert 0 < winners["samples"] < manifest["samples"]


def test_a_dataset_without_visible_matches_is_refused(peck: Peck) -> None:
    done = peck("dataset", "public", PECK_TOKEN="")
    assert done.returncode == 1
    assert "with a replay that you may see" in done.stderr
    done = peck("dataset", "public", "--out", "no/such/folder.npz")
    assert "--out: create the folder no/such first" in done.stderr


def test_a_scrim_is_requested_by_agent_names(peck: Peck) -> None:
    made = read(
        peck(
            *("scrim", "flood-public-member", "Flood public.host"),
            *("--league", "public", "--games", "2", "--seed", "x", "--no-wait", "--json"),
        )
    )
    assert (made["games"], made["state"], len(made["lineup"])) == (2, "running", 2)
    shown = peck("scrim", "flood-public-member", "flood-public-host", "--games", "1", "--no-wait")
    assert "name a league" in shown.stderr
    names = ("scrim", "flood-public-member", "flood-public-host", "--league", "public")
    table = peck(*names, "--games", "1", "--no-wait").stdout
    assert "mean place" in table
    assert table.index("Flood public.member") < table.index("Flood public.host")  # by seat


def test_a_league_is_created_with_its_first_season(peck: Peck) -> None:
    made = read(peck("league", "create", "club", "--private", "--seats", "2", "--json"))
    assert made["season"]["seats"] == 2
    assert "club" in peck("league", "list").stdout
    assert "2 seats" in peck("league", "show", "club").stdout


def test_a_token_is_minted_listed_and_revoked(peck: Peck) -> None:
    text = peck("token", "mint", "laptop", "--scope", "read").stdout.strip()
    assert read(peck("whoami", "--json", PECK_TOKEN=text))["scopes"] == ["read"]
    (row,) = [row for row in read(peck("token", "list", "--json")) if row["label"] == "laptop"]
    assert peck("token", "revoke", row["id"]).returncode == 0
    assert peck("whoami", PECK_TOKEN=text).returncode == 1


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
        (("agent", "open", "nobody"), "flood-public-member"),
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
        "resume",
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
    heavy = {"psycopg", "numpy", "services.demo"}
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
            "league",
            "create",
            "lined",
            "--medals",
            "lines:1210,1080,1050",
            "--stop-when-sealed",
            "--speed-class",
            "1.2x",
            "--json",
        )
    )
    lines = {"kind": "lines", "gold": 1210.0, "silver": 1080.0, "bronze": 1050.0}
    assert made["season"]["medals"] == lines
    assert made["season"]["stops_when_sealed"]
    shown = peck("league", "show", "lined").stdout
    assert "medals lines:1210,1080,1050, sealed from 95% on" in shown
    assert "plays only on machines of speed class 1.2x" in shown
    assert read(peck("seals", "lined", "--json")) == []
    refused = peck("league", "create", "odd", "--medals", "lines:1210")
    assert refused.returncode == 1
    assert "lines:1210,1080,1050" in refused.stderr


def test_a_team_declares_its_entry(peck: Peck, world: World) -> None:
    entry = world.entries["public.member"]
    assert read(peck("declare", entry, "--json"))["entry_id"] == entry

    def declared() -> list[str]:
        rows = world.client("stranger").leaderboard("public")
        return [row["entry_id"] for row in rows if row["is_declared"]]

    assert declared() == [entry]
    assert ">declared<" in world.http.get("/leagues/public").text
    done = peck("declare", "--undeclare", "--league", "public")
    assert "what the service chooses" in done.stdout
    assert declared() == []
    refused = peck("declare", world.entries["public.rejected"])
    assert "this entry is rejected; declare an active one" in refused.stderr
    assert peck("declare").returncode == 1


def test_two_people_form_a_team(peck: Peck, world: World) -> None:
    made = read(peck("team", "create", "Night Geese", "--json"))
    link = peck("team", "invite", "night-geese").stdout.strip()
    assert "/join-team?code=team_" in link
    joined = peck("team", "join", link, PECK_TOKEN=world.tokens["rival"])
    assert joined.stdout == "you are a member of Night Geese (night-geese)\n"
    assert "used_up" in peck("team", "invitations", "night-geese").stdout
    assert peck("team", "hand-over", "night-geese", "Rival").stdout.startswith("rival owns")
    refused = peck("team", "rename", "night-geese", "Mine")
    assert "Ask an owner of the team" in refused.stderr
    assert peck("team", "leave", "night-geese", "--yes").returncode == 0
    shown = read(peck("team", "show", made["id"], "--json", PECK_TOKEN=world.tokens["rival"]))
    assert [(row["name"], row["is_owner"]) for row in shown["members"]] == [("rival", True)]
    assert peck("team", "show", made["id"]).returncode == 1  # hidden from those who left


def test_matches_takes_the_filters_of_the_site(peck: Peck) -> None:
    rows = read(peck("matches", "--agent", "member/flood-public-member", "--json"))
    assert rows
    assert {seat["agent_name"] for row in rows for seat in row["seats"]} >= {"Flood public.member"}
    lost = read(
        peck("matches", "--agent", "flood-public-host", "--opponent", "flood-public-member",
             "--kind", "rated", "--json")
    )  # fmt: skip
    assert {row["kind"] for row in lost} == {"rated"}
    endings = {row["ending"] for row in rows if row["kind"] == "rated" and row["ending"]}
    assert endings
    assert all(re.match(r"(shared )?[1-4](st|nd|rd|th) of 4|won|lost|tied", one) for one in endings)
    shown = peck("matches", "--agent", "member/flood-public-member", "--kind", "rated").stdout
    assert "how it ended" in shown
    assert all(one in shown for one in endings)
    wrong = peck("matches", "--outcome", "won")
    assert wrong.returncode == 1
    assert "name an agent too" in wrong.stderr
    table = peck("matches", "--league", "public").stdout
    assert re.search(r"Flood public\.\w+ (beats|and) Flood public\.\w+", table)


def test_compare_and_search_name_agents(peck: Peck) -> None:
    found = peck("compare", "flood-public-member", "flood-public-host")
    assert "Flood public.member against Flood public.host" in found.stdout
    assert "in total" in found.stdout
    assert re.search(r"version 1 against 1 ", found.stdout)
    of_first = ("matches", "--agent", "flood-public-member", "--kind", "rated", "--version", "1")
    assert read(peck(*of_first, "--json"))
    assert "Flood public.host" in peck("search", "flood").stdout
    assert peck("compare", "flood-public-member", "nobody").returncode == 1


def test_commands_count_seats_from_one_and_json_from_zero(peck: Peck, world: World) -> None:
    agent = "member/flood-public-member"
    first = read(peck("matches", "--agent", agent, "--seat", "1", "--json"))
    assert first
    assert all(row["seats"][0]["agent_name"] == "Flood public.member" for row in first)
    assert peck("matches", "--agent", agent, "--seat", "0").returncode == 2
    rated = next(row for row in first if row["kind"] == "rated")
    unknown = peck("fork", rated["id"], "--step", "1", "--seat", "5=flood-public-member")
    assert "seat 5: this match has seats 1 to 2" in unknown.stderr
    assert "type SEAT=AGENT" in peck("fork", rated["id"], "--step", "1", "--seat", "0=x").stderr
    chosen = ("--seat", "2=flood-public-member", "--no-wait")
    scrim = peck("fork", rated["id"], "--step", "1", *chosen).stdout
    forked = read(peck("fork", rated["id"], "--step", "1", *chosen, "--json"))
    assert forked["seats"][1]["agent_name"] == "Flood public.member"
    assert forked["seats"][1]["seat"] == 1
    assert [line.split()[0] for line in scrim.splitlines()[2:4]] == ["1", "2"]


def test_commands_show_versions_of_agents(peck: Peck, world: World) -> None:
    mine, host = world.agents["public.member"], world.agents["public.host"]
    order = {"season": world.seasons["public"], "kind": "gauntlet", "games": 1}
    batch = world.client("member").start_batch(order | {"agents": [mine, host]})["id"]
    (cell,) = read(peck("scrims", "batch", batch, "--json"))["cells"]
    assert cell["second_number"] > cell["second_version"] == 1
    shown = peck("scrims", "batch", batch).stdout
    assert "Flood public.member, version 1  Flood public.host, version 1 " in shown
    insights = peck("insights", "flood-public-member").stdout
    assert "Flood public.member, version 1, active" in insights


def test_episodes_takes_what_insights_takes(peck: Peck, world: World) -> None:
    for who in ("flood-public-member", world.entries["public.member"]):
        assert "Flood public.host" in peck("episodes", who).stdout
        assert peck("insights", who).returncode == 0


def test_a_shell_completes_commands_leagues_and_agents(peck: Peck) -> None:
    def completed(words: str) -> set[str]:
        done = peck(_PECK_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(
            len(words.split()) - (not words.endswith(" "))))  # fmt: skip
        return set(done.stdout.split())

    assert completed("peck leaderb") == {"leaderboard"}
    assert completed("peck leaderboard pub") == {"public"}
    assert "flood-public-member" in completed("peck compare flood-public-m")
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
