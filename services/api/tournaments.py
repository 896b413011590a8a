"""Tournaments of a league: making, entering, playing, reading."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from ladder.entries.records import Agent
from ladder.ids import TournamentId, TournamentShowId, UserId
from ladder.people.records import Viewer
from ladder.tournaments import (
    embargo,
    entrants,
    exports,
    leaving,
    rejudgements,
    shows,
    tournaments,
)
from ladder.tournaments.records import Tournament
from ladder.tournaments.request_models import (
    EntrantAct,
    EntrantDisqualification,
    GameRejudgement,
    NewEntrant,
    NewShow,
    NewTournament,
    RejudgementDecision,
    Reveal,
    TournamentAct,
)
from ladder.tournaments.summaries import summarize
from ladder.tournaments.views import TournamentView, view_tournament
from services.api.tournament_answers import (
    CreatedShowOut,
    EntrantOut,
    OneTournamentOut,
    PairingOut,
    PairingRejudgementOut,
    ShowOut,
    TableRowOut,
    TournamentOut,
    entrant_out,
    one_tournament_out,
    pairing_out,
    table_row_out,
    tournament_out,
)
from services.http import permissions, tournament_acts
from services.http.app_state import AppState, Db
from services.http.auth import Anyone, Host, Writer
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import AgentKey, Filter, LeagueKey, ShowKey, TournamentKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["tournaments"], route_class=LazyRoute)
Stage = Annotated[int, Query(ge=1, le=4, description="stage of the plan, from 1")]
Round = Annotated[int | None, Query(ge=1, le=4096, description="round of the stage; default: all")]


@router.post(
    "/leagues/{league}/tournaments",
    status_code=201,
    summary="Create a tournament",
    response_model=OneTournamentOut,
    responses=problem_responses(403, 404, 409),
)
def create_tournament(
    league: LeagueKey, body: NewTournament, conn: Db, who: Host, once: Idempotent
) -> Response:
    """Registration begins at once, unless it is a draft. The answer has the seed's digest."""
    its_league = permissions.hosted_league(conn, who, league)
    season = permissions.visible_season(conn, who, body.season or its_league.slug)

    def create() -> OneTournamentOut:
        made = tournaments.create_tournament(conn, its_league, season, body, who.user_id)
        return one_tournament_out(view_tournament(conn, who, made))

    return once.run(create)


@router.get("/tournaments", summary="List tournaments", responses=problem_responses(404))
def list_tournaments(
    conn: Db, who: Anyone, span: Paging, league: Filter = None
) -> Page[TournamentOut]:
    """Lists the tournaments that you may see, newest first."""
    league_id = permissions.visible_league(conn, who, league).id if league else None
    rows = tournaments.list_tournaments(
        conn,
        who,
        league_id,
        after=TournamentId(span.after) if span.after else None,
        limit=span.limit,
    )
    return span.page(summarize(conn, who, rows), lambda one: one.tournament.id, tournament_out)


@router.get(
    "/tournaments/{tournament}", summary="Read a tournament", responses=problem_responses(404)
)
def read_tournament(tournament: TournamentKey, conn: Db, who: Anyone) -> OneTournamentOut:
    """The tournament. Results under embargo do not change this answer."""
    return one_tournament_out(_view(conn, who, tournament))


@router.post(
    "/tournaments/{tournament}/acts",
    summary="Open, lock, start, pause, resume or cancel a tournament",
    responses=problem_responses(403, 404, 409),
)
def act_on_tournament(
    tournament: TournamentKey, body: TournamentAct, conn: Db, who: Host
) -> OneTournamentOut:
    """For hosts. ``lock`` freezes the entrants' submissions and fixes the seed order."""
    found = permissions.hosted_tournament(conn, who, tournament)
    tournament_acts.act_on_tournament(conn, found, body, who.user_id)
    return one_tournament_out(_view(conn, who, tournament))


@router.post(
    "/tournaments/{tournament}/reveals",
    summary="End the embargo of matches",
    responses=problem_responses(403, 404),
)
def reveal_matches(
    tournament: TournamentKey, body: Reveal, conn: Db, who: Host
) -> OneTournamentOut:
    """For hosts. Shows finished matches to their teams or to everybody; for good."""
    found = permissions.hosted_tournament(conn, who, tournament)
    embargo.reveal(conn, found.id, body.embargo, who.user_id, body.pairing)
    return one_tournament_out(_view(conn, who, tournament))


