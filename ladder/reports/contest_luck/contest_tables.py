"""Reads a contest from the tables in which Kaggle publishes its simulation contests (Meta Kaggle).

``Episodes.csv`` has Id and CompetitionId. ``EpisodeAgents.csv`` has EpisodeId, Index, Reward,
SubmissionId and UpdatedScore. ``Submissions.csv`` has Id and TeamId; without it each submission is
a team of its own. Other columns are ignored, and texts are never read.

A higher reward is better, equal rewards tie, and a seat without a reward is at fault. Episodes with
one submission in several seats are validations and do not count. The last UpdatedScore of a
submission is its official score; later episodes have higher ids.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.errors import Invalid
from ladder.ratings.official.game_table import GameTable

MOST_SEATS: Final = 64
LARGEST_ID: Final = 2**53
Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Contest:
    """The results of a contest; contenders are numbered by submission id."""

    games: GameTable
    submissions: Ids
    teams: Ids
    """Team id of each submission; the submission's own id if teams are unknown."""
    official: Floats
    """Last official score of each submission in points; NaN: unknown."""


def read_contest(
    episodes: Path, agents: Path, competition: int | None = None, teams: Path | None = None
) -> Contest:
    """Reads the results of one contest. ``competition`` is needed if the table holds several.

    Raises Invalid, which names the file, the line and the remedy, and OSError.
    """
    wanted = _read_episode_ids(episodes, competition)
    seats = _read_seats(agents, wanted)
    team_of = {} if teams is None else dict(_numbers(teams, ("Id", "TeamId")))
    return _contest_of_seats(seats, team_of)


def _read_episode_ids(path: Path, competition: int | None) -> set[int]:
    found: dict[int, set[int]] = {}
    for episode, contest in _numbers(path, ("Id", "CompetitionId")):
        if competition is None or contest == competition:
            found.setdefault(contest, set()).add(episode)
    if len(found) > 1:
        some = ", ".join(str(each) for each in sorted(found)[:8])
        raise Invalid("competition", f"choose one; {path.name} holds {len(found)}, such as {some}")
    if not found:
        raise Invalid("competition", f"{path.name} has no episode of it; check the number")
    return next(iter(found.values()))


def _read_seats(path: Path, wanted: Collection[int]) -> NDArray[np.float64]:
    """Returns [seats, 5]: episode, seat, submission, reward, official score; NaN if missing."""
    columns = ("EpisodeId", "Index", "SubmissionId", "Reward", "UpdatedScore")
    rows: list[tuple[int, int, int, float, float]] = []
    for line, row in _rows(path, columns):
        episode = _whole(path, line, "EpisodeId", row[0])
        if episode not in wanted:
            continue
        seat = _whole(path, line, "Index", row[1])
        if seat >= MOST_SEATS:
            raise Invalid("agents", f"{path.name} line {line}: Index must be below {MOST_SEATS}")
        submission = _whole(path, line, "SubmissionId", row[2])
        reward = _decimal(path, line, "Reward", row[3])
        rows.append((episode, seat, submission, reward, _decimal(path, line, columns[4], row[4])))
    if not rows:
        raise Invalid("agents", f"{path.name} has no seat of these episodes; give their own table")
    return np.array(rows)


def _contest_of_seats(rows: NDArray[np.float64], team_of: dict[int, int]) -> Contest:
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    submissions, who = np.unique(rows[:, 2].astype(np.int64), return_inverse=True)
    episode = np.unique(rows[:, 0], return_inverse=True)[1]
    seat = rows[:, 1].astype(np.intp)
    shape = (int(episode[-1]) + 1, int(seat.max()) + 1)
    contenders = np.full(shape, -1, np.int32)
    contenders[episode, seat] = who
    rewards = np.full(shape, -np.inf)
    rewards[episode, seat] = np.where(np.isnan(rows[:, 3]), -np.inf, rows[:, 3])
    faults = np.zeros(shape, np.bool_)
    faults[episode, seat] = np.isnan(rows[:, 3])
    ranks = 1 + (rewards[:, None, :] > rewards[:, :, None]).sum(axis=2)
    ordered = np.sort(contenders, axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    played = ~twice & ((contenders >= 0).sum(axis=1) > 1)
    if not played.any():
        raise Invalid("agents", "no episode has two different submissions; give a whole contest")
    games = GameTable(contenders, ranks.astype(np.int16), faults).take(np.flatnonzero(played))
    official = np.full(len(submissions), np.nan)
    scored = ~np.isnan(rows[:, 4])
    official[who[scored]] = rows[scored, 4]  # the last one of each stays
    teams = np.array([team_of.get(int(each), int(each)) for each in submissions], np.int64)
    return Contest(games, submissions, teams, official)


def _numbers(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields two whole numbers a row; skips rows without the second."""
    for line, (first, second) in _rows(path, columns):
        if second:
            yield (
                _whole(path, line, columns[0], first),
                _whole(path, line, columns[1], second),
            )


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yields line numbers and these columns."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        try:
            head = next(rows, [])
            missing = [name for name in columns if name not in head]
            if missing:
                raise Invalid(path.name, f"needs the column {missing[0]}; give Meta Kaggle's table")
            places = [head.index(name) for name in columns]
            last = max(places)
            for row in rows:
                if len(row) <= last:
                    raise Invalid(path.name, f"line {rows.line_num} is cut off; get the file again")
                yield rows.line_num, [row[place] for place in places]
        except (csv.Error, UnicodeDecodeError):
            raise Invalid(path.name, f"line {rows.line_num + 1} is not a row of a CSV") from None


def _whole(path: Path, line: int, column: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 17 and int(text) < LARGEST_ID):
        raise Invalid(path.name, f"line {line}: {column} must be a whole number of at least 0")
    return int(text)


def _decimal(path: Path, line: int, column: str, text: str) -> float:
    try:
        number = float(text) if text else math.nan
    except ValueError:
        number = math.inf
    if math.isinf(number):
        raise Invalid(path.name, f"line {line}: {column} must be a number or empty")
    return number
