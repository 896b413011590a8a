"""The page of a tournament: bracket, tables, pairings, and the acts of entrants and hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, get_args

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.entries import agent_lookup, agent_names
from ladder.entries.agent_names import OfferedName
from ladder.entries.records import Agent
from ladder.enums import Embargo
from ladder.errors import Invalid, LadderError
from ladder.ids import MatchId
from ladder.leagues import seasons
from ladder.people.records import Viewer
from ladder.tournaments import (
    course_acts,
    entrants,
    rejudgements,
    shows,
    tournaments,
)
from ladder.tournaments.formats.drawing import CrossTable, cross_table
from ladder.tournaments.formats.plan import (
    DoubleElimination,
    Groups,
    RoundRobin,
    SingleElimination,
    Swiss,
    describe_plan,
)
from ladder.tournaments.formats.records import Pairing, Standing, State
from ladder.tournaments.records import (
    EntrantDisqualification,
    EntrantState,
    EntryRule,
    GameOutcome,
    GameRejudgement,
    Reveal,
    Tournament,
    TournamentAct,
    TournamentActName,
    TournamentState,
)
from ladder.tournaments.views import TournamentView, count_entrants, view_tournament
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import TournamentKey
from services.http.problems import ProblemError
from services.web import forms
from services.web.account import redirect
from services.web.bracket_svg import anchor, draw_bracket
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor
from services.web.tournament_parts import PageChoice, PageNumber, Part, choice_of, part_of

router = APIRouter(route_class=PageRoute, include_in_schema=False)
WIDEST_TABLE: Final = 24
"""Most entrants of a cross-table; a table with more cells than that nobody reads."""
ACTS: Final = dict.fromkeys(
    ("agent", "invited", "entrant", "reason", "pairing", "cause", "end_reason", "sure"), ""
)
FIELDS: Final = {
    "add": {"agent": "invited", "invited": "invited"},
    "disqualify": {"entrant": "entrant", "reason": "reason"},
    "rejudge": {"pairing": "pairing", "reason": "cause"},
    "cancel": {"reason": "end_reason", "sure": "sure"},
}
"""Names of the fields in the form of an act, by the field that an error names."""
SHOW_FIELDS: Final = {"hours": "12", "scene_seconds": ""}
TOURNAMENT_ACTS: Final = get_args(TournamentActName)
NOT_SURE: Final = "tick the box first: a cancelled tournament cannot go on"
REFUSED: Final = (ValidationError, ProblemError, LadderError)


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


@router.get("/tournaments/{tournament}")
def show_tournament(
    request: Request,
    tournament: TournamentKey,
    conn: Db,
    who: Visitor,
    round: Annotated[str | None, Query(pattern=r"^[1-9]\d?\.[1-9]\d{0,3}$")] = None,
    pairings: PageNumber = 1,
    places: PageNumber = 1,
    entrants: PageNumber = 1,
    final: PageNumber = 1,
) -> Response:
    """The course as far as the visitor may know it: one round, by default the newest, and a page
    of its pairings, of the table, of the entrants and of the final places."""
    found = permissions.visible_tournament(conn, who, tournament)
    given = PageChoice(found.id, round, pairings, places, entrants, final)
    return render_tournament(request, conn, who, found, Form({**ACTS, **SHOW_FIELDS}), choice=given)


@router.post("/tournaments/{tournament}/{act}")
def post_act(
    request: Request, tournament: TournamentKey, act: str, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Acts as the API does, then shows the tournament."""
    found = permissions.visible_tournament(conn, who, tournament)
    form = Form.of(given, ACTS)
    form.values |= SHOW_FIELDS
    try:
        do_it = _act(conn, who, found, act, form)
        form.run_once(request, conn, who, do_it)
    except REFUSED as error:
        form.add_errors(error)
    if form.wrong:
        found = tournaments.get_tournament(conn, found.id)
        _place_errors(found, act, form)
        return render_tournament(request, conn, who, found, form)
    return redirect(f"/tournaments/{found.id}")


def _place_errors(found: Tournament, act: str, form: Form) -> None:
    """Moves each error to its field in the form of the act. A button has no field."""
    has_form = not form.values["agent"] and (act != "add" or found.state.is_before_lock)
    fields = FIELDS.get(act, {}) if has_form else {}
    form.wrong = {fields.get(name, ""): message for name, message in form.wrong.items()}


