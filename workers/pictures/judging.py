"""Looks at finished replays and writes how interesting they are to watch."""

from __future__ import annotations

from collections.abc import Callable

from games import GAMES
from games.protocol import GameError
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.errors import NotFound
from ladder.matches.records import Match
from ladder.reports import highlights
from ladder.telemetry import log_event
from workers.pictures.drawing import frames_of


def judge_matches(
    conn: Connection, blobs: Blobs, until: Callable[[], bool], on_match: Callable[[], None]
) -> int:
    """Looks at the newest matches of each season. Returns how many."""
    with conn.transaction():
        highlights.delete_old_interest(conn)
        waiting = highlights.matches_to_judge(conn)
    count = 0
    for match in waiting:
        if until():
            break
        on_match()
        try:
            interest = judge_match(blobs, match)
        except (GameError, NotFound) as error:  # the replay is gone, or recorded by other rules
            log_event("match_not_judged", match=match.id, error=str(error))
            interest = highlights.judge(match, [], 1)
        with conn.transaction():
            highlights.store_interest(conn, match, interest)
        count += 1
    return count


def judge_match(blobs: Blobs, match: Match) -> highlights.Interest:
    """How interesting the first episode of a match is. Raises GameError and NotFound."""
    game = GAMES.get(match.game)
    if game is None:
        raise GameError(f"game: {match.game!r:.100} is unknown here")
    frames = frames_of(blobs, match.episodes[0].replay_digest)
    longest = game.longest(game.configure({}))
    return highlights.judge(match, [frame.values for frame in frames], longest)
