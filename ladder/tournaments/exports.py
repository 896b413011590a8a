"""Exports what a viewer may know of a tournament: JSON, CSV, and TRF for Swiss stages."""

from __future__ import annotations

from dataclasses import dataclass

from ladder.errors import Conflict, Invalid
from ladder.tournaments.formats import Swiss, export_csv, export_json, export_trf
from ladder.tournaments.views import TournamentView


@dataclass(frozen=True, slots=True)
class Export:
    """A file to download."""

    content: bytes
    media_type: str
    filename: str


def export(view: TournamentView, form: str, stage: int) -> Export:
    """The file in this form. Raises Conflict before there is something to export, Invalid."""
    found = view.tournament
    if view.inputs is None or view.course is None or view.progress is None:
        raise Conflict("there is nothing to export before the lock")
    names = {one.number: one.agent_name for one in view.inputs.entrants if one.number}
    if form == "json":
        if not view.course.finished:
            raise Conflict(
                "this export holds the seed of the draw, so it exists once the tournament is over;"
                " CSV and TRF exist already",
                field="form",
            )
        agents = {one.number: str(one.agent_id) for one in view.inputs.entrants if one.number}
        scores = {one.number: one.score for one in view.inputs.entrants if one.number}
        content = export_json(view.inputs.event, view.progress, names, agents, scores)
        return Export(content, "application/json", f"{found.id}.json")
    if stage > len(view.course.fields):
        raise Invalid("stage", "this stage has not begun")
    if form == "csv":
        text = export_csv(view.standings(stage), names)
        return Export(text.encode(), "text/csv; charset=utf-8", f"{found.id}-{stage}.csv")
    if not isinstance(found.plan.stages[stage - 1], Swiss):
        raise Invalid("form", "TRF is for Swiss stages; choose csv or json")
    text = export_trf(view.inputs.event, view.progress, view.course, stage, names)
    return Export(text.encode(), "text/plain; charset=utf-8", f"{found.id}-{stage}.trf")
