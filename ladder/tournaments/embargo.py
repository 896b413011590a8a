"""Ends the embargo of matches of a tournament: hidden, then for participants, then public."""

from __future__ import annotations

from typing import Final

from ladder.database.db import Connection, atomic_function
from ladder.enums import Embargo
from ladder.errors import NotFound
from ladder.ids import TournamentId, UserId
from ladder.tournaments import course_notices, courses, tournaments

ORDER: Final = [each.value for each in (Embargo.HIDDEN, Embargo.PARTICIPANTS, Embargo.PUBLIC)]


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
    found = tournaments.lock_tournament_row(conn, tournament_id)
    shown = conn.execute(
        "update tournament_games g set embargo = %s from matches m where m.id = g.match_id"
        " and g.tournament_id = %s and (%s::text is null or g.pairing = %s)"
        " and m.state in ('finished', 'void')"
        " and array_position(%s, g.embargo) < array_position(%s, %s)",
        (embargo, tournament_id, pairing, pairing, ORDER, ORDER, embargo.value),
    ).rowcount
    if not shown and pairing is not None:
        known = conn.execute(
            "select 1 from tournament_games where tournament_id = %s and pairing = %s limit 1",
            (tournament_id, pairing),
        )
        if known.fetchone() is None:
            raise NotFound("this pairing has no match yet", field="pairing")
    tournaments.record_act(
        conn,
        tournament_id,
        "reveal",
        by=by,
        details={"embargo": embargo.value, "pairing": pairing, "matches": shown},
    )
    if shown and embargo is Embargo.PUBLIC:
        inputs = courses.read_inputs(conn, found)
        games = courses.read_games(conn, tournament_id)
        course_notices.record_course_news(conn, inputs, games, courses.compute(inputs, games))
    return shown
