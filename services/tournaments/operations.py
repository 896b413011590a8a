"""What people do with tournaments: make, enter, play and read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import Query, Response

from ladder.entries.records import Agent
from ladder.ids import AgentId, TournamentId, TournamentShowId, UserId
from ladder.leagues import leagues
from ladder.leagues.records import league_resource
from ladder.people.permissions import may_manage
from ladder.people.records import Viewer
from ladder.tournaments import course_acts, entrants, rejudgements, shows, tournaments, views
from ladder.tournaments.records import (
    EntrantAct,
    EntrantDisqualification,
    EntryRule,
    GameRejudgement,
    NewEntrant,
    NewShow,
    NewTournament,
    RejudgementDecision,
    Reveal,
    Tournament,
    TournamentAct,
)
from ladder.tournaments.views import summarize, view_tournament
from services.http import auth, permissions
from services.http.app_state import AppState, Db
from services.http.auth import Anyone, Host, Writer
from services.http.operations import Form, Operations
from services.http.paging import Page, Paging
from services.http.path_parameters import AgentKey, Filter, ShowKey
from services.http.problems import problem_responses
from services.leagues.things import HostedLeague
from services.tournaments.answers import (
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
    rejudgement_out,
    table_row_out,
    tournament_out,
)
from services.tournaments.pages import (
    CancellationForm,
    InvitationForm,
    RevealForm,
    TournamentForm,
    new_tournament_page,
    tournament_page,
)
from services.tournaments.things import HostedTournament, ViewOfTournament, VisibleTournament

operations = Operations("tournaments")
TOURNAMENT = "/tournaments/{tournament.id}"
Stage = Annotated[int, Query(ge=1, le=4, description="stage of the plan, from 1")]
Round = Annotated[int | None, Query(ge=1, le=4096, description="round of the stage; default: all")]


def on_page(part: str, **options: Any) -> Form:
    """A form on the page of a tournament, which shows the page again."""
    address = f"/tournaments/{{tournament}}/{part}"
    return Form(page=tournament_page, address=address, then=TOURNAMENT, **options)


@operations(
    "POST",
    "/leagues/{league}/tournaments",
    "Create a tournament",
    status=201,
    forms=Form(
        page=new_tournament_page,
        address="/leagues/{league}/new-tournament",
        asks=TournamentForm,
        without=("season", "plan"),
        then="/tournaments/{answer.id}",
    ),
)
def create_tournament(
    conn: Db, viewer: Host, league: HostedLeague, tournament: NewTournament
) -> OneTournamentOut:
    """Registration begins at once, unless it is a draft. The answer has the seed's digest."""
    season = permissions.visible_season(conn, viewer, tournament.season or league.slug)
    created = tournaments.create_tournament(conn, league, season, tournament, viewer.user_id)
    return _answer(conn, viewer, created.id)


@operations("GET", "/tournaments", "List tournaments", problems=(404,))
def list_tournaments(
    conn: Db, viewer: Anyone, span: Paging, league: Filter = None
) -> Page[TournamentOut]:
    """Lists the tournaments that you may see, newest first."""
    league_id = permissions.visible_league(conn, viewer, league).id if league else None
    after = TournamentId(span.after) if span.after else None
    rows = tournaments.list_tournaments(conn, viewer, league_id, after=after, limit=span.limit)
    return span.page(summarize(conn, viewer, rows), lambda row: row.tournament.id, tournament_out)


@operations("GET", "/tournaments/{tournament}", "Read a tournament", problems=(404,))
def read_tournament(tournament: ViewOfTournament) -> OneTournamentOut:
    """The tournament. Results under embargo do not change this answer."""
    return one_tournament_out(tournament)


@operations(
    "POST",
    "/tournaments/{tournament}/acts",
    "Open, lock, start, pause, resume or cancel a tournament",
    forms=(
        on_page("acts", is_button=True, only=("act",)),
        on_page("cancel", name="cancel_tournament", asks=CancellationForm, prefix="cancel."),
    ),
)
def act_on_tournament(
    conn: Db, viewer: Host, tournament: HostedTournament, act: TournamentAct
) -> OneTournamentOut:
    """For hosts. ``lock`` freezes the entrants' submissions and fixes the seed order."""
    course_acts.act_on_tournament(conn, tournament.id, act, viewer.user_id)
    return _answer(conn, viewer, tournament.id)


@operations(
    "POST",
    "/tournaments/{tournament}/reveals",
    "End the embargo of matches",
    problems=(403, 404),
    forms=on_page("reveal", is_button=True, asks=RevealForm),
)
def reveal_matches(
    conn: Db, viewer: Host, tournament: HostedTournament, reveal: Reveal
) -> OneTournamentOut:
    """For hosts. Shows finished matches to their teams or to everybody; for good."""
    course_acts.reveal(conn, tournament.id, reveal.embargo, viewer.user_id, reveal.pairing)
    return _answer(conn, viewer, tournament.id)