@router.post(
    "/tournaments/{tournament}/shows",
    status_code=201,
    summary="Make a show of a tournament",
    response_model=CreatedShowOut,
    responses=problem_responses(403, 404, 409),
)
def create_tournament_show(
    tournament: TournamentKey,
    body: NewShow,
    conn: Db,
    app_state: AppState,
    who: Host,
    once: Idempotent,
) -> Response:
    """For hosts. A page for a screen, which plays the games in order and then each result. Whoever
    knows its address sees what it shows, without signing in."""
    found = permissions.hosted_tournament(conn, who, tournament)

    def create() -> CreatedShowOut:
        made, secret = shows.create_show(conn, found.id, UserId(str(who.user_id)), body)
        address = f"{app_state.settings.base_url.rstrip('/')}/shows/{secret}"
        return CreatedShowOut(**ShowOut.model_validate(made).model_dump(), address=address)

    return once.run(create, keep=lambda made: made.model_copy(update={"address": None}))


@router.get(
    "/tournaments/{tournament}/shows",
    summary="List the shows of a tournament",
    responses=problem_responses(403, 404),
)
def list_tournament_shows(tournament: TournamentKey, conn: Db, who: Host) -> Page[ShowOut]:
    """For hosts. Those that have not ended, without their addresses."""
    found = permissions.hosted_tournament(conn, who, tournament)
    return Page(items=[ShowOut.model_validate(one) for one in shows.list_shows(conn, found.id)])


@router.delete(
    "/tournaments/{tournament}/shows/{show}",
    status_code=204,
    summary="Revoke a show",
    responses=problem_responses(403, 404),
)
def revoke_tournament_show(tournament: TournamentKey, show: ShowKey, conn: Db, who: Host) -> None:
    """For hosts. Takes effect at once and for good."""
    found = permissions.hosted_tournament(conn, who, tournament)
    shows.revoke_show(conn, found.id, TournamentShowId(show), who.user_id)


@router.post(
    "/tournaments/{tournament}/rejudgements",
    status_code=201,
    summary="Judge games of a pairing again",
    responses=problem_responses(403, 404, 409),
)
def rejudge_tournament_games(
    tournament: TournamentKey, body: GameRejudgement, conn: Db, who: Host
) -> Page[PairingRejudgementOut]:
    """For hosts. Plays them again beside the old ones. Nothing changes before you apply it."""
    found = permissions.hosted_tournament(conn, who, tournament)
    rejudgements.rejudge_pairing(conn, found.id, body.pairing, who.user_id, body.reason, body.game)
    return _rejudgements_page(conn, found)


@router.get(
    "/tournaments/{tournament}/rejudgements",
    summary="Preview what judging again changes",
    responses=problem_responses(403, 404),
)
def list_tournament_rejudgements(
    tournament: TournamentKey, conn: Db, who: Host
) -> Page[PairingRejudgementOut]:
    """For hosts. The pairings that wait for a decision, and the later pairings that change."""
    return _rejudgements_page(conn, permissions.hosted_tournament(conn, who, tournament))


@router.post(
    "/tournaments/{tournament}/rejudgements/decisions",
    summary="Apply or drop new results",
    responses=problem_responses(403, 404, 409),
)
def decide_tournament_rejudgement(
    tournament: TournamentKey, body: RejudgementDecision, conn: Db, who: Host
) -> OneTournamentOut:
    """For hosts. Later games whose entrants change are played again; old ones stay on record."""
    found = permissions.hosted_tournament(conn, who, tournament)
    act = rejudgements.apply_rejudgement if body.act == "apply" else rejudgements.drop_rejudgement
    act(conn, found.id, body.pairing, who.user_id)
    return one_tournament_out(_view(conn, who, tournament))


@router.get(
    "/tournaments/{tournament}/entrants",
    summary="List the entrants",
    responses=problem_responses(404),
)
def list_entrants(
    tournament: TournamentKey, conn: Db, who: Anyone, span: Paging
) -> Page[EntrantOut]:
    """Lists the entrants in seed order. Before the lock in order of entry. At the end with their
    places over all stages."""
    view = _view(conn, who, tournament)
    ranking = view.course.ranking if view.course else ()
    return span.part(view.entrants, lambda one: entrant_out(one, ranking))


@router.post(
    "/tournaments/{tournament}/entrants",
    status_code=201,
    summary="Enter an agent",
    responses=problem_responses(403, 404, 409),
)
def enter_agent(tournament: TournamentKey, body: NewEntrant, conn: Db, who: Writer) -> EntrantOut:
    """Enters an agent of yours. A host invites others, or enters reference agents, with a token
    that also has the scope ``leagues:write``."""
    found = permissions.visible_tournament(conn, who, tournament)
    agent = permissions.visible_agent(conn, who, body.agent)
    if agent.team_id in who.team_ids:
        permissions.season_to_enter(conn, who, found.season_id, agent.team_id)
        entrants.enter_agent(conn, found.id, agent, who.user_id)
    else:
        tournament_acts.require_host(conn, who, found)
        entrants.add_by_host(conn, found.id, agent, who.user_id)
    return _entrant_out(conn, found, agent)


