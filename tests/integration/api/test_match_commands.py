"""The commands that show matches, agents and leaderboards, and that play scrims."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from ladder.ids import SeasonId
from ladder.ratings import live_ratings
from tests.integration.api.commands import Peck, read
from tests.integration.api.commands import fresh_peck as fresh_peck
from tests.integration.api.commands import peck as peck
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.test_season_health import lively
from tests.integration.api.world import World, create_rated, finish


def test_the_leaderboard_is_a_table_or_json(peck: Peck) -> None:
    assert "Team host" in peck("leaderboard", "public", PECK_TOKEN="").stdout
    assert [row["rank"] for row in read(peck("leaderboard", "public", "--json"))] == [1, 2, None]


def test_the_leaderboard_shows_half_of_the_95_percent_interval(peck: Peck, world: World) -> None:
    first, *_ = read(peck("leaderboard", "public", "--json"))
    sigma = (first["official"] or first)["sigma"]
    shown = peck("leaderboard", "public").stdout.splitlines()
    (line,) = [line for line in shown if first["agent_name"] in line]
    assert f"{1.959964 * sigma:.1f}" in line.split()


def test_a_rejected_upload_has_no_score(peck: Peck, world: World) -> None:
    rejected = world.entries["public.rejected"]
    rows = {row["id"]: row for row in read(peck("entries", "--json"))}
    assert (rows[rejected]["mu"], rows[rejected]["sigma"]) == (None, None)
    assert "600.0" not in peck("entries").stdout
    assert "600.0" not in peck("submissions").stdout


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
    assert "choose one of your agents" in peck("insights").stderr


def test_insights_say_which_duels_they_leave_out(fresh_peck: Peck, fresh_world: World) -> None:
    match = create_rated(fresh_world, "public")
    with fresh_world.connect() as conn:
        finish(conn, fresh_world.blobs, match, failed_seat=0)
    with fresh_world.connect() as conn:
        live_ratings.rate_season(conn, SeasonId(fresh_world.seasons["public"]))
    shown = fresh_peck("insights", "flood-public-member").stdout
    assert "last 2 games: 1 DONE, 1 ERROR" in shown
    assert "duels with a fault of either agent: 1; expected and actual leave them out" in shown
    assert ["1", "1"] in [line.split()[1:3] for line in shown.splitlines()]


def test_the_feed_is_sentences_or_json(peck: Peck, world: World) -> None:
    items = read(peck("feed", "--json"))
    assert items[-1]["at"] == max(item["at"] for item in items)
    shown = peck("feed").stdout
    assert "Flood public.member placed" in shown
    assert "failed its validation. It does not play in" in shown
    assert "The reason: ERROR at step 1" in shown
    assert "A scrim is over. 1 of 1 games were played." in shown
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
    beyond = peck("logs", rated["id"], "9")
    assert beyond.stderr == f"peck: choose a seat from 1 to {len(replay['rewards'])}\n"


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


def test_episodes_takes_what_insights_takes(peck: Peck, world: World) -> None:
    for who in ("flood-public-member", world.entries["public.member"]):
        assert "Flood public.host" in peck("episodes", who).stdout
        assert peck("insights", who).returncode == 0
