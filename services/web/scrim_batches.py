"""Pages of batches of scrims: the form with its plan, and the live matrix."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.leagues import leagues
from ladder.people.records import Viewer
from ladder.scrims import batches, policies
from ladder.scrims.batches import Batch, BatchCell, BatchKind, BatchPlan
from ladder.scrims.request_models import NewBatchBody
from services.http import auth, permissions, scrim_access
from services.http.app_state import Db
from services.http.batch_export import results_csv
from services.http.path_parameters import BatchKey
from services.http.problems import ProblemError
from services.web import form_texts, formatting, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import HEADERS, PageRoute, render
from services.web.scrim_requests import (
    KeyQuery,
    ScrimPlace,
    agent_options,
    find_place,
    options,
    scrim_leagues,
    version_options,
)
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
NEW: Final = {
    "kind": BatchKind.GAUNTLET,
    "agent": "",
    "games": "10",
    "privacy.results": "asker",
    "privacy.replays": "asker",
}


@router.get("/new-scrim-batch")
def show_new_batch(
    request: Request,
    conn: Db,
    who: Visitor,
    league: KeyQuery = "",
    team: KeyQuery = "",
    kind: KeyQuery = "",
) -> Response:
    """Shows the form of a gauntlet, or of own versions against each other.

    A gauntlet offers only agents that accept automatically.
    """
    if who.user_id is None:
        return redirect(formatting.sign_in_address("/new-scrim-batch", league=league, kind=kind))
    place = find_place(conn, who, league, team)
    form = Form({**NEW, "kind": kind_of(kind)}, {"agents": []})
    return new_batch_page(request, conn, who, place, form, None)


@router.post("/new-scrim-batch")
def start_batch(request: Request, conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Shows what the batch takes, then starts it, as the API does."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address("/new-scrim-batch"))
    auth.check_scopes(who, ["scrims:write"])
    names = [forms.parse_key(given, name) for name in ("league", "team")]
    place = find_place(conn, who, *names)
    form = Form.of(given, NEW, ["agents"])
    form.values["kind"] = kind_of(form.values["kind"])
    first = [form.values["agent"]] if form.values["kind"] == BatchKind.GAUNTLET else []
    plan = None
    if place is None:
        return new_batch_page(request, conn, who, place, form, plan)
    try:
        values = {name: value for name, value in form.values.items() if name != "agent"}
        body = NewBatchBody.model_validate(
            {
                **forms.nest_names(values),
                "season": place.season.id,
                "team": place.team.id,
                "agents": [*first, *form.lists["agents"]],
            }
        )
        asked = scrim_access.new_batch(conn, who, body)
        plan = batches.plan_batch(conn, asked)
        if given.get("act") == "start":
            made = form.run_once(request, conn, who, lambda: batches.start_batch(conn, asked).id)
            return redirect(f"/scrim-batches/{made}")
    except (ValidationError, ProblemError, LadderError) as error:
        form.add_errors(error)
        if len(form.lists["agents"]) < (least := 2 - len(first)):
            form.wrong["agents"] = f"Choose at least {least}."
    return new_batch_page(request, conn, who, place, form, plan)


@router.get("/scrim-batches/{batch}")
def show_batch(request: Request, batch: BatchKey, conn: Db, who: Visitor) -> Response:
    """Shows the matrix of a batch, with intervals."""
    found = permissions.visible_batch(conn, who, batch)
    return render_batch(request, "scrim_batch.html", conn, who, found)


@router.get("/scrim-batches/{batch}/progress")
def show_progress(request: Request, batch: BatchKey, conn: Db, who: Visitor) -> Response:
    """The matrix alone, for live updates. Asks the page to reload once the batch is over."""
    found = permissions.visible_batch(conn, who, batch)
    if found.ended_at is not None:
        return Response(status_code=205)
    return render_batch(request, "parts/scrim_batch.html", conn, who, found)


@router.get("/scrim-batches/{batch}/results.csv")
def send_csv(batch: BatchKey, conn: Db, who: Visitor) -> Response:
    """One row for each pairing."""
    found = permissions.visible_batch(conn, who, batch)
    text = results_csv(batches.read_results(conn, found.id))
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{found.id}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/scrim-batches/{batch}/cancel")
def cancel_batch(batch: BatchKey, conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Stops the unfinished games of a batch."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/scrim-batches/{batch}"))
    auth.check_scopes(who, ["scrims:write"])
    found = permissions.own_batch(conn, who, batch)
    with conn.transaction():
        batches.cancel_batch(conn, found.id)
    return redirect(f"/scrim-batches/{found.id}")


def render_batch(
    request: Request, template: str, conn: Connection, who: Viewer, found: Batch
) -> Response:
    results = batches.read_results(conn, found.id)
    return render(
        request,
        template,
        batch=found,
        league=leagues.get_league(conn, found.league_id),
        results=results,
        table=cross_table(results.cells) if found.kind == BatchKind.VERSIONS else None,
        totals=results.totals(),
        may_cancel=found.ended_at is None and permissions.may_see_private(who, found.team_id),
    )


def kind_of(given: str) -> BatchKind:
    return BatchKind.VERSIONS if given == BatchKind.VERSIONS else BatchKind.GAUNTLET


def cross_table(cells: tuple[BatchCell, ...]) -> dict[tuple[str, str], tuple[BatchCell, bool]]:
    """The cell of each two submissions, and whether it must be read from the other side."""
    found: dict[tuple[str, str], tuple[BatchCell, bool]] = {}
    for cell in cells:
        pair = (cell.first_submission_id, cell.second_submission_id)
        found[pair], found[pair[::-1]] = (cell, False), (cell, True)
    return found


def new_batch_page(
    request: Request,
    conn: Connection,
    who: Viewer,
    place: ScrimPlace | None,
    form: Form,
    plan: BatchPlan | None,
) -> Response:
    """The form, with the errors of a refused one or the plan."""
    versions = version_options(conn, who, [place.team.id]) if place else []
    return render(
        request,
        "new_scrim_batch.html",
        status=422 if form.wrong else 200,
        form=form,
        place=place,
        plan=plan,
        own_options=[*(agent_options(place.own) if place else []), *versions],
        versions=versions,
        most_versions=batches.MOST_VERSIONS,
        audiences=options(form_texts.AUDIENCES),
        offered=[one for one in place.others if one.answer().is_automatic] if place else [],
        choices=scrim_leagues(conn, who),
        today=place and policies.games_today(conn, place.season, place.team.id),
        may="scrims:write" in who.scopes or who.is_admin,
    )