def _act(
    conn: Connection, who: Viewer, found: Tournament, act: str, form: Form
) -> Callable[[], object]:
    """The act that the form asks for. Raises ProblemError for one that the visitor may not do."""
    if act in ("enter", "check-in", "withdraw", "add", "disqualify"):
        return _entrant_act(conn, who, found, act, form)
    _require_host(conn, who, found)
    by, pairing = who.user_id, form.values["pairing"]
    reason = form.values[FIELDS.get(act, {}).get("reason", "reason")]
    if act in TOURNAMENT_ACTS:
        body = TournamentAct.model_validate({"act": act, "reason": reason})
        if act == "cancel" and not form.values["sure"]:
            raise Invalid("sure", NOT_SURE)
        return lambda: course_acts.act_on_tournament(conn, found.id, body, by)
    if act == "reveal":
        shown = Reveal(embargo=Embargo.PUBLIC, pairing=pairing or None)
        return lambda: course_acts.reveal(conn, found.id, shown.embargo, by, shown.pairing)
    if act == "rejudge":
        wanted = GameRejudgement(pairing=pairing, reason=reason)
        return lambda: rejudgements.rejudge_pairing(
            conn, found.id, wanted.pairing, by, wanted.reason
        )
    if act == "apply":
        return lambda: rejudgements.apply_rejudgement(conn, found.id, pairing, by)
    if act == "drop":
        return lambda: rejudgements.drop_rejudgement(conn, found.id, pairing, by)
    raise ProblemError("not-found")


def _require_host(conn: Connection, who: Viewer, found: Tournament) -> None:
    permissions.hosted_tournament(conn, who, found.id)
    auth.check_scopes(who, ("leagues:write",))


def _entrant_act(
    conn: Connection, who: Viewer, found: Tournament, act: str, form: Form
) -> Callable[[], object]:
    by = who.user_id
    if act in ("add", "disqualify"):
        _require_host(conn, who, found)
        if act == "add":
            named = form.values["agent"] or form.values["invited"]
            added = agent_lookup.find_season_agent(conn, who, found.season_id, named, "invited")
            return lambda: entrants.add_by_host(conn, found.id, added, by)
        entrant = entrants.find_entrant(conn, found.id, form.values["entrant"])
        body = EntrantDisqualification(reason=form.values["reason"])
        return lambda: course_acts.disqualify(conn, found.id, entrant, by, body.reason)
    auth.check_scopes(who, ("agents:write",))
    agent = permissions.own_agent(conn, who, forms.parse_key(form.values, "agent"))
    if act == "enter":
        permissions.season_to_enter(conn, who, found.season_id, agent.team_id)
        return lambda: entrants.enter_agent(conn, found.id, agent, by)
    own = entrants.check_in if act == "check-in" else course_acts.withdraw
    return lambda: own(conn, found.id, agent.id, by)


def render_tournament(
    request: Request,
    conn: Connection,
    who: Viewer,
    found: Tournament,
    form: Form,
    show_address: str = "",
    choice: PageChoice | None = None,
) -> Response:
    """The page; 422 with the errors of a form. Names the address of a new show, once."""
    view = view_tournament(conn, who, found)
    season = seasons.get_season(conn, found.season_id)
    mine = [one for one in view.entrants if one.team_id in who.team_ids]
    own_numbers = {one.number for one in mine if one.number}
    choice = choice_of(view, choice or PageChoice(found.id))
    stages = _stages(view, choice, own_numbers)
    return render(
        request,
        "tournament.html",
        status=422 if form.wrong else 200,
        view=view,
        found=found,
        league=view.league,
        season=season,
        plan=describe_plan(found.plan),
        final_places=part_of(
            view.course.ranking if view.course and len(found.plan.stages) > 1 else (), choice.final
        ),
        stages=stages,
        round_title=_round_title(view, stages),
        choice=choice,
        form=form,
        mine=mine,
        own_pairings=_own_pairings(view, own_numbers),
        entrants=part_of(view.entrants, choice.entrants),
        order=_order_of_entrants(view),
        can_enter=agents_to_enter(conn, who, view),
        anchors=anchors_to_add(conn, view),
        offered=agents_to_invite(conn, who, view),
        rejudgements=rejudgements.list_rejudgements(conn, found)
        if view.is_host and view.course
        else [],
        entered=count_entrants(view),
        shows=shows.list_shows(conn, found.id) if view.is_host else [],
        show_address=show_address,
        anchor=anchor,
        final=_final(view),
        hides_results=_hides_results(view),
        States=TournamentState,
    )


