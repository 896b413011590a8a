"""Lays out brackets and cross-tables for drawing. Units are columns and rows, not pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ladder.tournaments.formats.plan import Groups
from ladder.tournaments.formats.records import Course, Event, Key, Pairing, Takes
from ladder.tournaments.formats.round_robin import divide_into_groups


@dataclass(frozen=True, slots=True)
class Box:
    """A pairing in the drawing."""

    key: Key
    column: int
    """From 0."""
    y: float
    """Middle of the box in rows from the top of the drawing; a box needs one row."""


@dataclass(frozen=True, slots=True)
class Link:
    """A line between two boxes."""

    source: Key
    target: Key
    takes: Takes
    """WINNER, LOSER, or RANK where a whole round feeds the next one."""


@dataclass(frozen=True)
class Bracket:
    """A drawing of one stage."""

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    columns: tuple[str, ...]
    """Title of each column."""
    height: float
    """In rows."""


@dataclass(frozen=True)
class CrossTable:
    """Scores of each entrant against each other one."""

    entrants: tuple[int, ...]
    cells: Mapping[tuple[int, int], float]
    """(row, column): the row's score; missing if they have not finished a pairing."""


def bracket(course: Course, stage: int) -> Bracket:
    """Returns a drawing of the stage: a tree for a knock-out, else one column for each round."""
    pairings = course.stage(stage)
    linked = any(origin.key for pairing in pairings for origin in pairing.origins)
    return _tree(pairings) if linked else _columns(pairings)


def _columns(pairings: Sequence[Pairing]) -> Bracket:
    rounds = sorted({pairing.key.round for pairing in pairings})
    boxes = []
    height = 0.0
    for column, round in enumerate(rounds):
        members = [pairing for pairing in pairings if pairing.key.round == round]
        boxes += [Box(pairing.key, column, row + 0.5) for row, pairing in enumerate(members)]
        height = max(height, float(len(members)))
    titles = tuple(
        next(pairing.title for pairing in pairings if pairing.key.round == round)
        for round in rounds
    )
    return Bracket(tuple(boxes), (), titles, height)


def _tree(pairings: Sequence[Pairing]) -> Bracket:
    """Places each box in the middle of the boxes whose winners come to it.

    The losers' bracket stands below the winners' bracket, in the same columns.
    """
    at: dict[Key, float] = {}
    bottom = 0.0
    for losers in (False, True):
        start, height = bottom, 0.0
        for pairing in pairings:
            if (pairing.section == "losers") is not losers or pairing.section == "third place":
                continue
            feeding = [
                at[origin.key]
                for origin in pairing.origins
                if origin.key in at and origin.takes is Takes.WINNER
            ]
            if losers:
                feeding = [y for y in feeding if y >= start]
            if feeding:
                at[pairing.key] = sum(feeding) / len(feeding)
            else:
                at[pairing.key] = start + height + 0.5
                height += 1.0
        bottom = start + height
    for pairing in pairings:
        if pairing.key not in at:
            at[pairing.key] = bottom + 0.5
            bottom += 1.0
    _place_finals(pairings, at)
    rounds = sorted({pairing.key.round for pairing in pairings})
    column = {round: n for n, round in enumerate(rounds)}
    links = tuple(
        Link(origin.key, pairing.key, origin.takes)
        for pairing in pairings
        for origin in pairing.origins
        if origin.key is not None
    )
    titles = tuple(_column_title(pairings, round) for round in rounds)
    boxes = tuple(
        Box(pairing.key, column[pairing.key.round], at[pairing.key]) for pairing in pairings
    )
    return Bracket(boxes, links, titles, bottom)


def _place_finals(pairings: Sequence[Pairing], at: dict[Key, float]) -> None:
    """Puts the finals of a double elimination in a line with the last winners' pairing."""
    winners = [pairing.key for pairing in pairings if pairing.section == "winners"]
    if winners:
        for pairing in pairings:
            if pairing.section == "final":
                at[pairing.key] = at[winners[-1]]


def _column_title(pairings: Sequence[Pairing], round: int) -> str:
    titles = dict.fromkeys(
        pairing.title
        for pairing in pairings
        if pairing.key.round == round and pairing.section != "third place"
    )
    return " / ".join(titles)


def cross_table(event: Event, course: Course, stage: int, group: int = 0) -> CrossTable:
    """Returns who scored what against whom, in the seed order of the stage or of its group."""
    field = course.fields[stage - 1]
    plan = event.plan.stages[stage - 1]
    if isinstance(plan, Groups) and group:
        field = tuple(divide_into_groups(field, plan.groups)[group - 1])
    cells: dict[tuple[int, int], float] = {}
    for pairing in course.stage(stage):
        outcome = pairing.outcome
        if outcome is None or len(outcome.order) != 2 or not set(outcome.order) <= set(field):
            continue
        first, second = outcome.order
        cells[first, second] = cells.get((first, second), 0.0) + outcome.scores[0]
        cells[second, first] = cells.get((second, first), 0.0) + outcome.scores[1]
    return CrossTable(field, cells)
