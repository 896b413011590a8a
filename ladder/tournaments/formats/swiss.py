"""Runs a Swiss stage: round after round, by the results so far. ``dutch`` makes the pairings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from ladder.tournaments.formats.plan import Swiss
from ladder.tournaments.formats.records import By, Key, Outcome, PairedRound, Pairing, draw_number
from ladder.tournaments.formats.stage_run import Place, StageCourse, StageRun, is_finished
from ladder.tournaments.formats.trf import (
    ABSENT,
    BYE,
    DRAW,
    FORFEIT_LOSS,
    FORFEIT_WIN,
    LOSS,
    WIN,
    Player,
    Report,
    RoundOf,
    renumber,
    write_report,
)


def run_swiss(run: StageRun, stage: Swiss) -> StageCourse:
    """Returns the course of a Swiss stage up to its first unfinished round."""
    rounds: list[list[Pairing]] = []
    while len(rounds) < stage.rounds:
        paired = pair_round(run, stage, rounds)
        rounds.append(_pairings_of_round(run, stage, rounds, paired))
        if not is_finished(rounds[-1]):
            break
    done = len(rounds) == stage.rounds and is_finished(rounds[-1])
    return StageCourse(tuple(pairing for round in rounds for pairing in round), done, run.paired)


def pair_round(run: StageRun, stage: Swiss, rounds: Sequence[Sequence[Pairing]]) -> PairedRound:
    """Pairs the round after these, or returns it as it was paired before on the same basis."""
    number = len(rounds) + 1
    here = set(run.here(number))
    absent = frozenset(run.seeds[entrant] for entrant in run.field if entrant not in here)
    report = swiss_report(run, stage, rounds, ["-"] * len(run.field))
    text = write_report(report) + " ".join(map(str, sorted(absent)))
    basis = hashlib.sha256(text.encode()).hexdigest()
    paired = run.known_round(number, basis)
    if paired is None:
        paired = _pair(run, report, absent, basis)
    run.paired[run.number, number] = paired
    return paired


def _pair(run: StageRun, report: Report, absent: frozenset[int], basis: str) -> PairedRound:
    here = [entrant for n, entrant in enumerate(run.field, 1) if n not in absent]
    if len(here) < 2:
        return PairedRound(basis, tuple((entrant,) for entrant in here))
    from ladder.tournaments.formats.dutch import pair_dutch  # py4swiss is slow to import

    paired = pair_dutch(report, absent)
    pairs = tuple(
        tuple(run.field[number - 1] for number in pair if number) for pair in paired.pairs
    )
    return PairedRound(basis, pairs, paired.note)


def _pairings_of_round(
    run: StageRun, stage: Swiss, rounds: Sequence[Sequence[Pairing]], paired: PairedRound
) -> list[Pairing]:
    number = len(rounds) + 1
    score = swiss_scores(run, rounds)
    here = [entrant for pair in paired.pairs for entrant in pair]
    pairings = []
    for n, pair in enumerate(paired.pairs, 1):
        key = Key(run.number, number, n)
        reason = _reason([score[entrant] for entrant in pair], paired.note)
        if not paired.note:
            reason += _team_mates(run, pair, here, score)
        place = Place(key, "", f"Round {number}", reason)
        if len(pair) == 1:
            pairings.append(run.bye(place, pair[0]))
        else:
            pairings.append(run.duel(place, (pair[0], pair[1]), stage.series, needs_winner=False))
    return pairings


def _reason(scores: Sequence[float], note: str) -> str:
    if len(scores) == 1:
        return "The number of entrants is odd; the Dutch system gives one of them the bye."
    higher, lower = sorted(scores, reverse=True)
    text = (
        f"Both have {higher:g} points and have not met."
        if higher == lower
        else f"Floated: {higher:g} and {lower:g} points; no pairing within the scores was possible."
    )
    if note:
        text = f"{text.split(' and have')[0].rstrip('.')}. The rules allow no pairing, so {note}."
    return text


def _team_mates(
    run: StageRun, pair: Sequence[int], here: Sequence[int], score: Mapping[int, float]
) -> str:
    """Says which entrants with the same score the floated one could not meet, being of its team."""
    if len({score[player] for player in pair}) < 2:
        return ""
    floated = max(pair, key=score.__getitem__)
    mates = [
        player
        for player in here
        if score[player] == score[floated]
        and (min(player, floated), max(player, floated)) in run.event.prohibited
    ]
    if not mates:
        return ""
    names = ", ".join(f"{{{player}}}" for player in [floated, *mates[:-1]])
    return f" {names} and {{{mates[-1]}}} are of one team."


def swiss_scores(run: StageRun, rounds: Sequence[Sequence[Pairing]]) -> dict[int, float]:
    """Returns everybody's score after these rounds."""
    score = dict.fromkeys(run.field, 0.0)
    for round in rounds:
        for pairing in round:
            if pairing.outcome is not None:
                for entrant, gained in zip(
                    pairing.outcome.order, pairing.outcome.scores, strict=True
                ):
                    score[entrant] += gained
    return score


def swiss_report(
    run: StageRun,
    stage: Swiss,
    rounds: Sequence[Sequence[Pairing]],
    names: Sequence[str],
) -> Report:
    """Returns the report of these finished rounds; players are numbered by their seed."""
    lines: dict[int, list[RoundOf]] = {member: [] for member in run.field}
    for round in rounds:
        for pairing in round:
            for entrant, line in _round_of(run, pairing):
                lines[entrant].append(line)
        longest = max(map(len, lines.values()))
        for line_of in lines.values():
            line_of += [RoundOf(0, "-", ABSENT)] * (longest - len(line_of))
    players = tuple(
        Player(name, tuple(lines[entrant]), run.seeds[entrant])
        for name, entrant in zip(names, run.field, strict=True)
    )
    return Report(
        "Swiss",
        stage.rounds,
        players,
        draw_number(run.event.seed, run.label("color"), 2) == 0,
        renumber(sorted(run.event.prohibited), run.seeds),
    )


def _round_of(run: StageRun, pairing: Pairing) -> list[tuple[int, RoundOf]]:
    outcome = pairing.outcome
    assert outcome is not None
    if outcome.by is By.BYE:
        return [(outcome.order[0], RoundOf(0, "-", BYE))]
    white, black = pairing.entrants
    assert white is not None
    assert black is not None
    return [
        (white, RoundOf(run.seeds[black], "w", _result_code(outcome, white))),
        (black, RoundOf(run.seeds[white], "b", _result_code(outcome, black))),
    ]


def _result_code(outcome: Outcome, entrant: int) -> str:
    score = outcome.score_of(entrant)
    if outcome.by is By.WALK_OVER:
        return FORFEIT_WIN if score else FORFEIT_LOSS
    return {1.0: WIN, 0.5: DRAW, 0.0: LOSS}[score]
