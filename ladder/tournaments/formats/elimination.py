"""Runs single and double elimination. The whole bracket stands from the start.

A bracket has 2^k places. The best seeds have byes, which are places that nobody takes. Winners and
losers go on along fixed lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ladder.tournaments.formats.plan import DoubleElimination, SingleElimination
from ladder.tournaments.formats.records import Key, Origin, Pairing, State, Takes
from ladder.tournaments.formats.stage_run import Place, StageCourse, StageRun, is_finished

EMPTY = 0
"""Stands for a place that nobody will take."""


@dataclass(frozen=True, slots=True)
class Node:
    """A pairing of a bracket before its entrants are known."""

    key: Key
    section: str
    title: str
    origins: tuple[Origin, Origin]
    is_reset: bool = False
    """Whether it is played only if the loser of the first final had not lost before."""


def seed_order(places: int) -> list[int]:
    """Returns the seeds of a bracket from top to bottom: the best two meet in the final only."""
    order = [1]
    while len(order) < places:
        size = 2 * len(order) + 1
        order = [seed for better in order for seed in (better, size - better)]
    return order


def bracket_nodes(
    stage: SingleElimination | DoubleElimination, number: int, size: int
) -> list[Node]:
    """Returns the pairings of a bracket in order of play; ``number`` is the number of its stage."""
    depth = max(1, (size - 1).bit_length())
    winners = _winners(number, depth, isinstance(stage, DoubleElimination))
    nodes = [node for row in winners for node in row]
    if isinstance(stage, SingleElimination):
        final = winners[-1][0]
        if stage.third_place and depth > 1:
            losers = (_loser(winners[-2][0]), _loser(winners[-2][1]))
            key = Key(number, final.key.round, 2)
            nodes.append(Node(key, "third place", "Match for the third place", losers))
        return nodes
    last = _losers(number, winners)
    nodes += [node for row in last for node in row]
    champion = winners[-1][0]
    challenger = _winner(last[-1][0]) if last else _loser(champion)
    key = Key(number, 2 * depth, 1)
    final = Node(key, "final", "Final", (_winner(champion), challenger))
    nodes.append(final)
    if stage.reset:
        key = Key(number, 2 * depth + 1, 1)
        origins = (_loser(final), _winner(final))
        nodes.append(Node(key, "final", "Second final", origins, is_reset=True))
    return sorted(nodes, key=lambda node: node.key)


def _winner(node: Node) -> Origin:
    return Origin(Takes.WINNER, key=node.key)


def _loser(node: Node) -> Origin:
    return Origin(Takes.LOSER, key=node.key)


def _winners(number: int, depth: int, double: bool) -> list[list[Node]]:
    """Returns the rounds of the winners' bracket."""
    rows: list[list[Node]] = []
    feeding = [Origin(Takes.SEED, seed) for seed in seed_order(2**depth)]
    for level in range(1, depth + 1):
        round = level if not double or level == 1 else 2 * (level - 1)
        title = _title(depth - level)
        section = "winners" if double else "final" if level == depth else ""
        rows.append(
            [
                Node(
                    Key(number, round, n + 1),
                    section,
                    f"Winners' {title.lower()}" if double else title,
                    (feeding[2 * n], feeding[2 * n + 1]),
                )
                for n in range(len(feeding) // 2)
            ]
        )
        feeding = [_winner(node) for node in rows[-1]]
    return rows


def _title(rounds_left: int) -> str:
    names = ("Final", "Semi-final", "Quarter-final")
    return names[rounds_left] if rounds_left < 3 else f"Round of {2 ** (rounds_left + 1)}"


def _losers(number: int, winners: list[list[Node]]) -> list[list[Node]]:
    """Returns the rounds of the losers' bracket.

    Odd rounds pair those who are in it. Even rounds pair them with the new losers, in reverse order
    the first time, with each half reversed the second time, and so on. So equal opponents meet
    again rarely and late.
    """
    rows: list[list[Node]] = []
    feeding = [_loser(node) for node in winners[0]]
    for level in range(1, len(winners)):
        pairs = list(zip(feeding[::2], feeding[1::2], strict=True))
        rows.append(_losers_row(number, len(rows) + 1, pairs, winners))
        dropped = [_loser(node) for node in winners[level]]
        half = len(dropped) // 2
        dropped = dropped[::-1] if level % 2 else dropped[:half][::-1] + dropped[half:][::-1]
        feeding = [_winner(node) for node in rows[-1]]
        pairs = list(zip(feeding, dropped, strict=True))
        rows.append(_losers_row(number, len(rows) + 1, pairs, winners))
        feeding = [_winner(node) for node in rows[-1]]
    return rows


def _losers_row(
    number: int, row: int, pairs: list[tuple[Origin, Origin]], winners: list[list[Node]]
) -> list[Node]:
    rounds = 2 * (len(winners) - 1)
    before = len(winners[(row + 1) // 2]) if row % 2 else 0  # winners' pairings of the same round
    title = "Losers' final" if row == rounds else f"Losers' round {row}"
    return [
        Node(Key(number, row + 1, before + n), "losers", title, pair)
        for n, pair in enumerate(pairs, 1)
    ]


def run_elimination(run: StageRun, stage: SingleElimination | DoubleElimination) -> StageCourse:
    """Returns the course of a bracket."""
    pairings: dict[Key, Pairing] = {}
    for node in bracket_nodes(stage, run.number, len(run.field)):
        pairings[node.key] = _run_node(run, stage, node, pairings)
    return StageCourse(tuple(pairings.values()), is_finished(list(pairings.values())))


def _run_node(
    run: StageRun,
    stage: SingleElimination | DoubleElimination,
    node: Node,
    pairings: Mapping[Key, Pairing],
) -> Pairing:
    first, second = (_entrant(run, origin, pairings) for origin in node.origins)
    reason = _reason(node, pairings)
    place = Place(node.key, node.section, node.title, reason, node.origins)
    if node.is_reset and first is not None and second is not None:
        final = pairings[node.origins[0].key] if node.origins[0].key else None
        # The first entrant of the first final had not lost before. If it won, all is decided.
        if final is not None and final.entrants[0] == second:
            return run.void(place, (first, second))
    if first == EMPTY and second == EMPTY:
        return run.void(place)
    if first == EMPTY and second is not None:
        return run.bye(place, second)
    if second == EMPTY and first is not None:
        return run.bye(place, first)
    if first is None or second is None:
        return run.waiting(place, (first or None, second or None))
    return run.duel(place, (first, second), stage.series, needs_winner=True)


def _entrant(run: StageRun, origin: Origin, pairings: Mapping[Key, Pairing]) -> int | None:
    """Returns the entrant that comes from here, EMPTY if nobody will come, None if unknown."""
    if origin.key is None:
        return run.field[origin.number - 1] if origin.number <= len(run.field) else EMPTY
    source = pairings[origin.key]
    if source.state is State.VOID:
        return EMPTY
    if source.outcome is None:
        return None
    if origin.takes is Takes.WINNER:
        return source.outcome.order[0]
    return source.outcome.order[1] if len(source.outcome.order) > 1 else EMPTY


def _reason(node: Node, pairings: Mapping[Key, Pairing]) -> str:
    if node.is_reset:
        return _reason_of_reset(pairings, node.origins[0].key)
    first, second = (origin.text() for origin in node.origins)
    return f"The bracket joins {first} and {second}."


def _reason_of_reset(pairings: Mapping[Key, Pairing], key: Key | None) -> str:
    final = pairings[key] if key else None
    if final is None or final.outcome is None:
        return "It is played only if the entrant from the losers' bracket wins the first final."
    winner = final.outcome.order[0]
    if winner == final.entrants[0]:
        return f"Not needed: {{{winner}}} won the first final."
    return f"{{{winner}}} of the losers' bracket won the first final, so each has lost once."
