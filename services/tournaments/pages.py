"""The pages of tournaments: one with its forms, a new one, and lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Generic, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from markupsafe import Markup
from pydantic import BaseModel, Field

from ladder.database.db import Connection
from ladder.entries.agents import OfferedName, find_season_agent, offer_names
from ladder.entries.records import Agent
from ladder.enums import Embargo
from ladder.errors import Invalid
from ladder.field_types import KEY, Line, Name
from ladder.ids import MatchId, TournamentId
from ladder.leagues import records, seasons
from ladder.leagues.records import Season
from ladder.people.permissions import may_manage
from ladder.people.records import Viewer
from ladder.ratings import standing_versions
from ladder.tournaments import entrants, rejudgements, shows, tournaments, views
from ladder.tournaments.courses import position_text
from ladder.tournaments.formats.drawing import CrossTable, cross_table
from ladder.tournaments.formats.plan import (
    DoubleElimination,
    Groups,
    RoundRobin,
    SingleElimination,
    Swiss,
    describe_plan,
)
from ladder.tournaments.formats.records import Course, Key, Pairing, Standing, State
from ladder.tournaments.plan_choices import PlanChoice, formats_for, plan_of_choice
from ladder.tournaments.records import (
    PAIRING,
    EntrantState,
    EntryRule,
    GameOutcome,
    NewEntrant,
    NewTournament,
    Reveal,
    TournamentAct,
    TournamentState,
)
from ladder.tournaments.views import TournamentView, count_entrants, summarize, view_tournament
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone
from services.leagues.things import HostedLeague, VisibleLeague
from services.tournaments.answers import CreatedShowOut
from services.tournaments.bracket_svg import anchor, draw_bracket
from services.tournaments.things import VisibleTournament
from services.web import form_texts, forms
from services.web.forms import time_zones
from services.web.operation_forms import NoForms
from services.web.page_rendering import PageRoute, render

T = TypeVar("T")
router = APIRouter(route_class=PageRoute, include_in_schema=False)
WIDEST_TABLE: Final = 24
"""Most entrants of a cross-table; a table with more cells than that nobody reads."""
ROWS: Final = 100
"""Most lines of a list on the page of a tournament."""
SHOWN: Final = 30
"""Most tournaments of a list."""
OFFERED: Final = 200
"""Most names that the form of an invitation offers."""
PAGES: Final = ("pairings", "places", "entrants", "final")
"""The parts of the page that have pages."""
NOT_SURE: Final = "tick the box first: a cancelled tournament cannot go on"
PageNumber = Annotated[int, Query(ge=1, le=10_000)]


class TournamentForm(PlanChoice, NewTournament):
    """Asks for a usual format instead of a plan, and for times of a time zone."""

    plan: dict[str, Any] = {}  # noqa: RUF012
    zone: forms.ZoneName = forms.UTC_NAME

    def request(self, values: Mapping[str, Any]) -> NewTournament:
        season = permissions.visible_season(values["conn"], values["viewer"], values["league"].slug)
        choice = PlanChoice(**self.model_dump(include=set(PlanChoice.model_fields)))
        plan = plan_of_choice(choice, season.seats)
        terms = self.model_dump(include=set(NewTournament.model_fields))
        return NewTournament(**{**terms, "season": season.id, "plan": plan})


class InvitationForm(BaseModel):
    """Takes also the name of an agent of the season."""

    agent: Name

    def request(self, values: Mapping[str, Any]) -> NewEntrant:
        season_id = values["tournament"].season_id
        agent = find_season_agent(values["conn"], values["viewer"], season_id, self.agent, "agent")
        return NewEntrant(agent=agent.id)


class CancellationForm(BaseModel):
    """Asks whether the host is sure."""

    reason: Line = ""
    sure: bool = False

    def request(self, _: Mapping[str, Any]) -> TournamentAct:
        if not self.sure:
            raise Invalid("sure", NOT_SURE)
        return TournamentAct(act="cancel", reason=self.reason)


class RevealForm(BaseModel):
    """Shows results to everybody."""

    pairing: Annotated[str | None, Field(pattern=PAIRING)] = None

    def request(self, _: Mapping[str, Any]) -> Reveal:
        return Reveal(embargo=Embargo.PUBLIC, pairing=self.pairing)


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A page of a list."""

    rows: Sequence[T]
    number: int
    """Of the page, from 1."""
    pages: int
    count: int
    """Length of the whole list."""

    @property
    def first(self) -> int:
        """Place of the first line in the whole list, from 1."""
        return (self.number - 1) * ROWS + 1


