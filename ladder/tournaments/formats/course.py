"""Computes the whole course of a tournament from what is fixed and what happened. Pure.

If the plan declares more games as a tie-break, a play-off follows a table. Only a tie that decides
who goes on, or the first place of the last stage, is played off. Two tied entrants play one series
that has a winner; more play a round robin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ladder.tournaments.formats.elimination import run_elimination
from ladder.tournaments.formats.heats import run_heats, run_solo
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
    Course,
    Event,
    Key,
    PairedRound,
    Pairing,
    Position,
    Progress,
    Standing,
    State,
)
from ladder.tournaments.formats.round_robin import (
    berger_rounds,
    divide_into_groups,
    run_gauntlet,
    run_groups,
    run_round_robin,
)
from ladder.tournaments.formats.stage_run import Place, StageCourse, StageRun, is_finished
from ladder.tournaments.formats.standings import Tables, drawn_winners, stage_standings
from ladder.tournaments.formats.swiss import run_swiss
from ladder.tournaments.formats.tie_breaks import read_record, tied_groups


def play(event: Event, progress: Progress) -> Course:
    """Returns the course so far; equal arguments give equal courses.

    Results and published rounds beyond the first unfinished round of a stage that pairs by results
    are not used.
    """
    pairings: list[Pairing] = []
    fields: list[tuple[int, ...]] = []
    paired: dict[Position, PairedRound] = {}
    field = tuple(range(1, event.size + 1))
    ranking: tuple[int, ...] = ()
    drawn: tuple[int, ...] = ()
    champion: int | None = None
    for number in range(1, len(event.plan.stages) + 1):
        run = stage_run(event, progress, number, field)
        stage = _run_stage(run)
        fields.append(field)
        pairings += sorted(stage.pairings, key=lambda item: item.key)
        paired.update(stage.paired)
        if not stage.finished:
            break
        order = stage_standings(run, stage.pairings)
        if number == len(event.plan.stages):
            ranking = _final_ranking(order, fields, event, progress, pairings)
            stayed = [item for item in ranking if item not in progress.withdrawn]
            champion = stayed[0] if stayed else None
            drawn = drawn_winners(run, stage.pairings)
        else:
            field = _next_field(run, order, progress)
    return Course(
        pairings=tuple(pairings),
        position=_position(pairings),
        finished=bool(ranking),
        ranking=ranking,
        champion=champion,
        fields=tuple(fields),
        stale=_stale(progress, pairings),
        published=paired,
        drawn_winners=drawn,
    )


def stage_run(event: Event, progress: Progress, number: int, field: tuple[int, ...]) -> StageRun:
    """Returns a stage with its field; ``number`` counts from 1."""
    return StageRun(event, progress, event.plan.stages[number - 1], number, field)


def standings(event: Event, progress: Progress, course: Course, stage: int) -> list[Standing]:
    """Returns the table of a stage that has begun, best first, also while it runs."""
    run = stage_run(event, progress, stage, course.fields[stage - 1])
    return stage_standings(run, course.stage(stage))


def _run_stage(run: StageRun) -> StageCourse:
    match run.stage:
        case RoundRobin():
            stage = run_round_robin(run, run.stage)
        case Groups():
            stage = run_groups(run, run.stage)
        case Gauntlet():
            stage = run_gauntlet(run, run.stage)
        case Swiss():
            stage = run_swiss(run, run.stage)
        case SingleElimination() | DoubleElimination():
            return run_elimination(run, run.stage)
        case Heats():
            return run_heats(run, run.stage)
        case Solo():
            return run_solo(run, run.stage)
    return add_play_off(run, stage)


def _next_field(run: StageRun, order: Sequence[Standing], progress: Progress) -> tuple[int, ...]:
    """Returns who goes on, best first. Who withdrew leaves its place to the next one.

    From groups all winners come first, by group, then all seconds, and so on. So winners meet
    seconds of other groups first.
    """
    going: list[tuple[int, int, int]] = []
    for group in sorted({line.group for line in order}):
        lines = [line for line in order if line.group == group]
        here = [
            line.entrant
            for line in lines
            if (at := progress.withdrawn.get(line.entrant)) is None or at[0] > run.number
        ]
        kept = here[: run.stage.advance] or [lines[0].entrant]
        going += [(place, group, entrant) for place, entrant in enumerate(kept)]
    field = tuple(entrant for _, _, entrant in sorted(going))
    return field


def _final_ranking(
    last: Sequence[Standing],
    fields: Sequence[tuple[int, ...]],
    event: Event,
    progress: Progress,
    pairings: Sequence[Pairing],
) -> tuple[int, ...]:
    """Returns all entrants: those of the last stage first, then the others by the stage before.

    Who withdrew or was disqualified, in any stage, stands behind all who stayed.
    """
    ranking = [item.entrant for item in _by_rank(last)]
    for number in range(len(fields) - 1, 0, -1):
        run = stage_run(event, progress, number, fields[number - 1])
        table = stage_standings(run, [item for item in pairings if item.key.stage == number])
        ranking += [item.entrant for item in _by_rank(table) if item.entrant not in ranking]
    return tuple(sorted(ranking, key=lambda item: item in progress.withdrawn))


def _by_rank(table: Sequence[Standing]) -> list[Standing]:
    return sorted(table, key=lambda line: (line.rank, line.group)) if table else []


def _position(pairings: Sequence[Pairing]) -> Position:
    open_rounds = [
        pairing.round for pairing in pairings if pairing.state in (State.WAITING, State.READY)
    ]
    if open_rounds:
        return min(open_rounds)
    # There are none at all if too few are left for the first round of a stage.
    return max((pairing.round for pairing in pairings), default=(1, 1))


def _stale(progress: Progress, pairings: Sequence[Pairing]) -> tuple[Key, ...]:
    members: Mapping[Key, list[int]] = {
        pairing.key: sorted(entrant for entrant in pairing.entrants if entrant is not None)
        for pairing in pairings
    }
    return tuple(
        sorted(
            key
            for key, games in progress.results.items()
            if any(sorted(game.entrants) != members.get(key) for game in games)
        )
    )


def without_stale(progress: Progress, course: Course) -> Progress:
    """Returns the same progress without results that fit no pairing any more."""
    stale = set(course.stale)
    kept = {key: games for key, games in progress.results.items() if key not in stale}
    return replace(progress, results=kept)


def add_play_off(run: StageRun, course: StageCourse) -> StageCourse:
    """Returns the course with its play-off, if one is declared and needed."""
    stage = run.stage
    assert isinstance(stage, Tables)
    if not course.finished or TieBreak.MORE_GAMES not in stage.tie_breaks:
        return course
    last = max((pairing.key.round for pairing in course.pairings), default=0)
    rounds: list[list[tuple[int, int, bool]]] = []
    for tie in _ties(run, stage, course):
        only_two = len(tie) == 2
        for n, pairs in enumerate(berger_rounds(len(tie))):
            if n == len(rounds):
                rounds.append([])
            rounds[n] += [(tie[first - 1], tie[second - 1], only_two) for first, second in pairs]
    pairings: list[Pairing] = []
    for n, round in enumerate(rounds, 1):
        for number, (first, second, only_two) in enumerate(round, 1):
            place = Place(
                Key(run.number, last + n, number),
                "play-off",
                "Play-off",
                "All tie-breaks before more games are equal, and the tie decides who goes on.",
            )
            pairings.append(run.duel(place, (first, second), stage.series, needs_winner=only_two))
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
    after_last = max((item.key.round for item in course.pairings), default=0) + 1
    here = set(run.here(after_last))
    ties = []
    for members in fields:
        members = sorted(
            (item for item in members if item in here),
            key=lambda item: run.seeds[item],
        )
        place = 0
        for group in tied_groups(members, record, before):
            if place < cut < place + len(group):
                ties.append(group)
            place += len(group)
    return ties


def downstream(event: Event, course: Course, key: Key) -> tuple[Key, ...]:
    """Returns the pairings whose entrants can depend on the result of this one, in order.

    In a bracket these are the pairings that its winner or loser can reach. In rounds that are
    paired by results, these are all pairings of later rounds. All later stages depend on it.
    """
    stage = event.plan.stages[key.stage - 1]
    reached: set[Key] = {
        pairing.key for pairing in course.pairings if pairing.key.stage > key.stage
    }
    own = course.stage(key.stage)
    if isinstance(stage, SingleElimination | DoubleElimination):
        fed = {key}
        for pairing in own:
            if any(origin.key in fed for origin in pairing.origins):
                fed.add(pairing.key)
        reached |= fed - {key}
    elif isinstance(stage, Swiss | Solo):
        reached |= {pairing.key for pairing in own if pairing.key.round > key.round}
    else:
        reached |= {pairing.key for pairing in own if pairing.section == "play-off"} - {key}
    return tuple(sorted(reached))


def changed(before: Course, after: Course) -> tuple[Key, ...]:
    """Returns the pairings whose entrants or outcome differ, and those that only one course has."""
    old = {pairing.key: pairing for pairing in before.pairings}
    new = {pairing.key: pairing for pairing in after.pairings}
    return tuple(
        sorted(
            key
            for key in old.keys() | new.keys()
            if key not in old
            or key not in new
            or sorted(_known(old[key].entrants)) != sorted(_known(new[key].entrants))
            or old[key].outcome != new[key].outcome
        )
    )


def _known(entrants: tuple[int | None, ...]) -> list[int]:
    return [entrant or 0 for entrant in entrants]
