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
from ladder.notices.kinds import EventSubject, NoticeKind, record_events
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
