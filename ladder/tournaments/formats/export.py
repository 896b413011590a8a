"""Writes a tournament for others: JSON to compute it again, CSV tables, and a course as bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from ladder.tournaments.formats.course import play, stage_run
from ladder.tournaments.formats.plan import Swiss, encode_plan
from ladder.tournaments.formats.records import (
    Course,
    Event,
    Game,
    Pairing,
    Progress,
    Standing,
    commitment,
)
from ladder.tournaments.formats.stage_run import is_finished
from ladder.tournaments.formats.swiss import swiss_report
from ladder.tournaments.formats.trf import Report, write_report

COLUMNS: Final = ("rank", "seed", "name", "group", "score", "played", "wins")
"""Columns of each table as CSV; those of the tie-breaks follow."""


def encode_course(course: Course) -> bytes:
    """Returns the whole course as canonical JSON, to compare two computations."""
    return msgspec.json.encode(
        {
            "pairings": [(str(pairing.key), pairing) for pairing in course.pairings],
            "position": course.position,
            "ranking": course.ranking,
            "fields": course.fields,
            "stale": [str(key) for key in course.stale],
            "paired": [(position, paired) for position, paired in sorted(course.published.items())],
        },
        order="sorted",
    )


def export_json(
    event: Event,
    progress: Progress,
    names: Mapping[int, str],
    drawn_by: Mapping[int, str] | None = None,
    scores: Mapping[int, float | None] | None = None,
) -> bytes:
    """Returns the whole tournament with its seed; give it away only after the end.

    ``drawn_by`` gives the text by which the draw ``seed order`` sorted each entrant, and ``scores``
    the score that seeded it; equal and missing scores are in the drawn order.
    ``scripts/verify_tournament.py`` draws again from this file and compares.
    """
    course = play(event, progress)
    return msgspec.json.format(
        msgspec.json.encode(
            {
                "commitment": commitment(event.seed),
                "seed": event.seed.hex(),
                "plan": msgspec.Raw(encode_plan(event.plan)),
                "prohibited": sorted(event.prohibited),
                "entrants": [
                    {
                        "number": n,
                        "name": names.get(n, ""),
                        "drawn_by": (drawn_by or {}).get(n, ""),
                        "score": (scores or {}).get(n),
                    }
                    for n in range(1, event.size + 1)
                ],
                "withdrawn": {str(n): at for n, at in sorted(progress.withdrawn.items())},
                "fields": course.fields,
                "pairings": [_pairing(pairing, progress, course) for pairing in course.pairings],
                "ranking": course.ranking,
                "champion": course.champion,
            },
            order="deterministic",
        ),
        indent=1,
    )


def _pairing(pairing: Pairing, progress: Progress, course: Course) -> dict[str, object]:
    games = sorted(progress.results.get(pairing.key, ()), key=lambda game: game.number)
    outcome = pairing.outcome
    paired = course.published.get(pairing.round)
    return {
        "key": str(pairing.key),
        "title": pairing.title,
        "section": pairing.section,
        "state": pairing.state.value,
        "entrants": pairing.entrants,
        "order": outcome.order if outcome else None,
        "scores": outcome.scores if outcome else None,
        "rule_given_up": paired.note if paired else "",
        "decided_by": outcome.by.value if outcome else None,
        "games": [_game(game) for game in games],
    }


def _game(game: Game) -> dict[str, object]:
    return {
        "number": game.number,
        "entrants": game.entrants,
        "places": game.places,
        "rewards": game.rewards,
        "seed": game.seed.hex(),
    }


def export_csv(table: Sequence[Standing], names: Mapping[int, str]) -> str:
    """Returns the table of a stage. Names never start a formula."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    ties = [name for name, _ in table[0].tie_breaks] if table else []
    unique = [f"tie-break {name}" if name in COLUMNS else name for name in ties]
    rows.writerow([*COLUMNS, *unique])
    for line in table:
        name = names.get(line.entrant, "")
        if name[:1] in tuple("=+-@\t\r"):
            name = f"'{name}"
        values = [value for _, value in line.tie_breaks]
        row = [line.rank, line.entrant, name, line.group or "", f"{line.score:g}"]
        rows.writerow([*row, line.played, line.wins, *values])
    return file.getvalue()


def export_trf(
    event: Event, progress: Progress, course: Course, stage: int, names: Mapping[int, str]
) -> str:
    """Returns the report of the finished rounds of a Swiss stage, with the name of each entrant."""
    plan = event.plan.stages[stage - 1]
    assert isinstance(plan, Swiss), "only a Swiss stage has a report"
    run = stage_run(event, progress, stage, course.fields[stage - 1])
    swiss = [item for item in course.stage(stage) if item.section != "play-off"]
    rounds = [
        [item for item in swiss if item.key.round == round]
        for round in sorted({item.key.round for item in swiss})
    ]
    done = [round for round in rounds if is_finished(round)]
    report = swiss_report(run, plan, done, [names.get(item, "") for item in run.field])
    left = {run.seeds[item] for item in run.field if run.gone_after(item) is not None}
    return write_report(_with_ranks(report, left))


def _with_ranks(report: Report, left: Collection[int]) -> Report:
    """Fills in the rank of each player by points, then by number. Those who left are last."""
    order = sorted(
        range(len(report.players)), key=lambda n: (n + 1 in left, -report.players[n].points, n)
    )
    players = list(report.players)
    for rank, n in enumerate(order, 1):
        players[n] = replace(players[n], rank=rank)
    return replace(report, players=tuple(players))