@operations(
    "POST",
    "/tournaments/{tournament}/shows",
    "Make a show of a tournament",
    status=201,
    forms=Form(page=tournament_page, address="/tournaments/{tournament}/shows"),
)
def create_tournament_show(
    conn: Db, app_state: AppState, viewer: Host, tournament: HostedTournament, show: NewShow
) -> CreatedShowOut:
    """For hosts. A page for a screen, which plays the games in order and then each result. Whoever
    knows its address sees what it shows, without signing in."""
    created, secret = shows.create_show(conn, tournament.id, UserId(str(viewer.user_id)), show)
    address = f"{app_state.settings.base_url.rstrip('/')}/shows/{secret}"
    return CreatedShowOut.of(created, address=address)


@operations(
    "GET",
    "/tournaments/{tournament}/shows",
    "List the shows of a tournament",
    problems=(403, 404),
)
def list_tournament_shows(conn: Db, viewer: Host, tournament: HostedTournament) -> Page[ShowOut]:
    """For hosts. Those that have not ended, without their addresses."""
    return Page(items=[ShowOut.of(show) for show in shows.list_shows(conn, tournament.id)])


@operations(
    "DELETE",
    "/tournaments/{tournament}/shows/{show}",
    "Revoke a show",
    problems=(403, 404),
    forms=Form(address="/tournaments/{tournament}/shows/{show}/revoke", then=f"{TOURNAMENT}#shows"),
)
def revoke_tournament_show(
    conn: Db, viewer: Host, tournament: HostedTournament, show: ShowKey
) -> None:
    """For hosts. Takes effect at once and for good."""
    shows.revoke_show(conn, tournament.id, TournamentShowId(show), viewer.user_id)


@operations(
    "POST",
    "/tournaments/{tournament}/rejudgements",
    "Judge games of a pairing again",
    status=201,
    takes_key=False,
    forms=on_page("rejudge", without=("game",), prefix="rejudge."),
)
def rejudge_tournament_games(
    conn: Db, viewer: Host, tournament: HostedTournament, rejudgement: GameRejudgement
) -> Page[PairingRejudgementOut]:
    """For hosts. Plays them again beside the old ones. Nothing changes before you apply it."""
    rejudgements.rejudge_pairing(
        conn,
        tournament.id,
        rejudgement.pairing,
        viewer.user_id,
        rejudgement.reason,
        rejudgement.game,
    )
    return list_tournament_rejudgements(conn, viewer, tournament)


@operations(
    "GET",
    "/tournaments/{tournament}/rejudgements",
    "Preview what judging again changes",
    problems=(403, 404),
)
def list_tournament_rejudgements(
    conn: Db, viewer: Host, tournament: HostedTournament
) -> Page[PairingRejudgementOut]:
    """For hosts. The pairings that wait for a decision, and the later pairings that change."""
    waiting = rejudgements.list_rejudgements(conn, tournament)
    return Page(items=[rejudgement_out(rejudgement) for rejudgement in waiting])


@operations(
    "POST",
    "/tournaments/{tournament}/rejudgements/decisions",
    "Apply or drop new results",
    forms=on_page("decide", is_button=True),
)
def decide_tournament_rejudgement(
    conn: Db, viewer: Host, tournament: HostedTournament, decision: RejudgementDecision
) -> OneTournamentOut:
    """For hosts. Later games whose entrants change are played again; old ones stay on record."""
    is_applied = decision.act == "apply"
    act = rejudgements.apply_rejudgement if is_applied else rejudgements.drop_rejudgement
    act(conn, tournament.id, decision.pairing, viewer.user_id)
    return _answer(conn, viewer, tournament.id)


@operations("GET", "/tournaments/{tournament}/entrants", "List the entrants", problems=(404,))
def list_entrants(tournament: ViewOfTournament, span: Paging) -> Page[EntrantOut]:
    """Lists the entrants in seed order. Before the lock in order of entry. At the end with their
    places over all stages."""
    ranking = tournament.course.ranking if tournament.course else ()
    return span.part(tournament.entrants, lambda entrant: entrant_out(entrant, ranking))


@operations(
    "POST",
    "/tournaments/{tournament}/entrants",
    "Enter an agent",
    status=201,
    takes_key=False,
    forms=(
        on_page("enter", is_button=True),
        on_page("invite", name="invite_agent", asks=InvitationForm),
    ),
)
def enter_agent(
    conn: Db, viewer: Writer, tournament: VisibleTournament, entrant: NewEntrant
) -> EntrantOut:
    """Enters an agent of yours. A host invites others, or enters reference agents, with a token
    that also has the scope ``leagues:write``."""
    agent = permissions.visible_agent(conn, viewer, entrant.agent)
    if agent.team_id in viewer.team_ids and not invites_own(conn, viewer, tournament, agent):
        permissions.season_to_enter(conn, viewer, tournament.season_id, agent.team_id)
        entrants.enter_agent(conn, tournament.id, agent, viewer.user_id)
    else:
        permissions.hosted_tournament(conn, viewer, tournament.id)
        auth.check_scopes(viewer, ("leagues:write",))
        entrants.add_by_host(conn, tournament.id, agent, viewer.user_id)
    return _entrant(conn, tournament, agent)