@dataclass(frozen=True, slots=True)
class PageChoice:
    """What the visitor chose. Pages count from 1."""

    tournament_id: TournamentId
    round: str | None = None
    """Stage and round, as in ``1.2``; None: the newest that the visitor may know."""
    pairings: int = 1
    places: int = 1
    entrants: int = 1
    final: int = 1
    """Of the final places over all stages; ``places`` is of the tables of stages."""

    def address(self, part: str, **changes: Any) -> str:
        """The address of the page with another choice, at this part of it."""
        other = replace(self, **changes)
        if other.round != self.round:
            other = replace(other, pairings=1)
        chosen = {"round": other.round} if other.round else {}
        pages = {name: getattr(other, name) for name in PAGES}
        query = urlencode(chosen | {name: page for name, page in pages.items() if page > 1})
        return f"/tournaments/{self.tournament_id}{'?' if query else ''}{query}#{part}"

    def address_of_pairing(self, key: Key) -> str:
        """The address of a pairing: its round, and the page that shows it."""
        other = replace(self, round=f"{key.stage}.{key.round}")
        return replace(other, pairings=1 + (key.number - 1) // ROWS).address(anchor(key))


@dataclass(frozen=True)
class RoundPart:
    """A round of a stage. The page shows one round and links to the others."""

    position: str
    title: str
    count: int
    """Number of its pairings."""
    is_shown: bool
    pairings: Part[Pairing]
    """Those on the page; empty unless it is shown."""


@dataclass(frozen=True)
class StagePart:
    """A stage on the page."""

    number: int
    text: str
    bracket: Markup | None
    places: Part[Standing]
    """Lines of its table; groups follow one another."""
    tables: list[list[Standing]]
    """The same lines, by group."""
    own: list[Standing]
    """Lines of the visitor's agents that are on another page of the table."""
    cross_tables: list[CrossTable]
    rounds: list[RoundPart]
    has_trf: bool
    """Whether it has an export in the format of FIDE."""


def chosen_parts(
    tournament: VisibleTournament,
    round: Annotated[str | None, Query(pattern=r"^[1-9]\d?\.[1-9]\d{0,3}$")] = None,
    pairings: PageNumber = 1,
    places: PageNumber = 1,
    entrants: PageNumber = 1,
    final: PageNumber = 1,
) -> PageChoice:
    return PageChoice(tournament.id, round, pairings, places, entrants, final)


@router.get("/tournaments/{tournament}")
def tournament_page(
    request: Request,
    conn: Db,
    viewer: Anyone,
    tournament: VisibleTournament,
    forms: NoForms,
    choice: Annotated[PageChoice, Depends(chosen_parts)],
) -> Response:
    """The course as far as the visitor may know it: one round, by default the newest, and a page
    of its pairings, of the table, of the entrants and of the final places. Names the address of a
    new show, once."""
    view = view_tournament(conn, viewer, tournament)
    season = seasons.get_season(conn, tournament.season_id)
    mine = [entrant for entrant in view.entrants if entrant.team_id in viewer.team_ids]
    own_numbers = {entrant.number for entrant in mine if entrant.number}
    choice = choice_of(view, choice)
    stages = _stages(view, choice, own_numbers)
    ranking = view.course.ranking if view.course and len(tournament.plan.stages) > 1 else ()
    show = forms.answer if isinstance(forms.answer, CreatedShowOut) else None
    response = render(
        request,
        "tournaments/tournament.html",
        status=forms.status,
        forms=forms,
        view=view,
        tournament=tournament,
        league=view.league,
        season=season,
        plan=describe_plan(tournament.plan),
        final_places=part_of(ranking, choice.final),
        stages=stages,
        round_title=_round_title(view, stages),
        choice=choice,
        mine=mine,
        own_pairings=_own_pairings(view, own_numbers),
        entrants=part_of(view.entrants, choice.entrants),
        order=_order_of_entrants(view),
        can_enter=agents_to_enter(conn, viewer, view),
        anchors=anchors_to_add(conn, view),
        offered=agents_to_invite(conn, viewer, view),
        rejudgements=rejudgements.list_rejudgements(conn, tournament)
        if view.is_host and view.course
        else [],
        entered=count_entrants(view),
        shows=shows.list_shows(conn, tournament.id) if view.is_host else [],
        show_address=show.address if show else "",
        anchor=anchor,
        final=_final(view),
        hides_results=_hides_results(view),
        present=_entrants_to_disqualify(view),
    )
    if show:
        response.headers["Cache-Control"] = "no-store"
    return response


def _entrants_to_disqualify(view: TournamentView) -> list[tuple[str, str]]:
    """Id and name of each entrant that is entered or invited."""
    if view.state is TournamentState.CANCELLED:
        return []
    return [
        (entrant.agent_id, f"{entrant.team_name}/{entrant.agent_name}")
        for entrant in view.entrants
        if entrant.state in (EntrantState.ENTERED, EntrantState.INVITED)
    ]


def _hides_results(view: TournamentView) -> bool:
    """Whether a match that ended is not public."""
    return any(
        game.embargo is not Embargo.PUBLIC and game.state in ("finished", "void")
        for games in view.games.values()
        for game in games
    )


def _final(view: TournamentView) -> MatchId | None:
    """The last game of the final, as far as the visitor may see it; None without a final."""
    if view.course is None or not view.course.finished:
        return None
    stage = len(view.tournament.plan.stages)
    finals = [
        pairing
        for pairing in view.course.stage(stage)
        if pairing.section == "final" and pairing.state is State.FINISHED
    ]
    games = view.games.get(str(finals[-1].key), []) if finals else []
    counted = [game for game in games if game.outcome is GameOutcome.COUNTED]
    return max(counted, key=lambda game: (game.game, game.match_id)).match_id if counted else None


def _stages(view: TournamentView, choice: PageChoice, own: set[int]) -> list[StagePart]:
    if view.course is None or view.inputs is None:
        return []
    parts = []
    texts = describe_plan(view.tournament.plan)
    for number, stage in enumerate(view.tournament.plan.stages, 1):
        if number > len(view.course.fields):
            break
        is_bracket = isinstance(stage, SingleElimination | DoubleElimination)
        standings = view.standings(number)
        places = part_of(standings, choice.places)
        groups = sorted({row.group for row in places.rows})
        crosses = []
        if isinstance(stage, RoundRobin | Groups):
            sizes = Counter(row.group for row in standings)
            crosses = [
                cross_table(view.inputs.event, view.course, number, group)
                for group in groups
                if sizes[group] <= WIDEST_TABLE
            ]
        parts.append(
            StagePart(
                number,
                texts[number - 1] if number <= len(texts) else "",
                draw_bracket(view, number, choice.address_of_pairing) if is_bracket else None,
                places,
                [[row for row in places.rows if row.group == group] for group in groups],
                [row for row in standings if row.entrant in own and row not in places.rows],
                crosses,
                _rounds(view, number, choice),
                isinstance(stage, Swiss),
            )
        )
    return parts


def _rounds(view: TournamentView, stage: int, choice: PageChoice) -> list[RoundPart]:
    assert view.course is not None
    rounds: dict[int, list[Pairing]] = {}
    for pairing in view.course.stage(stage):
        rounds.setdefault(pairing.key.round, []).append(pairing)
    parts = []
    for number, pairings in sorted(rounds.items()):
        titles = list(dict.fromkeys(pairing.title for pairing in pairings if pairing.title))
        title = " / ".join(titles) if 1 <= len(titles) <= 2 else f"Round {number}"
        position = f"{stage}.{number}"
        is_shown = choice.round == position
        part = part_of(pairings if is_shown else [], choice.pairings)
        parts.append(RoundPart(position, title, len(pairings), is_shown, part))
    return parts


def _round_title(view: TournamentView, stages: list[StagePart]) -> str:
    """The name of the round that is played; its number if it has none yet."""
    rounds = {part.position: part.title for stage in stages for part in stage.rounds}
    number = view.position.partition(".")[2]
    title = rounds.get(view.position, "")
    return number if title in ("", f"Round {number}") else title


def _own_pairings(view: TournamentView, own: set[int]) -> list[Pairing]:
    """The pairings of the visitor's agents. An agent that left plays no duel any more; a heat that
    is paired it plays to the end."""
    if view.course is None or not own:
        return []
    here = {n for n in own if view.entrant(n).state is EntrantState.ENTERED}
    return [
        pairing
        for pairing in view.course.pairings
        if (own if pairing.outcome or len(pairing.entrants) > 2 else here).intersection(
            pairing.entrants
        )
    ]


def _order_of_entrants(view: TournamentView) -> str:
    """Says what ordered the entrants. Empty if the tournament ended before its lock."""
    if view.course is None:
        return "" if view.state.is_over else "the order is fixed when registration ends"
    ranked = {entrant.score is not None for entrant in view.entrants if entrant.number is not None}
    if ranked == {True}:
        return "the best by official standing first"
    if ranked == {False}:
        return "in drawn order: none had a place in the official standing"
    return "the best by official standing first, then the others in drawn order"


def agents_to_enter(conn: Connection, viewer: Viewer, view: TournamentView) -> list[Agent]:
    """The visitor's agents that could enter now."""
    if view.tournament.state not in (TournamentState.REGISTRATION, TournamentState.CHECK_IN):
        return []
    return entrants.agents_to_enter(conn, view.tournament, viewer.team_ids)


def anchors_to_add(conn: Connection, view: TournamentView) -> list[Agent]:
    """Reference agents of the season that a host could enter."""
    if not view.is_host or not view.tournament.state.is_before_lock:
        return []
    return entrants.anchors_to_enter(conn, view.tournament)


def agents_to_invite(conn: Connection, viewer: Viewer, view: TournamentView) -> list[OfferedName]:
    """Names that the form of an invitation offers: those of the newest agents of the season."""
    rule, state = view.tournament.entry_rule, view.tournament.state
    if not view.is_host or rule != EntryRule.INVITATION or not state.is_before_lock:
        return []
    agents = entrants.agents_to_invite(conn, viewer, view.tournament, OFFERED)
    return offer_names(conn, agents)


def choice_of(view: TournamentView, choice: PageChoice) -> PageChoice:
    """The choice with a round that the visitor may know: else the newest pairing."""
    if view.course is None:
        return replace(choice, round=None)
    rounds = {position_text(pairing.round) for pairing in view.course.pairings}
    chosen = choice.round if choice.round in rounds else _newest_round(view, view.course)
    return replace(choice, round=chosen, pairings=choice.pairings if chosen == choice.round else 1)


def _newest_round(view: TournamentView, course: Course) -> str:
    """The round that is played. At the end the last pairing with a game: a second final that is not
    needed has none."""
    played = [pairing.round for pairing in course.pairings if str(pairing.key) in view.games]
    return position_text(max(played) if course.finished and played else course.position)


def part_of(rows: Sequence[T], number: int) -> Part[T]:
    """The page with this number; the last one if there are fewer."""
    pages = max(1, -(-len(rows) // ROWS))
    number = min(number, pages)
    return Part(rows[(number - 1) * ROWS : number * ROWS], number, pages, len(rows))


@router.get("/leagues/{league}/new-tournament")
def new_tournament_page(
    request: Request, conn: Db, viewer: Anyone, league: HostedLeague, forms: NoForms
) -> Response:
    """Shows the form to hosts."""
    season = permissions.visible_season(conn, viewer, league.slug)
    formats = formats_for(season.seats)
    form = forms["create_tournament"]
    form.values["format"] = form.values["format"] or formats[0]
    return render(
        request,
        "tournaments/new_tournament.html",
        status=forms.status,
        league=league,
        season=season,
        form=form,
        formats=[(choice.value, form_texts.FORMATS[choice]) for choice in formats],
        pairs_label=form_texts.PAIRS_LABEL if season.seats == 2 else form_texts.GAMES_LABEL,
        pairs_hint=form_texts.PAIRS_HINT if season.seats == 2 else "",
        zones=time_zones(),
        order_hint=_order_hint(conn, season),
    )


def _order_hint(conn: Connection, season: Season) -> str:
    """Warns that chance orders the entrants. A season of one seat has no official standing."""
    if season.seats == 1:
        return form_texts.SOLO_ORDER
    return "" if standing_versions.latest_head(conn, season.id) else form_texts.NO_STANDING


@router.get("/leagues/{league}/tournaments")
def show_tournaments(
    request: Request,
    conn: Db,
    viewer: Anyone,
    league: VisibleLeague,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """The tournaments of a league, newest first."""
    rows = tournaments.list_tournaments(
        conn, viewer, league.id, after=TournamentId(after) if after else None, limit=SHOWN
    )
    return render(
        request,
        "tournaments/tournaments.html",
        league=league,
        summaries=summarize(conn, viewer, rows),
        older=rows[-1].id if len(rows) == SHOWN else None,
        runs=may_manage(viewer, records.league_resource(league)),
    )


@router.get("/tournaments")
def show_all_tournaments(
    request: Request, conn: Db, viewer: Anyone, page: PageNumber = 1
) -> Response:
    """The tournaments of all leagues that the visitor may see, those that are not over first."""
    rows = tournaments.list_tournaments_by_end(
        conn, viewer, offset=(page - 1) * SHOWN, limit=SHOWN + 1
    )
    summaries = summarize(conn, viewer, rows[:SHOWN])
    running = [row for row in summaries if row.state in views.PLAYED]
    over = [row for row in summaries if row.state.is_over]
    return render(
        request,
        "tournaments/all_tournaments.html",
        groups=[
            ("Running", running),
            ("Coming", [row for row in summaries if row not in running and row not in over]),
            ("Over", over),
        ],
        page=page,
        has_more=len(rows) > SHOWN,
    )
