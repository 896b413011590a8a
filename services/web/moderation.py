"""The moderation page for hosts: disqualifications, rejudgements, and the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.errors import LadderError
from ladder.field_types import KEY
from ladder.ids import RejudgementId
from ladder.leagues import seasons
from ladder.leagues.records import League, Season
from ladder.moderation import disqualifications, rejudgement_preview, rejudgements, subjects
from ladder.moderation.request_models import (
    DisqualificationRequest,
    NewRejudgement,
    Predicate,
    PreviewRequest,
)
from ladder.people import audit_log
from ladder.people.audit_log import AuditEntry
from ladder.people.records import Viewer
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import LeagueKey
from services.http.problems import ProblemError
from services.web import form_dates, form_texts, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.leagues import SeasonNumber, pick_season, require_season
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PATH: Final = "/leagues/{league}/moderation"
SCOPES: Final = ("leagues:write",)
ACTS_SHOWN: Final = 25
NAMES_SHOWN: Final = 200
PREDICATE: Final = tuple(f"predicate.{name}" for name in Predicate.model_fields)
AGENT: Final = "predicate.agent"
VERDICT: Final = {"season": "", "subject": "", "reason": ""}
QUESTION: Final = {
    "season": "",
    "zone": form_dates.UTC_NAME,
    **dict.fromkeys(PREDICATE, ""),
}
REFUSED: Final = (ValidationError, ProblemError, LadderError)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A line of the audit log, with the progress of a rejudgement."""

    audit: AuditEntry
    rejudgement: rejudgements.Rejudgement | None


@router.get(PATH)
def show_moderation(
    request: Request,
    league: LeagueKey,
    conn: Db,
    who: Visitor,
    season: SeasonNumber = None,
    subject: Annotated[str, Query(max_length=64)] = "",
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows the forms and the log to hosts."""
    found = permissions.hosted_league(conn, who, league)
    chosen = require_season(pick_season(conn, found, season))
    verdict = Form({**VERDICT, "subject": subject})
    return render_page(request, conn, who, found, chosen, verdict=verdict, after=after)


@router.post(f"{PATH}/{{act}}")
def post_act(
    request: Request, league: LeagueKey, act: str, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Acts as the API does, then shows the page with the log. Matches that finish after a preview
    are not part of it."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    season = permissions.visible_season(conn, who, forms.parse_key(given, "season"))
    if season.league_id != found.id:
        raise ProblemError("invalid", form_texts.FORM_OF_OTHER_LEAGUE)
    if act in ("disqualify", "reinstate"):
        form = Form.of(given, VERDICT)
        done = change_disqualification(request, conn, who, season, form, act)
        if not done:
            return render_page(request, conn, who, found, season, verdict=form)
    elif act in ("preview", "rejudge"):
        form, began_at = Form.of(given, {**QUESTION, "reason": ""}), datetime.now(UTC)
        seen = preview_rejudgement(conn, season, form)
        if seen is None:
            return render_page(request, conn, who, found, season, question=form)
        form.values["predicate.until"] = form.values["predicate.until"] or began_at.isoformat()
        if act == "preview" or not start_rejudgement(request, conn, who, season, form):
            return render(
                request,
                "rejudgement_preview.html",
                status=422 if form.wrong else 200,
                league=found,
                season=season,
                form=form,
                seen=seen,
                given=predicate_of_form(form),
            )
    else:
        raise ProblemError("not-found")
    return redirect(f"/leagues/{found.slug}/moderation?season={season.number}")


def change_disqualification(
    request: Request, conn: Db, who: Viewer, season: Season, form: Form, act: str
) -> bool:
    """Disqualifies or reinstates. False if it was refused; the form then has the error."""
    do_it = disqualifications.disqualify if act == "disqualify" else disqualifications.reinstate
    try:
        body = DisqualificationRequest.model_validate(
            {
                "subject": subjects.find_subject(conn, season.id, form.values["subject"]),
                "reason": form.values["reason"],
            }
        )
        form.run_once(
            request,
            conn,
            who,
            lambda: do_it(conn, season.id, body.subject, by=who.user_id, reason=body.reason),
        )
    except REFUSED as error:
        form.add_errors(error)
    return not form.wrong


def preview_rejudgement(
    conn: Db, season: Season, form: Form
) -> rejudgement_preview.RejudgementPreview | None:
    """The matches that would be judged again. None if it was refused; the form then has the
    error."""
    try:
        form.values[AGENT] = subjects.find_agent_id(conn, season.id, form.values[AGENT], AGENT)
        body = PreviewRequest.model_validate({"predicate": predicate_of_form(form)})
        return rejudgement_preview.preview_rejudgement(
            conn, season.id, body.predicate.to_domain_predicate()
        )
    except REFUSED as error:
        form.add_errors(error)
    return None


def start_rejudgement(request: Request, conn: Db, who: Viewer, season: Season, form: Form) -> bool:
    """Starts the rejudgement. False if it was refused; the form then has the error."""
    try:
        body = NewRejudgement.model_validate(
            {"predicate": predicate_of_form(form), "reason": form.values["reason"]}
        )
        meant = body.predicate.to_domain_predicate()
        form.run_once(
            request,
            conn,
            who,
            lambda: rejudgements.create_rejudgement(
                conn, season.id, meant, by=who.user_id, reason=body.reason
            ),
        )
    except REFUSED as error:
        form.add_errors(error)
    return not form.wrong


def predicate_of_form(form: Form) -> dict[str, Any]:
    """The predicate of the form, without empty fields. Raises ProblemError."""
    zone = form_dates.parse_zone(form.values["zone"] or form_dates.UTC_NAME)
    found = {
        name.removeprefix("predicate."): form.values[name]
        for name in PREDICATE
        if form.values[name]
    }
    for name in ("since", "until"):
        if name in found:
            found[name] = form_dates.parse_moment(found[name], zone)
    return found


def render_page(
    request: Request,
    conn: Connection,
    who: Viewer,
    league: League,
    season: Season,
    *,
    verdict: Form | None = None,
    question: Form | None = None,
    after: str | None = None,
) -> Response:
    """The page, with the errors of a refused form."""
    rows = audit_log.list_audits(conn, league.id, after=after, limit=ACTS_SHOWN)
    return render(
        request,
        "moderation.html",
        status=422 if any(form and form.wrong for form in (verdict, question)) else 200,
        league=league,
        season=season,
        seasons=seasons.list_seasons(conn, league.id),
        verdict=verdict or Form(dict(VERDICT)),
        question=question or Form(dict(QUESTION)),
        is_fresh=question is None,
        names=names_in_season(conn, season),
        zones=form_dates.time_zones(),
        acts=[AuditRow(row, rejudgement_progress(conn, row)) for row in rows],
        older=rows[-1].id if len(rows) == ACTS_SHOWN else None,
        may="leagues:write" in who.scopes or who.is_admin,
    )


def names_in_season(conn: Connection, season: Season) -> dict[str, str]:
    """Names of the newest entries, their agents and teams, by id."""
    found: dict[str, str] = {}
    for row in entries.list_entries(conn, season_id=season.id, limit=NAMES_SHOWN):
        found.setdefault(row.team_id, form_texts.team_option(row))
        found.setdefault(row.agent_id, form_texts.agent_option(row))
        found[row.id] = form_texts.entry_option(row)
    return found


def rejudgement_progress(conn: Connection, audit: AuditEntry) -> rejudgements.Rejudgement | None:
    """The progress of the rejudgement in this line of the log."""
    if audit.act != "rejudge":
        return None
    return rejudgements.get_rejudgement(conn, RejudgementId(audit.subject))