def invites_own(conn: Db, viewer: Viewer, tournament: Tournament, agent: Agent) -> bool:
    """Whether a host invites an agent of the own team, before it can enter."""
    if tournament.entry_rule is not EntryRule.INVITATION:
        return False
    league = league_resource(leagues.get_league(conn, tournament.league_id))
    entered = {entrant.agent_id for entrant in entrants.entrants_of(conn, tournament.id)}
    return may_manage(viewer, league) and agent.id not in entered


@operations(
    "POST",
    "/tournaments/{tournament}/entrants/{agent}/acts",
    "Check in or withdraw an agent",
    forms=on_page("entrant-acts", is_button=True),
)
def act_on_entrant(
    conn: Db, viewer: Writer, tournament: VisibleTournament, agent: AgentKey, act: EntrantAct
) -> Page[EntrantOut]:
    """For the team of the agent. After the lock, its open pairings become walk-overs. The answer
    holds this entrant alone."""
    own = permissions.own_agent(conn, viewer, agent)
    acts: dict[str, Callable[[Db, TournamentId, AgentId, UserId | None], None]] = {
        "check-in": entrants.check_in,
        "withdraw": course_acts.withdraw,
    }
    acts[act.act](conn, tournament.id, own.id, viewer.user_id)
    return Page(items=[_entrant(conn, tournament, own)])


@operations(
    "POST",
    "/tournaments/{tournament}/entrants/{agent}/disqualification",
    "Disqualify an agent from a tournament",
    forms=on_page("disqualify", prefix="disqualify."),
)
def disqualify_entrant(
    conn: Db,
    viewer: Host,
    tournament: HostedTournament,
    agent: AgentKey,
    disqualification: EntrantDisqualification,
) -> Page[EntrantOut]:
    """For hosts. It then stands behind all who stayed. Played games keep their results; open ones
    become walk-overs. After the end the places are corrected. The answer holds this entrant alone.
    """
    entrant = permissions.visible_agent(conn, viewer, agent)
    reason = disqualification.reason
    course_acts.disqualify(conn, tournament.id, entrant.id, viewer.user_id, reason)
    return Page(items=[_entrant(conn, tournament, entrant)])


@operations("GET", "/tournaments/{tournament}/pairings", "List the pairings", problems=(404,))
def list_pairings(
    tournament: ViewOfTournament, span: Paging, stage: Stage = 1, round: Round = None
) -> Page[PairingOut]:
    """Pairings of a stage with their games, as far as you may see them. Empty before the lock."""
    pairings = [
        pairing
        for pairing in (tournament.course.pairings if tournament.course else ())
        if pairing.key.stage == stage and round in (None, pairing.key.round)
    ]
    return span.part(pairings, lambda pairing: pairing_out(tournament, pairing))


@operations(
    "GET", "/tournaments/{tournament}/standings", "Read the table of a stage", problems=(404,)
)
def read_standings(
    tournament: ViewOfTournament, span: Paging, stage: Stage = 1
) -> Page[TableRowOut]:
    """The table by the results that you may see, with the reason for each place."""
    has_begun = tournament.course is not None and stage <= len(tournament.course.fields)
    rows = tournament.standings(stage) if has_begun else []
    return span.part(rows, lambda row: table_row_out(tournament, row))


@operations.router.get(
    "/tournaments/{tournament}/export",
    tags=[operations.tag],
    summary="Export a tournament",
    responses=problem_responses(404, 409),
    response_class=Response,
)
def export_tournament(
    tournament: ViewOfTournament,
    form: Annotated[Literal["json", "csv", "trf"], Query()] = "json",
    stage: Stage = 1,
) -> Response:
    """JSON holds everything that the course is computed from, once it is over. CSV is the table of
    a stage. TRF is FIDE's format for a Swiss stage."""
    file = views.export(tournament, form, stage)
    return Response(
        file.content,
        media_type=file.media_type,
        headers={"Content-Disposition": f'attachment; filename="{file.filename}"'},
    )


def _answer(conn: Db, viewer: Viewer, tournament_id: TournamentId) -> OneTournamentOut:
    tournament = tournaments.get_tournament(conn, tournament_id)
    return one_tournament_out(view_tournament(conn, viewer, tournament))


def _entrant(conn: Db, tournament: Tournament, agent: Agent) -> EntrantOut:
    present = entrants.entrants_of(conn, tournament.id)
    return entrant_out(next(entrant for entrant in present if entrant.agent_id == agent.id))
