"""The `peck tournament` commands, from a draft to a finished tournament."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.enums import Embargo
from ladder.tournaments import advance, course_acts, courses
from ladder.tournaments.records import TournamentState
from services.cli.tournaments import tournaments as commands
from tests import typed
from tests.integration.api.commands import member_environment
from tests.integration.api.test_tournament_spoilers import make_cup, play
from tests.integration.api.world import World, finish
from tests.integration.ladder.cup import better_seed_wins

Peck = Callable[..., str]


@pytest.fixture
def typed_verbs() -> set[str]:
    """The verbs that a test typed."""
    return set()


@pytest.fixture
def peck(world: World, tmp_path: Path, typed_verbs: set[str]) -> Peck:
    """Runs `peck tournament` as a person; returns what it printed."""
    environment = member_environment(world, tmp_path)

    def run(person: str, verb: str, *arguments: str) -> str:
        typed_verbs.add(verb)
        token = {"PECK_TOKEN": world.tokens.get(person, "")}
        done = typed.peck(tmp_path, {**environment, **token}, "tournament", verb, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def play_all(conn: Connection, world: World, cup: Any) -> None:
    """Plays until nothing is queued. The first seat wins each game, so the better seed goes on."""
    while waiting := [one for one in courses.read_games(conn, cup) if one.state == "queued"]:
        for game in waiting:
            finish(conn, world.blobs, game.match_id)
        advance.advance_one(conn, cup, lambda _: 0)
        conn.commit()


def test_every_command_of_tournaments_does_what_it_says(
    peck: Peck, world: World, typed_verbs: set[str], tmp_path: Path
) -> None:
    mine, hosts, rivals = (world.agents[f"public.{who}"] for who in ("member", "host", "rival"))
    made = json.loads(peck("host", "create", "public", "Cup", "--draft", "--pairs", "1", "--json"))
    cup = made["id"]
    assert made["state"] == TournamentState.DRAFT
    listed = peck("host", "list", "--league", "public")
    assert cup in listed
    assert made["created_at"][:10] in listed
    assert cup not in peck("stranger", "list")
    acts = f"/v1/tournaments/{cup}/acts"
    world.client("host").post(acts, {"act": "open"})
    for person, agent in (("member", mine), ("rival", rivals), ("host", hosts)):
        assert "is entered" in peck(person, "enter", cup, agent)
    assert peck("rival", "withdraw", cup, rivals) == "withdrawn\n"
    with world.connect() as conn:
        conn.execute("update tournaments set state = 'check_in' where id = %s", (cup,))
        conn.commit()
        assert peck("member", "check-in", cup, mine) == "checked in\n"
        assert "locked" in peck("host", "lock", cup)
        assert "running" in peck("host", "start", cup)
        advance.advance_one(conn, cup, lambda _: 0)
        conn.commit()
        assert "paused" in peck("host", "pause", cup, "--reason", "lunch")
        assert "running" in peck("host", "resume", cup)
        play_all(conn, world, cup)
        champion = json.loads(peck("stranger", "show", cup, "--json"))["champion_name"]
        assert f"champion: {champion}" in peck("stranger", "show", cup)
        assert "better seed" in peck("stranger", "bracket", cup)
    assert typed_verbs == {one.name for one in commands.registered_commands}


def test_table_of_a_gauntlet_shows_the_score_per_pairing(peck: Peck, world: World) -> None:
    with world.connect() as conn:
        cup = make_cup(conn, world, {"stages": [{"format": "gauntlet"}]})
        play(conn, world, cup, better_seed_wins)
        course_acts.reveal(conn, cup, Embargo.PUBLIC, None)
        conn.commit()
    shown = json.loads(peck("stranger", "show", cup, "--json"))
    assert "score and tie-breaks are divided by the number of pairings" in shown["plan_text"][0]
    lines = shown["standings"]
    assert [(line["score"], line["tie_breaks"]["score per pairing"]) for line in lines] == [
        (2.0, "1"),
        (0.0, "0"),
        (0.0, "0"),
    ]
    text = peck("stranger", "show", cup)
    (head,) = (line for line in text.splitlines() if "why this place" in line)
    assert "played  score per pairing  why this place" in head
    assert "2.0       2                  1  score per pairing 1; the next has 0" in text


def test_a_host_enters_reference_agents_by_name(peck: Peck, world: World) -> None:
    world.client("host").post(
        "/v1/leagues",
        {
            "slug": "named",
            "title": "Named",
            "game": "hungry_geese",
            "season": {"seats": 2},
            "anchors": ["random-legal", "greedy"],
        },
    )
    with world.connect() as conn:
        conn.execute("update entries set state = 'active' where is_anchor")
    cup = json.loads(peck("host", "create", "named", "Cup", "--json"))["id"]
    assert peck("host", "enter", cup, "random_legal") == "Random Legal is entered\n"
    assert peck("host", "enter", cup, "Greedy") == "Greedy is entered\n"
    with pytest.raises(AssertionError, match=r"there is no agent 'grim'\. Your agents: "):
        peck("host", "enter", cup, "grim")
