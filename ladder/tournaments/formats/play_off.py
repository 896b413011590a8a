"""Adds a play-off to a table if the plan declares more games as a tie-break.

Only a tie that decides who goes on, or the first place of the last stage, is played off. Two tied
entrants play one series that has a winner; more play a round robin.
"""

from __future__ import annotations

from ladder.tournaments.formats.plan import Groups, TieBreak
from ladder.tournaments.formats.records import Key, Pairing
from ladder.tournaments.formats.round_robin import berger_rounds, divide_into_groups
from ladder.tournaments.formats.stage_run import Place, StageCourse, StageRun, is_finished
from ladder.tournaments.formats.standings import Tables
from ladder.tournaments.formats.tie_breaks import read_record, tied_groups


def add_play_off(run: StageRun, course: StageCourse) -> StageCourse:
    """Returns the course with its play-off, if one is declared and needed."""
    stage = run.stage
    assert isinstance(stage, Tables)
    if not course.finished or TieBreak.MORE_GAMES not in stage.tie_breaks:
        return course
    last = max((each.key.round for each in course.pairings), default=0)
    rounds: list[list[tuple[int, int, bool]]] = []
    for tie in _ties(run, stage, course):
        only_two = len(tie) == 2
        for n, pairs in enumerate(berger_rounds(len(tie))):
            if n == len(rounds):
                rounds.append([])
            rounds[n] += [(tie[one - 1], tie[two - 1], only_two) for one, two in pairs]
    pairings: list[Pairing] = []
    for n, round in enumerate(rounds, 1):
        for number, (one, two, only_two) in enumerate(round, 1):
            place = Place(
                Key(run.number, last + n, number),
                "play-off",
                "Play-off",
                "All tie-breaks before more games are equal, and the tie decides who goes on.",
            )
            pairings.append(run.duel(place, (one, two), stage.series, needs_winner=only_two))
    return StageCourse((*course.pairings, *pairings), is_finished(pairings), course.paired)


def _ties(run: StageRun, stage: Tables, course: StageCourse) -> list[list[int]]:
    """Returns the groups of equal entrants that the cut divides."""
    fields = (
        divide_into_groups(run.field, stage.groups)
        if isinstance(stage, Groups)
        else [list(run.field)]
    )
    before = stage.tie_breaks[: stage.tie_breaks.index(TieBreak.MORE_GAMES)]
    cut = stage.advance or 1
    record = read_record(run, run.field, course.pairings)
    after_last = max((each.key.round for each in course.pairings), default=0) + 1
    here = set(run.here(after_last))
    found = []
    for members in fields:
        members = sorted(
            (each for each in members if each in here),
            key=lambda each: run.seeds[each],
        )
        place = 0
        for group in tied_groups(members, record, before):
            if place < cut < place + len(group):
                found.append(group)
            place += len(group)
    return found
