"""Makes the table of a stage, also while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Final

from ladder.tournaments.formats.heats import missed_heats
from ladder.tournaments.formats.plan import (
    DoubleElimination,
    Gauntlet,
    Groups,
    Heats,
    RoundRobin,
    SingleElimination,
    Solo,
    Swiss,
    TieBreak,
)
from ladder.tournaments.formats.records import (
    By,
    Pairing,
    Standing,
    State,
    decimal_text,
    exact,
    texts_apart,
)
from ladder.tournaments.formats.round_robin import divide_into_groups
from ladder.tournaments.formats.stage_run import StageRun
from ladder.tournaments.formats.tie_breaks import Record, order_by_tie_breaks, read_record
from ladder.tournaments.mean_names import POINTS_A_HEAT

Tables = RoundRobin | Groups | Swiss | Gauntlet
NEXT_LEFT: Final = "the next withdrew or was disqualified"
LastPlace = tuple[float, float, float, float]
"""What orders entrants of a knock-out; ``_last_place`` explains it."""


def stage_standings(run: StageRun, pairings: Sequence[Pairing]) -> list[Standing]:
    """Returns the lines of the table, best first; groups follow one another.

    Whatever the format, who left the stage stands behind all who stayed.
    """
    lines: list[Standing] = []
    for group, members in _groups(run):
        order = _order_of_format(run, group, members, pairings)
        stayed = order([member for member in members if run.gone_after(member) is None])
        left = order([member for member in members if run.gone_after(member) is not None])
        if stayed and left:
            text = "; ".join(filter(None, (stayed[-1].explanation, NEXT_LEFT)))
            stayed[-1] = replace(stayed[-1], explanation=text)
        lines += stayed + [replace(line, rank=len(stayed) + line.rank) for line in left]
    return lines


def _order_of_format(
    run: StageRun, group: int, members: Sequence[int], pairings: Sequence[Pairing]
) -> Callable[[Sequence[int]], list[Standing]]:
    """Returns the function that orders some members of a table, given in seed order."""
    stage = run.stage
    if isinstance(stage, RoundRobin | Groups | Swiss | Gauntlet):
        own = [pairing for pairing in pairings if set(pairing.entrants) <= set(members)]
        record = read_record(run, members, own)
        return partial(_table, record, stage.tie_breaks, group)
    if isinstance(stage, Heats):
        return partial(_heat_table, score_heats(run, pairings, missed_heats(run, stage, pairings)))
    return partial(_knockout_table, run, pairings)


def _groups(run: StageRun) -> list[tuple[int, list[int]]]:
    if isinstance(run.stage, Groups):
        return list(enumerate(divide_into_groups(run.field, run.stage.groups), 1))
    return [(0, list(run.field))]


def _table(
    record: Record, tie_breaks: Sequence[TieBreak], group: int, members: Sequence[int]
) -> list[Standing]:
    return [
        Standing(
            rank,
            ranked.entrant,
            group,
            sum(duel.score for duel in record.duels[ranked.entrant]),
            sum(duel.opponent is not None for duel in record.duels[ranked.entrant]),
            sum(duel.score == 1.0 for duel in record.duels[ranked.entrant]),
            ranked.values,
            ranked.explanation,
        )
        for rank, ranked in enumerate(order_by_tie_breaks(members, record, tie_breaks), 1)
    ]


def _heat_table(scores: HeatScores, members: Sequence[int]) -> list[Standing]:
    """Orders by points and then by wins, both per heat, then by seed."""
    means = {member: scores.points_a_heat(member) for member in members}
    order = sorted(members, key=lambda member: (-means[member], -scores.wins_a_heat(member)))
    lines = []
    for rank, entrant in enumerate(order, 1):
        below = order[rank : rank + 1]
        text = _explain_heats(scores, entrant, below[0]) if below else ""
        points, played, wins = scores.points[entrant], scores.played[entrant], scores.wins[entrant]
        ties = [(TieBreak.WINS.value, str(wins))]
        if not scores.is_even:
            ties.insert(0, (POINTS_A_HEAT, decimal_text(means[entrant])))
        lines.append(Standing(rank, entrant, 0, points, played, wins, tuple(ties), text))
    return lines


def _explain_heats(scores: HeatScores, entrant: int, below: int) -> str:
    """Says why an entrant stands before the one below it."""
    upper, lower = scores.points_a_heat(entrant), scores.points_a_heat(below)
    if upper != lower and scores.is_even:
        return f"points: {scores.points[entrant]:g}; the next has {scores.points[below]:g}"
    if upper != lower:
        own, other = texts_apart(upper, lower)
        text = f"points per heat: {own}; the next has {other}"
        missed = scores.missed[below] > 0
        return text + (", as heats that it missed count 0" if missed else "")
    if scores.wins_a_heat(entrant) != scores.wins_a_heat(below):
        if scores.is_even:
            wins = scores.wins
            return f"same points; heats won: {wins[entrant]}; the next has {wins[below]}"
        shares = [
            f"{scores.wins[number]} of {scores.counted(number)}" for number in (entrant, below)
        ]
        return f"same points per heat; heats won: {shares[0]}; the next has {shares[1]}"
    return "all equal; better seed"


def _knockout_table(
    run: StageRun, pairings: Sequence[Pairing], members: Sequence[int]
) -> list[Standing]:
    """Orders by the round in which each entrant left; those who are still in come first."""
    stage = run.stage
    left_at = {item: _last_place(run, item, pairings) for item in members}
    order = sorted(members, key=left_at.__getitem__)
    shared = isinstance(stage, SingleElimination | DoubleElimination)
    lines: list[Standing] = []
    for n, entrant in enumerate(order, 1):
        same = shared and lines and left_at[order[n - 2]] == left_at[entrant]
        own = [
            item for item in pairings if item.outcome is not None and entrant in item.outcome.order
        ]
        met = [item for item in own if item.outcome and item.outcome.by is not By.BYE]
        wins = sum(item.outcome.order[0] == entrant for item in met if item.outcome)
        if isinstance(stage, Solo):
            wins = 0
        score = own[-1].outcome.score_of(entrant) if own and own[-1].outcome else 0.0
        if shared:
            score = float(wins)
        if isinstance(stage, Solo):
            below = [left_at[item] for item in order[n : n + 1]]
            text = _explain_solo(run.number, left_at[entrant], below)
        else:
            text = f"last in: {own[-1].title}" if own and own[-1].title else ""
        rank = lines[-1].rank if same else n
        lines.append(Standing(rank, entrant, 0, score, len(met), wins, (), text))
    return lines


def drawn_winners(run: StageRun, pairings: Sequence[Pairing]) -> tuple[int, ...]:
    """Returns the entrants whom only the draw orders at the top of a finished solo stage.

    Empty if one entrant is the best, or if all left. In a later stage the stage before orders equal
    rewards.
    """
    if not isinstance(run.stage, Solo) or run.number > 1:
        return ()
    places = {
        number: _last_place(run, number, pairings)
        for number in run.field
        if run.gone_after(number) is None
    }
    best = min(places.values(), default=None)
    drawn = [number for number in run.field if places.get(number, ()) == best]
    return tuple(drawn) if len(drawn) > 1 else ()


def _explain_solo(stage: int, last: LastPlace, below: Sequence[LastPlace]) -> str:
    """Says why an entrant of a solo stage stands before the one below it, if there is one."""
    round, finished, _, reward = last
    if not finished:
        return f"its games of round {-round:g} are not finished"
    if not below:
        return ""
    if round != below[0][0]:
        return f"reached round {-round:g}; the next reached round {-below[0][0]:g}"
    if reward == below[0][3]:
        why = "first by the draw" if stage == 1 else "better place in the stage before"
        return f"same reward; {why}"
    own, other = texts_apart(Fraction(-reward), Fraction(-below[0][3]))
    return f"reward {own}; the next has {other}"


def _last_place(run: StageRun, entrant: int, pairings: Sequence[Pairing]) -> LastPlace:
    """Returns what orders entrants of a knock-out: smaller is better.

    The last round that the entrant reached counts first. Then come unfinished or finished, place
    and points there. In a bracket all who lost in one round are equal.
    """
    own = [
        pairing
        for pairing in pairings
        if entrant in pairing.entrants and pairing.state is not State.VOID
    ]
    if not own:  # it waits for the second round
        return (-2.0, 0.0, 0.0, 0.0)
    last = own[-1]
    outcome = last.outcome
    reached = -float(last.key.round)
    if isinstance(run.stage, SingleElimination | DoubleElimination):
        third = last.section == "third place"
        won = outcome is None or outcome.order[0] == entrant
        return (reached, float(third), float(not won), 0.0)
    if outcome is None:
        return (reached, 0.0, 0.0, 0.0)
    return (reached, 1.0, 0.0, -outcome.score_of(entrant))


@dataclass(frozen=True)
class HeatScores:
    """What each entrant of the stage has after some heats."""

    points: Mapping[int, float]
    played: Mapping[int, int]
    """Finished heats."""
    wins: Mapping[int, int]
    missed: Mapping[int, int]
    """Heats that were planned for the entrant when it left; they count 0."""

    def counted(self, entrant: int) -> int:
        """Returns the number of heats by which points and wins are divided."""
        return max(1, self.played[entrant] + self.missed[entrant])

    @cached_property
    def is_even(self) -> bool:
        """Whether the same number of heats counts for everybody, so that points order them."""
        return len({self.counted(entrant) for entrant in self.points}) < 2

    def points_a_heat(self, entrant: int) -> Fraction:
        """Returns the exact mean."""
        return exact(self.points[entrant]) / self.counted(entrant)

    def wins_a_heat(self, entrant: int) -> Fraction:
        """Returns the share of won heats."""
        return Fraction(self.wins[entrant], self.counted(entrant))


def score_heats(
    run: StageRun, pairings: Iterable[Pairing], missed: Mapping[int, int]
) -> HeatScores:
    """Scores the finished ones of these heats."""
    points = dict.fromkeys(run.field, 0.0)
    played = dict.fromkeys(run.field, 0)
    wins = dict.fromkeys(run.field, 0)
    for pairing in pairings:
        if pairing.outcome is not None:
            for entrant, gained in zip(pairing.outcome.order, pairing.outcome.scores, strict=True):
                points[entrant] += gained
                played[entrant] += 1
            wins[pairing.outcome.order[0]] += 1
    return HeatScores(
        points, played, wins, {entrant: missed.get(entrant, 0) for entrant in run.field}
    )