def _hides_results(view: TournamentView) -> bool:
    """Whether a match that ended is not public."""
    return any(
        one.embargo is not Embargo.PUBLIC and one.state in ("finished", "void")
        for games in view.games.values()
        for one in games
    )


def _final(view: TournamentView) -> MatchId | None:
    """The last game of the final, as far as the visitor may see it; None without a final."""
    if view.course is None or not view.course.finished:
        return None
    stage = len(view.tournament.plan.stages)
    finals = [
        one
        for one in view.course.stage(stage)
        if one.section == "final" and one.state is State.FINISHED
    ]
    games = view.games.get(str(finals[-1].key), []) if finals else []
    counted = [one for one in games if one.outcome is GameOutcome.COUNTED]
    return max(counted, key=lambda one: (one.game, one.match_id)).match_id if counted else None


def _stages(view: TournamentView, choice: PageChoice, own: set[int]) -> list[StagePart]:
    if view.course is None or view.inputs is None:
        return []
    parts = []
    texts = describe_plan(view.tournament.plan)
    for number, stage in enumerate(view.tournament.plan.stages, 1):
        if number > len(view.course.fields):
            break
        is_bracket = isinstance(stage, SingleElimination | DoubleElimination)
        every = view.standings(number)
        places = part_of(every, choice.places)
        groups = sorted({row.group for row in places.rows})
        crosses = []
        if isinstance(stage, RoundRobin | Groups):
            sizes = Counter(row.group for row in every)
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
                [row for row in every if row.entrant in own and row not in places.rows],
                crosses,
                _rounds(view, number, choice),
                isinstance(stage, Swiss),
            )
        )
    return parts


def _rounds(view: TournamentView, stage: int, choice: PageChoice) -> list[RoundPart]:
    assert view.course is not None
    rounds: dict[int, list[Pairing]] = {}
    for one in view.course.stage(stage):
        rounds.setdefault(one.key.round, []).append(one)
    parts = []
    for number, pairings in sorted(rounds.items()):
        titles = list(dict.fromkeys(one.title for one in pairings if one.title))
        title = " / ".join(titles) if 1 <= len(titles) <= 2 else f"Round {number}"
        position = f"{stage}.{number}"
        is_shown = choice.round == position
        part = part_of(pairings if is_shown else [], choice.pairings)
        parts.append(RoundPart(position, title, len(pairings), is_shown, part))
    return parts


def _round_title(view: TournamentView, stages: list[StagePart]) -> str:
    """The name of the round that is played; its number if it has none yet."""
    rounds = {one.position: one.title for stage in stages for one in stage.rounds}
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
        one
        for one in view.course.pairings
        if (own if one.outcome or len(one.entrants) > 2 else here).intersection(one.entrants)
    ]


def _order_of_entrants(view: TournamentView) -> str:
    """Says what ordered the entrants. Empty if the tournament ended before its lock."""
    if view.course is None:
        return "" if view.state.is_over else "the order is fixed when registration ends"
    ranked = {one.score is not None for one in view.entrants if one.number is not None}
    if ranked == {True}:
        return "the best by official standing first"
    if ranked == {False}:
        return "in drawn order: none had a place in the official standing"
    return "the best by official standing first, then the others in drawn order"


OFFERED: Final = 200
"""Most names that the form of an invitation offers."""


def agents_to_enter(conn: Connection, who: Viewer, view: TournamentView) -> list[Agent]:
    """The visitor's agents that could enter now."""
    found = view.tournament
    if found.state not in (TournamentState.REGISTRATION, TournamentState.CHECK_IN):
        return []
    return entrants.agents_to_enter(conn, found, who.team_ids)


def anchors_to_add(conn: Connection, view: TournamentView) -> list[Agent]:
    """Reference agents of the season that a host could enter."""
    if not view.is_host or not view.tournament.state.is_before_lock:
        return []
    return entrants.anchors_to_enter(conn, view.tournament)


def agents_to_invite(conn: Connection, who: Viewer, view: TournamentView) -> list[OfferedName]:
    """Names that the form of an invitation offers: those of the newest agents of the season."""
    rule, state = view.tournament.entry_rule, view.tournament.state
    if not view.is_host or rule != EntryRule.INVITATION or not state.is_before_lock:
        return []
    found = entrants.agents_to_invite(conn, who, view.tournament, OFFERED)
    return agent_names.offer_names(conn, found)
