"""Where the medal lines of a season lie on its board, and whether a team is near one. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Final

from pydantic import Field

from ladder.field_types import RECORD
from ladder.leagues.medals import BEST_FIRST, Medal
from ladder.standings.board_ranking import Board

SURE: Final = NormalDist().inv_cdf(0.975)
"""Half of a 95 % interval in standard deviations."""


@dataclass(frozen=True, slots=True)
class MedalLine:
    """The least score of a medal now."""

    __pydantic_config__ = RECORD
    medal: Medal
    score: Annotated[float, Field(examples=[812.4])]
    agent: Annotated[str, Field(examples=["survivor+100"])]
    """The reference agent that names the line, and the distance from its score; empty if the line
    is a number."""
    place: Annotated[int, Field(exclude=True)]
    """Number of the board's rows above the line."""


@dataclass(frozen=True, slots=True)
class MedalLines:
    """The medal lines of a board, best first."""

    __pydantic_config__ = RECORD
    lines: tuple[MedalLine, ...]
    best_score: float | None
    """Score of the best team; None while no team has a rank."""
    is_out_of_reach: bool
    """Whether teams have ranks and the 95 % interval of none reaches the lowest line."""


def medal_lines(board: Board) -> MedalLines | None:
    """Returns the lines of a board; None if ranks decide."""
    scores = board.terms.rules.lines
    if scores is None:
        return None
    stated = board.terms.stated.to_json()
    order = board.rows.order
    lines = tuple(
        MedalLine(
            medal,
            score,
            line if isinstance(line := stated.get(medal.value), str) else "",
            order.first_below(score),
        )
        for medal, score in zip(BEST_FIRST, scores, strict=True)
    )
    teams = [
        order.score_and_sigma(each)
        for each in map(order.entry, range(len(order)))
        if each.games > 0 and not each.is_anchor
    ]
    return MedalLines(
        lines,
        max((score for score, _ in teams), default=None),
        bool(teams) and all(score + SURE * sigma < scores[-1] for score, sigma in teams),
    )
