"""Pairs a round robin by Berger's tables, groups of such, and a gauntlet. All rounds are known."""

from __future__ import annotations

from collections.abc import Sequence

from ladder.tournaments.formats.plan import Gauntlet, Groups, RoundRobin
from ladder.tournaments.formats.records import Key, Pairing
from ladder.tournaments.formats.stage_run import Place, StageCourse, StageRun, is_finished


def berger_rounds(size: int, cycles: int = 1) -> list[list[tuple[int, int]]]:
    """Returns the rounds of Berger's tables: pairs of numbers from 1, first seat first.

    With an odd size the opponent of the last number has a bye, and its pair is left out. A second
    cycle changes the seats. Source: FIDE Handbook, C.05 Annex 1.
    """
    even = size + size % 2
    order = list(range(1, even))
    rounds = []
    for number in range(even - 1):
        pairs = [(order[0], even) if number % 2 == 0 else (even, order[0])]
        pairs += [(order[n], order[even - 1 - n]) for n in range(1, even // 2)]
        rounds.append([pair for pair in pairs if max(pair) <= size])
        half = even // 2
        order = order[half:] + order[:half]
    return rounds + [
        [(second, first) for first, second in pairs] for pairs in (rounds if cycles == 2 else [])
    ]


def divide_into_groups(field: Sequence[int], groups: int) -> list[list[int]]:
    """Deals the field out in a serpentine, so that the groups are equally strong."""
    dealt: list[list[int]] = [[] for _ in range(groups)]
    for n, entrant in enumerate(field):
        row, place = divmod(n, groups)
        dealt[place if row % 2 == 0 else groups - 1 - place].append(entrant)
    return dealt


def run_round_robin(run: StageRun, stage: RoundRobin) -> StageCourse:
    """Returns the course of a round robin."""
    return _run_tables(run, stage, [list(run.field)], stage.cycles)


def run_groups(run: StageRun, stage: Groups) -> StageCourse:
    """Returns the course of all groups; they play their rounds at the same time."""
    groups = divide_into_groups(run.field, stage.groups)
    return _run_tables(run, stage, groups, stage.cycles)


def _run_tables(
    run: StageRun, stage: RoundRobin | Groups, groups: Sequence[Sequence[int]], cycles: int
) -> StageCourse:
    rounds: list[list[tuple[int, int, int]]] = []
    for group, members in enumerate(groups, 1):
        for n, pairs in enumerate(berger_rounds(len(members), cycles)):
            if n == len(rounds):
                rounds.append([])
            rounds[n] += [
                (group, members[first - 1], members[second - 1]) for first, second in pairs
            ]
    pairings: list[Pairing] = []
    for n, round in enumerate(rounds, 1):
        for number, (group, first, second) in enumerate(round, 1):
            section = f"group {group}" if isinstance(stage, Groups) else ""
            reason = f"Round {n} of Berger's table; everybody meets everybody."
            if section:
                reason = f"Round {n} of Berger's table of {section}."
            place = Place(Key(run.number, n, number), section, f"Round {n}", reason)
            pairings.append(run.duel(place, (first, second), stage.series, needs_winner=False))
    return StageCourse(tuple(pairings), is_finished(pairings))


def run_gauntlet(run: StageRun, stage: Gauntlet) -> StageCourse:
    """Returns the course of a gauntlet: each of the first entrants meets all the others."""
    heads, others = run.field[: stage.heads], run.field[stage.heads :]
    most = max(len(heads), len(others))
    subject = "The first entrant" if len(heads) == 1 else f"Each of the first {len(heads)} entrants"
    pairings: list[Pairing] = []
    for n in range(most):
        met = [
            (head, others[turn])
            for h, head in enumerate(heads)
            if (turn := (n + h) % most) < len(others)
        ]
        for number, (head, other) in enumerate(met, 1):
            reason = f"{subject} meets each of the others."
            place = Place(Key(run.number, n + 1, number), "", f"Round {n + 1}", reason)
            pair = (head, other) if n % 2 == 0 else (other, head)
            pairings.append(run.duel(place, pair, stage.series, needs_winner=False))
    return StageCourse(tuple(pairings), is_finished(pairings))