@router.post(
    "/tournaments/{tournament}/entrants/{agent}/acts",
    summary="Check in or withdraw an agent",
    responses=problem_responses(403, 404, 409),
)
def act_on_entrant(
    tournament: TournamentKey, agent: AgentKey, body: EntrantAct, conn: Db, who: Writer
) -> Page[EntrantOut]:
    """For the team of the agent. After the lock, its open pairings become walk-overs. The answer
    holds this entrant alone."""
    found = permissions.visible_tournament(conn, who, tournament)
    own = permissions.own_agent(conn, who, agent)
    act = entrants.check_in if body.act == "check-in" else leaving.withdraw
    act(conn, found.id, own.id, who.user_id)
    return Page(items=[_entrant_out(conn, found, own)])


@router.post(
    "/tournaments/{tournament}/entrants/{agent}/disqualification",
    summary="Disqualify an agent from a tournament",
    responses=problem_responses(403, 404, 409),
)
def disqualify_entrant(
    tournament: TournamentKey, agent: AgentKey, body: EntrantDisqualification, conn: Db, who: Host
) -> Page[EntrantOut]:
    """For hosts. It then stands behind all who stayed. Played games keep their results; open ones
    become walk-overs. After the end the places are corrected. The answer holds this entrant alone.
    """
    found = permissions.hosted_tournament(conn, who, tournament)
    its_agent = permissions.visible_agent(conn, who, agent)
    leaving.disqualify(conn, found.id, its_agent.id, who.user_id, body.reason)
    return Page(items=[_entrant_out(conn, found, its_agent)])


@router.get(
    "/tournaments/{tournament}/pairings",
    summary="List the pairings",
    responses=problem_responses(404),
)
def list_pairings(
    tournament: TournamentKey,
    conn: Db,
    who: Anyone,
    span: Paging,
    stage: Stage = 1,
    round: Round = None,
) -> Page[PairingOut]:
    """Pairings of a stage with their games, as far as you may see them. Empty before the lock."""
    view = _view(conn, who, tournament)
    found = view.course.pairings if view.course else ()
    wanted = [one for one in found if one.key.stage == stage and round in (None, one.key.round)]
    return span.part(wanted, lambda one: pairing_out(view, one))


@router.get(
    "/tournaments/{tournament}/standings",
    summary="Read the table of a stage",
    responses=problem_responses(404),
)
def read_standings(
    tournament: TournamentKey, conn: Db, who: Anyone, span: Paging, stage: Stage = 1
) -> Page[TableRowOut]:
    """The table by the results that you may see, with the reason for each place."""
    view = _view(conn, who, tournament)
    has_begun = view.course is not None and stage <= len(view.course.fields)
    rows = view.standings(stage) if has_begun else []
    return span.part(rows, lambda row: table_row_out(view, row))


@router.get(
    "/tournaments/{tournament}/export",
    summary="Export a tournament",
    responses=problem_responses(404, 409),
    response_class=Response,
)
def export_tournament(
    tournament: TournamentKey,
    conn: Db,
    who: Anyone,
    form: Annotated[Literal["json", "csv", "trf"], Query()] = "json",
    stage: Stage = 1,
) -> Response:
    """JSON holds everything that the course is computed from, once it is over. CSV is the table of
    a stage. TRF is FIDE's format for a Swiss stage."""
    made = exports.export(_view(conn, who, tournament), form, stage)
    return Response(
        made.content,
        media_type=made.media_type,
        headers={"Content-Disposition": f'attachment; filename="{made.filename}"'},
    )


def _view(conn: Db, who: Viewer, key: str) -> TournamentView:
    found: Tournament = permissions.visible_tournament(conn, who, key)
    return view_tournament(conn, who, found)


def _rejudgements_page(conn: Db, found: Tournament) -> Page[PairingRejudgementOut]:
    return Page(
        items=[
            PairingRejudgementOut(
                pairing=str(one.key),
                old_matches=[old.match_id for old, _ in one.games],
                new_matches=[new.match_id for _, new in one.games],
                hangs=[str(key) for key in one.dependent_pairings],
                changes=None if one.changes is None else [str(key) for key in one.changes],
                void_reason=one.void_reason,
            )
            for one in rejudgements.list_rejudgements(conn, found)
        ]
    )


def _entrant_out(conn: Db, found: Tournament, agent: Agent) -> EntrantOut:
    every = entrants.entrants_of(conn, found.id)
    return entrant_out(next(one for one in every if one.agent_id == agent.id))
