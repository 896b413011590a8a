"""Starts, finishes and cancels a tournament, takes agents out, and ends the embargo of its matches.

Who left, by withdrawal or disqualification, stands behind all who stayed. After the end the places
are computed again. An embargo ends in this order: hidden, then for participants, then public.

Teams are told their pairings, results and places, and only what everybody may know: the course as
the public games give it. So a notice never comes before its result is revealed. The columns
``told_...`` of an entrant say what its team was told, so nothing is told twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from ladder.database.db import Connection, atomic_function, exists, fetch, update
from ladder.enums import Embargo, VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import AgentId, MatchId, TournamentId, UserId
from ladder.matches import matches
from ladder.notices.kinds import EventSubject, NoticeKind, record_events
from ladder.people import audit_log
from ladder.tournaments import courses, tournaments
from ladder.tournaments.courses import Position, TournamentInputs, parse_position, position_text
from ladder.tournaments.entrants import entrants_of, lock_entrants
from ladder.tournaments.formats.course import play
from ladder.tournaments.formats.records import By, Course, Outcome, Pairing, State
from ladder.tournaments.records import (
    EntrantState,
    Tournament,
    TournamentAct,
    TournamentGame,
    TournamentState,
)


def act_on_tournament(
    conn: Connection, tournament_id: TournamentId, act: TournamentAct, by: UserId | None
) -> None:
    """Opens, locks, starts, pauses, resumes or cancels. Raises Conflict with the reason."""
    match act.act:
        case "open":
            tournaments.open_registration(conn, tournament_id, by)
        case "lock":
            lock_entrants(conn, tournament_id, by)
        case "start":
            start_tournament(conn, tournament_id, by)
        case "pause":
            tournaments.pause_tournament(conn, tournament_id, by, act.reason)
        case "resume":
            tournaments.resume_tournament(conn, tournament_id, by)
        case "cancel":
            cancel_tournament(conn, tournament_id, by, act.reason)


@atomic_function
def start_tournament(conn: Connection, tournament_id: TournamentId, by: UserId | None) -> None:
    """Starts a locked tournament now. The scheduler queues its first games. Raises Conflict."""
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    if tournament.state is not TournamentState.LOCKED:
        raise Conflict(f"only a locked tournament can start; this one is {tournament.state}")
    start(conn, tournament, by)


@atomic_function
def cancel_tournament(
    conn: Connection, tournament_id: TournamentId, by: UserId | None, reason: str
) -> None:
    """Ends a tournament without a champion; its games in flight are void. Raises Conflict."""
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    if tournament.state.is_over:
        raise Conflict(f"it cannot be cancelled: the tournament is {tournament.state}")
    cancel(conn, tournament, by, reason or "a host cancelled it")
    audit_log.record_audit(
        conn,
        tournament.league_id,
        by=by,
        act="cancel tournament",
        subject=tournament.id,
        reason=reason,
        season_id=tournament.season_id,
    )


def start(conn: Connection, tournament: Tournament, by: UserId | None) -> None:
    """Starts it. The caller has locked the row and checked the state."""
    tournaments.set_state(conn, tournament.id, TournamentState.RUNNING)
    tournaments.record_act(conn, tournament.id, "start", by=by)


def cancel(conn: Connection, tournament: Tournament, by: UserId | None, reason: str) -> None:
    """Cancels it. The caller has locked the row and checked the state."""
    _void_open_games(conn, tournament.id, VoidCause.CALLED_OFF, "the tournament was cancelled")
    tournaments.set_state(conn, tournament.id, TournamentState.CANCELLED)
    update(conn, "tournaments", {"id": tournament.id}, end_reason=reason[:500], problem=None)
    tournaments.record_act(conn, tournament.id, "cancel", by=by, details={"reason": reason[:500]})


def finish(conn: Connection, tournament: Tournament, course: Course) -> None:
    """Ends it with its champion. The caller has locked the row."""
    _void_open_games(conn, tournament.id, VoidCause.NOT_NEEDED, "the tournament is over")
    tournaments.set_state(conn, tournament.id, TournamentState.FINISHED)
    query = """update tournament_rounds set finished_at = now()
        where tournament_id = %(tournament_id)s and finished_at is null"""
    conn.execute(query, {"tournament_id": tournament.id})
    write_champion(conn, tournament, course)
    tournaments.record_act(conn, tournament.id, "finish", details={"ranking": list(course.ranking)})


def write_champion(conn: Connection, tournament: Tournament, course: Course) -> None:
    """Writes the end of a course. The caller has locked the row."""
    query = """update tournaments set champion = %s, position = %s, problem = null, is_due = false
        where id = %s"""
    conn.execute(query, (course.champion, courses.position_text(course.position), tournament.id))


def _void_open_games(
    conn: Connection, tournament_id: TournamentId, cause: VoidCause, reason: str
) -> None:
    query = """update tournament_games set outcome = 'void'
        where tournament_id = %(tournament_id)s and outcome is null returning match_id"""
    voided = fetch(conn, MatchId, query, {"tournament_id": tournament_id})
    matches.void_matches(conn, voided, cause, reason)


@atomic_function
def withdraw(
    conn: Connection, tournament_id: TournamentId, agent_id: AgentId, by: UserId | None
) -> None:
    """Takes an agent out at its team's wish. After the lock its open pairings are walk-overs.

    A team may still withdraw from a tournament whose end is hidden: a refusal would tell the end.
    Raises Conflict, NotFound.
    """
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    state = tournaments.state_for_all(conn, tournament)
    if state.is_over:
        raise Conflict(f"the tournament is {state}: no agent can be withdrawn any more")
    _take_out(conn, tournament, agent_id, EntrantState.WITHDRAWN, None)
    tournaments.record_act(conn, tournament_id, "withdraw", by=by, agent_id=agent_id)
    correct_places(conn, tournament)


@atomic_function
def disqualify(
    conn: Connection,
    tournament_id: TournamentId,
    agent_id: AgentId,
    by: UserId | None,
    reason: str,
) -> None:
    """Takes an agent out by a host's decision, also after the end.

    Games that were played keep their results; its opponents win the open ones by walk-over. After
    the end the champion and the places change at once, and teams are told their new places.

    Raises Invalid without a reason, Conflict, NotFound.
    """
    if not reason.strip():
        raise Invalid("reason", "say why; the entrants read it")
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    if tournament.state is TournamentState.CANCELLED:
        raise Conflict("the tournament is cancelled: no agent can be disqualified any more")
    _take_out(conn, tournament, agent_id, EntrantState.DISQUALIFIED, reason)
    tournaments.record_act(
        conn, tournament_id, "disqualify", by=by, agent_id=agent_id, details={"reason": reason}
    )
    audit_log.record_audit(
        conn,
        tournament.league_id,
        by=by,
        act="disqualify from tournament",
        subject=agent_id,
        reason=reason,
        season_id=tournament.season_id,
        details={"tournament": tournament.id},
    )
    correct_places(conn, tournament)


def _take_out(
    conn: Connection,
    tournament: Tournament,
    agent_id: AgentId,
    state: EntrantState,
    reason: str | None,
) -> None:
    changed = conn.execute(
        """update tournament_entrants
        set state = %s, reason = %s, last_position = case when number is not null then %s end
        where tournament_id = %s and agent_id = %s and state in ('entered', 'invited')""",
        (state, reason, last_paired(tournament), tournament.id, agent_id),
    )
    if changed.rowcount != 1:
        _raise_not_entered(conn, tournament.id, agent_id)
    update(conn, "tournaments", {"id": tournament.id}, is_due=True)


def correct_places(conn: Connection, tournament: Tournament) -> None:
    """Computes the places of a finished tournament again and tells teams which changed.

    Raises Conflict if its games do not give an end any more.
    """
    if tournament.state is not TournamentState.FINISHED:
        return
    inputs = courses.read_inputs(conn, tournament)
    games = courses.read_games(conn, tournament.id)
    course = courses.compute(inputs, games)
    if not course.finished:
        raise Conflict("the games that were played do not give the places of this tournament")
    write_champion(conn, tournament, course)
    tournaments.record_act(
        conn, tournament.id, "correct places", details={"ranking": list(course.ranking)}
    )
    record_course_news(conn, inputs, games, course)


def _raise_not_entered(
    conn: Connection, tournament_id: TournamentId, agent_id: AgentId
) -> NoReturn:
    for entrant in entrants_of(conn, tournament_id):
        if entrant.agent_id == agent_id:
            raise Conflict(f"this agent is {entrant.state.replace('_', ' ')} already")
    raise NotFound("this agent is not entered")


def last_paired(tournament: Tournament) -> str:
    """Returns the round that is played, as text. Before the start it is round 0 of stage 1; after
    the end it is the round after the last one."""
    if tournament.state is TournamentState.LOCKED:
        return "1.0"
    if tournament.state is not TournamentState.FINISHED:
        return tournament.position
    stage, round = courses.parse_position(tournament.position)
    return courses.position_text((stage, round + 1))


ORDER: Final = [embargo.value for embargo in (Embargo.HIDDEN, Embargo.PARTICIPANTS, Embargo.PUBLIC)]


@atomic_function
def reveal(
    conn: Connection,
    tournament_id: TournamentId,
    embargo: Embargo,
    by: UserId | None,
    pairing: str | None = None,
) -> int:
    """Lets more people see finished matches: of one pairing, or all so far. Returns how many.

    What was shown is never hidden again. Raises NotFound if there is no match of the pairing.
    """
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    shown = conn.execute(
        """update tournament_games g set embargo = %s from matches m
        where m.id = g.match_id and g.tournament_id = %s and (%s::text is null or g.pairing = %s)
          and m.state in ('finished', 'void')
          and array_position(%s, g.embargo) < array_position(%s, %s)""",
        (embargo, tournament_id, pairing, pairing, ORDER, ORDER, embargo.value),
    ).rowcount
    if not shown and pairing is not None:
        query = "select 1 from tournament_games where tournament_id = %s and pairing = %s limit 1"
        if not exists(conn, query, (tournament_id, pairing)):
            raise NotFound("this pairing has no match yet", field="pairing")
    tournaments.record_act(
        conn,
        tournament_id,
        "reveal",
        by=by,
        details={"embargo": embargo.value, "pairing": pairing, "matches": shown},
    )
    if shown and embargo is Embargo.PUBLIC:
        inputs = courses.read_inputs(conn, tournament)
        games = courses.read_games(conn, tournament_id)
        record_course_news(conn, inputs, games, courses.compute(inputs, games))
    return shown


BEFORE_ALL: Position = (0, 0)


@dataclass
class _Told:
    """What the team of an entrant was told."""

    pairing: Position
    result: Position
    place: int | None


def record_course_news(
    conn: Connection, inputs: TournamentInputs, games: Sequence[TournamentGame], course: Course
) -> int:
    """Tells teams what is new in the public part of the course; returns the number of events.

    ``course`` is the whole course by these games. The caller has locked the tournament's row.
    """
    if inputs.tournament.embargo is not Embargo.PUBLIC:
        public = [game for game in games if game.embargo is Embargo.PUBLIC]
        course = play(inputs.event, courses.progress_seen(inputs, public))
    earlier = _read_told(conn, inputs.tournament.id)
    events = [
        *_result_news(inputs, course, earlier),
        *_pairing_news(inputs, course, earlier),
        *_place_news(inputs, course, earlier),
    ]
    if events:
        record_events(
            conn, [(kind, _subject(inputs, entrant, details)) for kind, entrant, details in events]
        )
        _write_told(conn, inputs.tournament.id, earlier)
    return len(events)


_News = tuple[NoticeKind, int, dict[str, int | str]]
"""Kind, number of the entrant, details."""


def _pairing_news(
    inputs: TournamentInputs, course: Course, earlier: Mapping[int, _Told]
) -> list[_News]:
    news: list[_News] = []
    for pairing in course.pairings:
        if (
            pairing.state is not State.READY
            or pairing.round != course.position
            or len(pairing.entrants) < 2
        ):
            continue
        for entrant in filter(None, pairing.entrants):
            if earlier[entrant].pairing < pairing.round:
                earlier[entrant].pairing = pairing.round
                news.append(
                    (NoticeKind.TOURNAMENT_PAIRING, entrant, _about(inputs, pairing, entrant))
                )
    return news


def _result_news(
    inputs: TournamentInputs, course: Course, earlier: Mapping[int, _Told]
) -> list[_News]:
    """The newest result of each entrant: after a long embargo one notice is enough."""
    newest: dict[int, tuple[Pairing, Outcome]] = {}
    for pairing in course.pairings:
        if pairing.outcome is None or pairing.outcome.by is By.BYE or len(pairing.entrants) < 2:
            continue
        for entrant in filter(None, pairing.entrants):
            if earlier[entrant].result < pairing.round and entrant in pairing.outcome.order:
                newest[entrant] = (pairing, pairing.outcome)
    news: list[_News] = []
    for entrant, (pairing, outcome) in newest.items():
        earlier[entrant].result = pairing.round
        details = {**_about(inputs, pairing, entrant), **_end(outcome, entrant)}
        news.append((NoticeKind.TOURNAMENT_RESULT, entrant, details))
    return news


def _place_news(
    inputs: TournamentInputs, course: Course, earlier: Mapping[int, _Told]
) -> list[_News]:
    """The place of each entrant, and its new place if it was corrected."""
    news: list[_News] = []
    for place, entrant in enumerate(course.ranking, 1):
        before = earlier[entrant].place
        if before != place:
            earlier[entrant].place = place
            details: dict[str, int | str] = {"place": place, "entrants": len(course.ranking)}
            if before is not None:
                details["before"] = before
            state = inputs.entrants[entrant - 1].state
            if state in (EntrantState.WITHDRAWN, EntrantState.DISQUALIFIED):
                details["left"] = state.value
            if course.champion is None:
                details["champion"] = "none"
            if entrant in course.drawn_winners:
                details["drawn"] = len(course.drawn_winners)
            news.append((NoticeKind.TOURNAMENT_PLACE, entrant, details))
    return news


def _about(inputs: TournamentInputs, pairing: Pairing, entrant: int) -> dict[str, int | str]:
    """Round, with its name, and opponent of an entrant; in a heat the number of entrants."""
    details: dict[str, int | str] = {"stage": pairing.key.stage, "round": pairing.key.round}
    if pairing.title:
        details["title"] = pairing.title
    others = [number for number in pairing.entrants if number not in (None, entrant)]
    if len(pairing.entrants) == 2 and others[0] is not None:
        return {**details, "opponent": inputs.entrants[others[0] - 1].agent_id}
    return {**details, "entrants": len(pairing.entrants)}


def _end(outcome: Outcome, entrant: int) -> dict[str, int | str]:
    place = outcome.order.index(entrant) + 1
    if len(outcome.order) > 2:
        return {"place": place}
    return {"end": "drawn" if outcome.drawn else "won" if place == 1 else "lost"}


def _subject(
    inputs: TournamentInputs, entrant: int, details: Mapping[str, int | str]
) -> EventSubject:
    agent = inputs.entrants[entrant - 1]
    return EventSubject(
        season_id=inputs.tournament.season_id,
        team_id=agent.team_id,
        agent_id=agent.agent_id,
        details={"tournament": inputs.tournament.id, **details},
    )


def _read_told(conn: Connection, tournament_id: TournamentId) -> dict[int, _Told]:
    query = """select number, told_pairing, told_result, told_place from tournament_entrants
        where tournament_id = %(tournament_id)s and number is not null"""
    rows = conn.execute(query, {"tournament_id": tournament_id})
    return {
        number: _Told(
            parse_position(pairing) if pairing else BEFORE_ALL,
            parse_position(result) if result else BEFORE_ALL,
            place,
        )
        for number, pairing, result, place in rows
    }


def _write_told(conn: Connection, tournament_id: TournamentId, news: Mapping[int, _Told]) -> None:
    conn.execute(
        """update tournament_entrants x
        set told_pairing = n.pairing, told_result = n.result, told_place = n.place
        from unnest(%s::integer[], %s::text[], %s::text[], %s::integer[])
          as n (number, pairing, result, place)
        where x.tournament_id = %s and x.number = n.number
          and (x.told_pairing, x.told_result, x.told_place)
            is distinct from (n.pairing, n.result, n.place)""",
        (
            list(news),
            [_text(item.pairing) for item in news.values()],
            [_text(item.result) for item in news.values()],
            [item.place for item in news.values()],
            tournament_id,
        ),
    )


def _text(position: Position) -> str | None:
    return None if position == BEFORE_ALL else position_text(position)
