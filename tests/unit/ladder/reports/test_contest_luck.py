from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from ladder.errors import Invalid
from ladder.leagues.medals import Medal
from ladder.reports.contest_luck.contest_tables import Contest, read_contest
from ladder.reports.contest_luck.medal_odds import measure_luck
from services.cli.__main__ import full_app
from services.cli.saved_login import MissingInput

AGENTS = ("Id", "EpisodeId", "Index", "Reward", "State", "SubmissionId", "UpdatedScore")


def write(path: Path, head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def tables(
    folder: Path, games: list[list[tuple[int, Any, Any]]], contest: int = 7
) -> tuple[Path, Path]:
    """The tables of these games; a seat is a submission, its reward and its official score."""
    seats = [
        (0, number, seat, reward, 2, submission, score)
        for number, game in enumerate(games)
        for seat, (submission, reward, score) in enumerate(game)
    ]
    return (
        write(
            folder / "Episodes.csv",
            ("Id", "CompetitionId", "EndTime"),
            [(number, contest, "x") for number in range(len(games))],
        ),
        write(folder / "EpisodeAgents.csv", AGENTS, seats),
    )


def contest(folder: Path, games: list[list[tuple[int, Any, Any]]], **terms: Any) -> Contest:
    return read_contest(*tables(folder, games), **terms)


def test_rewards_become_ranks_and_missing_rewards_faults(tmp_path: Path) -> None:
    found = contest(
        tmp_path,
        [
            [(30, 5, 610.5), (10, 9, 700), (20, "", ""), (40, 5, 1)],
            [(10, 1, 500), (10, 1, 500)],  # a validation
            [(10, 2, 720), (30, -1, "")],
        ],
    )
    assert found.submissions.tolist() == [10, 20, 30, 40]
    assert found.games.contenders.tolist() == [[2, 0, 1, 3], [0, 2, -1, -1]]
    assert found.games.ranks[0].tolist() == [2, 1, 4, 2]
    assert found.games.faults[0].tolist() == [False, False, True, False]
    assert found.official[[0, 2, 3]].tolist() == [720, 610.5, 1]
    assert np.isnan(found.official[1])


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (1, "x", "line 2: EpisodeId must be a whole number"),
        (5, "-4", "line 2: SubmissionId must be a whole number"),
        (3, "inf", "line 2: Reward must be a number"),
        (2, "64", "line 2: Index must be below"),
    ],
)
def test_a_wrong_cell_is_refused_with_its_line(
    tmp_path: Path, column: int, value: str, words: str
) -> None:
    episodes, _ = tables(tmp_path, [[(1, 1, 1), (2, 2, 2)]])
    row: list[Any] = [0, 0, 0, 1, 2, 1, 1]
    row[column] = value
    with pytest.raises(Invalid, match=words):
        read_contest(episodes, write(tmp_path / "a.csv", AGENTS, [tuple(row)]))


def test_tables_of_several_contests_need_its_number(tmp_path: Path) -> None:
    episodes, agents = tables(tmp_path, [[(1, 1, 1), (2, 2, 2)], [(3, 1, 1), (4, 2, 2)]])
    write(episodes, ("Id", "CompetitionId"), [(0, 7), (1, 8)])
    with pytest.raises(Invalid, match="holds 2, such as 7, 8"):
        read_contest(episodes, agents)
    assert read_contest(episodes, agents, competition=8).submissions.tolist() == [3, 4]
    with pytest.raises(Invalid, match="has no episode"):
        read_contest(episodes, agents, competition=9)
    with pytest.raises(Invalid, match="needs the column Id"):
        read_contest(write(tmp_path / "b.csv", ("a",), []), agents)
    agents.write_bytes(b"EpisodeId,Index,Reward,SubmissionId,UpdatedScore\n\xff\xfe,1\n")
    with pytest.raises(Invalid, match="not a row of a CSV"):
        read_contest(episodes, agents, competition=8)


def season(seed: int) -> list[list[tuple[int, Any, Any]]]:
    """Duels of ten submissions whose strength is their number; official scores are upside down."""
    rng = np.random.default_rng(seed)
    games = []
    for _ in range(600):
        pair = rng.choice(10, 2, replace=False).tolist()
        shown = [each + rng.normal() for each in pair]
        games.append(
            [(each, int(shown[n] > shown[1 - n]), 1000 - each) for n, each in enumerate(pair)]
        )
    return games


def test_an_undeserved_medal_has_low_odds(tmp_path: Path) -> None:
    found = measure_luck(contest(tmp_path, season(1)))
    assert [row.submission for row in found.rows[:3]] == [9, 8, 7]
    assert [row.likely for row in found.rows[:5]] == [
        Medal.GOLD,
        Medal.SILVER,
        Medal.BRONZE,
        Medal.BRONZE,
        None,
    ]
    lucky = next(row for row in found.rows if row.submission == 0)
    assert (lucky.official_rank, lucky.official, lucky.rank) == (1, Medal.GOLD, 10)
    assert lucky.deserved is not None
    assert lucky.deserved < 0.01
    assert found.wrong_medals == pytest.approx(4, abs=0.3)


def test_a_team_stands_by_the_submission_with_its_best_official_score(tmp_path: Path) -> None:
    teams = write(
        tmp_path / "Submissions.csv", ("Id", "TeamId"), [(n, 100 + n // 2) for n in range(10)]
    )
    found = measure_luck(contest(tmp_path, season(2), teams=teams))
    assert sorted((row.team, row.submission) for row in found.rows) == [
        (100 + n, 2 * n) for n in range(5)
    ]


def test_the_command_prints_and_draws_the_board(tmp_path: Path) -> None:
    paths = [str(path) for path in tables(tmp_path, season(3))]
    picture = tmp_path / "odds.svg"
    run = CliRunner().invoke(full_app(), ["luck", *paths, "--draw", str(picture), "--rows", "4"])
    assert run.exit_code == 0, run.output
    assert "official medals went to teams that deserve another class" in " ".join(
        run.output.split()
    )
    circles = [each for each in ElementTree.parse(picture).iter() if each.tag.endswith("circle")]
    assert len(circles) == 4
    told = CliRunner().invoke(full_app(), ["luck", *paths, "--json"])
    assert len(json.loads(told.output)["rows"]) == 10
    wrong = CliRunner().invoke(full_app(), ["luck", *paths, "--competition", "1"])
    assert isinstance(wrong.exception, MissingInput)
    assert "competition" in str(wrong.exception)
