"""Tells teams their pairings, results and places in a tournament.

Teams are told only what everybody may know: the course as the public games give it. So a notice
never comes before its result is revealed. The columns ``told_...`` of an entrant say what its team
was told, so nothing is told twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ladder.database.db import Connection
from ladder.enums import Embargo
from ladder.ids import TournamentId
from ladder.notices.events import EventSubject, record_events
from ladder.notices.kinds import NoticeKind
from ladder.tournaments import courses
from ladder.tournaments.courses import Position, TournamentInputs, parse_position, position_text
from ladder.tournaments.formats.course import play
from ladder.tournaments.formats.records import By, Course, Outcome, Pairing, State
from ladder.tournaments.records import EntrantState, TournamentGame

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
        public = [one for one in games if one.embargo is Embargo.PUBLIC]
        course = play(inputs.event, courses.progress_seen(inputs, public))
    told = _read_told(conn, inputs.tournament.id)
    events = [
        *_result_news(inputs, course, told),
        *_pairing_news(inputs, course, told),
        *_place_news(inputs, course, told),
    ]
    if events:
        record_events(
            conn, [(kind, _subject(inputs, who, details)) for kind, who, details in events]
        )
        _write_told(conn, inputs.tournament.id, told)
    return len(events)


_News = tuple[NoticeKind, int, dict[str, int | str]]
"""Kind, number of the entrant, details."""


def _pairing_news(
    inputs: TournamentInputs, course: Course, told: Mapping[int, _Told]
) -> list[_News]:
    news: list[_News] = []
    for one in course.pairings:
        if one.state is not State.READY or one.round != course.position or len(one.entrants) < 2:
            continue
        for entrant in filter(None, one.entrants):
            if told[entrant].pairing < one.round:
                told[entrant].pairing = one.round
                news.append((NoticeKind.TOURNAMENT_PAIRING, entrant, _about(inputs, one, entrant)))
    return news


def _result_news(
    inputs: TournamentInputs, course: Course, told: Mapping[int, _Told]
) -> list[_News]:
    """The newest result of each entrant: after a long embargo one notice is enough."""
    newest: dict[int, tuple[Pairing, Outcome]] = {}
    for one in course.pairings:
        if one.outcome is None or one.outcome.by is By.BYE or len(one.entrants) < 2:
            continue
        for entrant in filter(None, one.entrants):
            if told[entrant].result < one.round and entrant in one.outcome.order:
                newest[entrant] = (one, one.outcome)
    news: list[_News] = []
    for entrant, (one, outcome) in newest.items():
        told[entrant].result = one.round
        details = {**_about(inputs, one, entrant), **_end(outcome, entrant)}
        news.append((NoticeKind.TOURNAMENT_RESULT, entrant, details))
    return news


def _place_news(inputs: TournamentInputs, course: Course, told: Mapping[int, _Told]) -> list[_News]:
    """The place of each entrant, and its new place if it was corrected."""
    news: list[_News] = []
    for place, entrant in enumerate(course.ranking, 1):
        before = told[entrant].place
        if before != place:
            told[entrant].place = place
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


def _about(inputs: TournamentInputs, one: Pairing, entrant: int) -> dict[str, int | str]:
    """Round, with its name, and opponent of an entrant; in a heat the number of entrants."""
    details: dict[str, int | str] = {"stage": one.key.stage, "round": one.key.round}
    if one.title:
        details["title"] = one.title
    others = [each for each in one.entrants if each not in (None, entrant)]
    if len(one.entrants) == 2 and others[0] is not None:
        return {**details, "opponent": inputs.entrants[others[0] - 1].agent_id}
    return {**details, "entrants": len(one.entrants)}


def _end(outcome: Outcome, entrant: int) -> dict[str, int | str]:
    place = outcome.order.index(entrant) + 1
    if len(outcome.order) > 2:
        return {"place": place}
    return {"end": "drawn" if outcome.drawn else "won" if place == 1 else "lost"}


def _subject(
    inputs: TournamentInputs, entrant: int, details: Mapping[str, int | str]
) -> EventSubject:
    one = inputs.entrants[entrant - 1]
    return EventSubject(
        season_id=inputs.tournament.season_id,
        team_id=one.team_id,
        agent_id=one.agent_id,
        details={"tournament": inputs.tournament.id, **details},
    )


def _read_told(conn: Connection, tournament_id: TournamentId) -> dict[int, _Told]:
    rows = conn.execute(
        "select number, told_pairing, told_result, told_place from tournament_entrants"
        " where tournament_id = %s and number is not null",
        (tournament_id,),
    )
    return {
        number: _Told(
            parse_position(pairing) if pairing else BEFORE_ALL,
            parse_position(result) if result else BEFORE_ALL,
            place,
        )
        for number, pairing, result, place in rows
    }


def _write_told(conn: Connection, tournament_id: TournamentId, told: Mapping[int, _Told]) -> None:
    conn.execute(
        "update tournament_entrants x set told_pairing = n.pairing, told_result = n.result,"
        " told_place = n.place from unnest(%s::integer[], %s::text[], %s::text[], %s::integer[])"
        " as n (number, pairing, result, place)"
        " where x.tournament_id = %s and x.number = n.number"
        " and (x.told_pairing, x.told_result, x.told_place)"
        " is distinct from (n.pairing, n.result, n.place)",
        (
            list(told),
            [_text(one.pairing) for one in told.values()],
            [_text(one.result) for one in told.values()],
            [one.place for one in told.values()],
            tournament_id,
        ),
    )


def _text(position: Position) -> str | None:
    return None if position == BEFORE_ALL else position_text(position)
