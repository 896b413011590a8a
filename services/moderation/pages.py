"""The pages of moderation for hosts: acts, the preview of a rejudgement, and suspects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self

from fastapi import APIRouter, Query, Request, Response

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.field_types import KEY, Name, Reason
from ladder.ids import RejudgementId
from ladder.leagues import seasons
from ladder.leagues.records import Season
from ladder.moderation import disqualifications, rejudgements, suspects
from ladder.moderation.disqualifications import DisqualificationRequest
from ladder.moderation.rejudgements import NewRejudgement, Predicate, PreviewRequest, Rejudgement
from ladder.people import audit_log
from ladder.people.audit_log import AuditEntry
from services.http.app_state import Db
from services.http.auth import Anyone
from services.leagues.pages import SeasonNumber, pick_season, require_season
from services.leagues.things import HostedLeague, HostedSeason, LeagueOfSeason
from services.web import form_texts, forms
from services.web.forms import time_zones
from services.web.operation_forms import REFUSED, NoForms
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
ACTS_SHOWN: Final = 25
NAMES_SHOWN: Final = 200
MEMBERS_SHOWN: Final = 150
"""Entries of one group; a form has a limited number of fields."""
After = Annotated[str | None, Query(pattern=KEY)]


class DisqualificationForm(DisqualificationRequest):
    """Takes also the name of an agent or a team."""

    subject: Name

    def request(self, values: Mapping[str, Any]) -> DisqualificationRequest:
        subject = disqualifications.find_subject(values["conn"], values["season"].id, self.subject)
        return DisqualificationRequest(subject=subject, reason=self.reason)


class PreviewForm(Predicate):
    """Takes also the name of an agent, and times of a time zone."""

    agent: Name | None = None
    zone: forms.ZoneName = forms.UTC_NAME

    def predicate(self, values: Mapping[str, Any]) -> Predicate:
        agent = self.agent and disqualifications.find_agent_id(
            values["conn"], values["season"].id, self.agent, "agent"
        )
        return Predicate(**{**self.model_dump(include=set(Predicate.model_fields)), "agent": agent})

    def request(self, values: Mapping[str, Any]) -> PreviewRequest:
        return PreviewRequest(predicate=self.predicate(values))


class RejudgementForm(PreviewForm):
    reason: Reason

    def request(self, values: Mapping[str, Any]) -> PreviewRequest:
        return NewRejudgement(predicate=self.predicate(values), reason=self.reason)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A line of the audit log, with the progress of a rejudgement."""

    audit: AuditEntry
    rejudgement: Rejudgement | None

    @classmethod
    def of(cls, conn: Connection, audit: AuditEntry) -> Self:
        is_rejudgement = audit.act == "rejudge"
        act_id = RejudgementId(audit.subject)
        return cls(audit, rejudgements.get_rejudgement(conn, act_id) if is_rejudgement else None)


@router.get("/leagues/{league}/moderation")
def show_moderation(
    request: Request,
    conn: Db,
    viewer: Anyone,
    league: HostedLeague,
    forms: NoForms,
    season: SeasonNumber = None,
    subject: Annotated[str, Query(max_length=64)] = "",
    after: After = None,
) -> Response:
    """Shows the forms and the log to hosts."""
    shown_season = require_season(pick_season(conn, league, season))
    forms["disqualify"].values["subject"] = subject
    return moderation_page(request, conn, viewer, shown_season, league, forms, after)


def moderation_page(
    request: Request,
    conn: Db,
    viewer: Anyone,
    season: HostedSeason,
    league: LeagueOfSeason,
    forms: NoForms,
    after: After = None,
) -> Response:
    rows = audit_log.list_audits(conn, league.id, after=after, limit=ACTS_SHOWN)
    is_reinstatement = forms.refused is forms["reinstate"]
    return render(
        request,
        "moderation/moderation.html",
        status=forms.status,
        league=league,
        season=season,
        seasons=seasons.list_seasons(conn, league.id),
        forms=forms,
        verdict=forms["reinstate" if is_reinstatement else "disqualify"],
        question=forms["preview_rejudgement"],
        is_fresh=forms.refused is not forms["preview_rejudgement"],
        names=names_in_season(conn, season),
        zones=time_zones(),
        acts=[AuditRow.of(conn, row) for row in rows],
        older=rows[-1].id if len(rows) == ACTS_SHOWN else None,
        may="leagues:write" in viewer.scopes or viewer.is_admin,
    )


def rejudgement_page(
    request: Request,
    conn: Db,
    viewer: Anyone,
    season: HostedSeason,
    league: LeagueOfSeason,
    forms: NoForms,
) -> Response:
    """Shows which matches would be judged again, and asks for a reason. Matches that finish after
    the preview are not part of it."""
    question = forms["preview_rejudgement"]
    if forms.refused is question:
        return moderation_page(request, conn, viewer, season, league, forms)
    form = forms["create_rejudgement"]
    if forms.refused is None:
        form.values.update(question.values)
        form.values["until"] = form.values["until"] or datetime.now(UTC).isoformat()
        preview = forms.answer
    else:
        question.values.update({name: form.values[name] for name in question.values})
        try:
            filled_in = {name: value for name, value in question.values.items() if value}
            asked = PreviewForm.model_validate(filled_in)
            predicate = asked.predicate({"conn": conn, "season": season})
            preview = rejudgements.preview_rejudgement(conn, season.id, predicate)
        except REFUSED as error:
            question.add_errors(error)
            forms.refused = question
            return moderation_page(request, conn, viewer, season, league, forms)
    return render(
        request,
        "moderation/rejudgement_preview.html",
        status=forms.status,
        league=league,
        season=season,
        form=form,
        preview=preview,
        conditions={
            name: form.values[name] for name in Predicate.model_fields if form.values[name]
        },
    )


@router.get("/leagues/{league}/suspects")
def show_suspects(
    request: Request,
    conn: Db,
    viewer: Anyone,
    league: HostedLeague,
    forms: NoForms,
    season: SeasonNumber = None,
) -> Response:
    """Shows near-equal entries, thrown games and shared places to hosts."""
    shown_season = require_season(pick_season(conn, league, season))
    return suspects_page(request, conn, viewer, shown_season, league, forms)


def suspects_page(
    request: Request,
    conn: Db,
    viewer: Anyone,
    season: HostedSeason,
    league: LeagueOfSeason,
    forms: NoForms,
) -> Response:
    return render(
        request,
        "moderation/suspects.html",
        status=forms.status,
        league=league,
        season=season,
        seasons=seasons.list_seasons(conn, league.id),
        suspects=suspects.list_suspects(conn, season.id),
        forms=forms,
        most=MEMBERS_SHOWN,
        may="leagues:write" in viewer.scopes or viewer.is_admin,
    )


def names_in_season(conn: Connection, season: Season) -> dict[str, str]:
    """Names of the newest entries, their agents and teams, by id."""
    names: dict[str, str] = {}
    for entry in entries.list_entries(conn, season_id=season.id, limit=NAMES_SHOWN):
        names.setdefault(entry.team_id, form_texts.team_option(entry))
        names.setdefault(entry.agent_id, form_texts.agent_option(entry))
        names[entry.id] = form_texts.entry_option(entry)
    return names
