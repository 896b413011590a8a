"""What hosts do in moderation: disqualify, judge matches again, let teams share a place."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from ladder.ids import RejudgementId, TeamId
from ladder.moderation import disqualifications, rejudgements, suspects
from ladder.moderation.disqualifications import DisqualificationAct, DisqualificationRequest
from ladder.moderation.rejudgements import (
    Cancellation,
    NewRejudgement,
    PreviewRequest,
    Rejudgement,
    RejudgementPreview,
)
from ladder.moderation.suspects import SeparationRequest, SharedPlace, SharedPlaceRequest, Suspects
from ladder.people import audit_log
from ladder.people.audit_log import AuditEntry
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone, Host, Known
from services.http.operations import Form, Operations
from services.http.paging import Page, Paging
from services.http.path_parameters import PlaceKey, RejudgementKey
from services.leagues.things import HostedLeague, HostedSeason
from services.moderation.pages import (
    DisqualificationForm,
    PreviewForm,
    RejudgementForm,
    moderation_page,
    rejudgement_page,
    suspects_page,
)

operations = Operations("moderation")
MODERATION = "/leagues/{league.slug}/moderation?season={season.number}"
SUSPECTS = "/leagues/{league.slug}/suspects?season={season.number}"


def hosted_rejudgement(rejudgement: RejudgementKey, conn: Db, viewer: Anyone) -> Rejudgement:
    act = rejudgements.get_rejudgement(conn, RejudgementId(rejudgement))
    permissions.hosted_league(conn, viewer, act.league_id)
    return act


HostedRejudgement = Annotated[Rejudgement, Depends(hosted_rejudgement)]


@operations("GET", "/leagues/{league}/audits", "List audited acts", problems=(403, 404))
def list_audits(conn: Db, viewer: Known, league: HostedLeague, span: Paging) -> Page[AuditEntry]:
    """Hosts and administrators only: who changed what, when and why. Newest first."""
    rows = audit_log.list_audits(conn, league.id, after=span.after, limit=span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations(
    "POST",
    "/seasons/{season}/disqualifications",
    "Disqualify",
    status=201,
    forms=Form(
        page=moderation_page,
        address="/seasons/{season}/disqualify",
        asks=DisqualificationForm,
        then=MODERATION,
    ),
)
def disqualify(
    conn: Db, viewer: Host, season: HostedSeason, disqualification: DisqualificationRequest
) -> DisqualificationAct:
    """Hosts and administrators only. Takes an entry, or all of an agent or a team, out of the
    season. The official standing is fitted without its results. Matches and the live ratings of
    others do not change. A disqualified agent or team can enter nothing more in the season."""
    return disqualifications.disqualify(
        conn,
        season.id,
        disqualification.subject,
        by=viewer.user_id,
        reason=disqualification.reason,
    )


@operations(
    "POST",
    "/seasons/{season}/reinstatements",
    "Undo a disqualification",
    status=201,
    forms=Form(
        page=moderation_page,
        address="/seasons/{season}/reinstate",
        asks=DisqualificationForm,
        then=MODERATION,
    ),
)
def reinstate(
    conn: Db, viewer: Host, season: HostedSeason, disqualification: DisqualificationRequest
) -> DisqualificationAct:
    """Hosts and administrators only. The results count again, and active entries play again.
    Entries under another disqualification stay out."""
    return disqualifications.reinstate(
        conn,
        season.id,
        disqualification.subject,
        by=viewer.user_id,
        reason=disqualification.reason,
    )


@operations(
    "POST",
    "/seasons/{season}/rejudgements/preview",
    "Preview a rejudgement",
    problems=(403, 404),
    forms=Form(
        page=rejudgement_page,
        address="/seasons/{season}/preview-rejudgement",
        asks=PreviewForm,
        repeats=True,
    ),
)
def preview_rejudgement(
    conn: Db, viewer: Host, season: HostedSeason, preview: PreviewRequest
) -> RejudgementPreview:
    """Hosts and administrators only. Lists the results that the predicate matches. Shows how
    official scores, ranks and medals would differ without them. Changes nothing."""
    return rejudgements.preview_rejudgement(conn, season.id, preview.predicate)


@operations(
    "POST",
    "/seasons/{season}/rejudgements",
    "Judge matches again",
    status=201,
    forms=Form(
        page=rejudgement_page,
        address="/seasons/{season}/rejudge",
        asks=RejudgementForm,
        then=MODERATION,
    ),
)
def create_rejudgement(
    conn: Db, viewer: Host, season: HostedSeason, rejudgement: NewRejudgement
) -> Rejudgement:
    """Hosts and administrators only. The matches are played again with their lineups and seeds, a
    few at a time. Each new result replaces the old one. A finished season plays only these matches,
    and its final standing is fitted again."""
    return rejudgements.create_rejudgement(
        conn, season.id, rejudgement.predicate, by=viewer.user_id, reason=rejudgement.reason
    )


@operations("GET", "/rejudgements/{rejudgement}", "Read a rejudgement", problems=(403, 404))
def read_rejudgement(viewer: Known, rejudgement: HostedRejudgement) -> Rejudgement:
    """Hosts and administrators only: how many of the matches are done."""
    return rejudgement


@operations(
    "POST",
    "/rejudgements/{rejudgement}/cancellations",
    "Cancel a rejudgement",
    status=201,
)
def cancel_rejudgement(
    conn: Db, viewer: Host, rejudgement: HostedRejudgement, cancellation: Cancellation
) -> Rejudgement:
    """Hosts and administrators only. Matches not finished keep their old results. Accepted new
    results stay. Medals can be sealed again."""
    return rejudgements.cancel_rejudgement(
        conn, rejudgement.id, by=viewer.user_id, reason=cancellation.reason
    )


@operations("GET", "/seasons/{season}/suspects", "List suspects", problems=(403, 404))
def list_suspects(conn: Db, viewer: Known, season: HostedSeason) -> Suspects:
    """Hosts and administrators only. Lists groups of entries that games cannot tell apart, and
    entries that lose to one favourite, or tie with it, against expectation. Both follow from
    results alone. Nothing happens to anybody on this list without an act of a host."""
    return suspects.list_suspects(conn, season.id)


@operations(
    "POST",
    "/seasons/{season}/shared-places",
    "Let teams share one place",
    status=201,
    forms=Form(page=suspects_page, address="/seasons/{season}/share-place", then=SUSPECTS),
)
def share_place(
    conn: Db, viewer: Host, season: HostedSeason, shared_place: SharedPlaceRequest
) -> SharedPlace:
    """Hosts and administrators only. From the next version of the standings on, these teams have
    one score, one rank and one medal, and count as one team. All sealed medals are decided again.
    Matches and ratings do not change. A separation undoes it."""
    return suspects.share_place(
        conn,
        season.id,
        [TeamId(team) for team in shared_place.teams],
        by=viewer.user_id,
        reason=shared_place.reason,
    )


@operations(
    "POST",
    "/seasons/{season}/shared-places/{place}/separations",
    "Separate teams that share a place",
    status=201,
    forms=Form(page=suspects_page, address="/seasons/{season}/separate", then=SUSPECTS),
)
def separate(
    conn: Db, viewer: Host, season: HostedSeason, place: PlaceKey, separation: SeparationRequest
) -> SharedPlace:
    """Hosts and administrators only. Each of the teams has its own place again. All sealed medals
    are decided again."""
    return suspects.separate(conn, season.id, place, by=viewer.user_id, reason=separation.reason)
