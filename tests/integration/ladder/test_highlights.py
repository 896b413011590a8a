"""The list of games worth watching leaves out replays that the viewer may not see."""

from __future__ import annotations

from ladder.database.db import Connection
from ladder.enums import ReplayVisibility
from ladder.ids import MatchId, TeamId
from ladder.leagues import leagues
from ladder.matches import history
from ladder.people.records import STRANGER, Viewer
from ladder.reports import highlights
from ladder.reports.highlights import Interest
from tests.integration.ladder.contest import make_contest


def test_hidden_replays_take_no_places_in_the_list(conn: Connection) -> None:
    hidden = [judged_match(conn, score=2, replays=ReplayVisibility.OWN) for _ in range(5)]
    seen, _ = judged_match(conn, score=1, replays=ReplayVisibility.PUBLIC)
    admin = Viewer(is_admin=True)
    player = Viewer(team_ids=frozenset({hidden[0][1]}))
    assert listed(conn, STRANGER) == [seen]
    assert listed(conn, player) == [hidden[0][0]]
    assert listed(conn, admin) == [max(match for match, _ in hidden)]


def judged_match(
    conn: Connection, *, score: float, replays: ReplayVisibility
) -> tuple[MatchId, TeamId]:
    """A finished match of a league of its own, with the team of its first seat."""
    contest = make_contest(conn)
    leagues.update_league(conn, contest.league.id, replay_visibility=replays)
    match_id = contest.rated(*(contest.active() for _ in range(4)))
    contest.play(match_id, [1, 2, 3, 4])
    match = history.get_match(conn, match_id)
    highlights.store_interest(conn, match, Interest(0.5, 1, 0.5, 42, score))
    return match_id, match.seats[0].team_id


def listed(conn: Connection, viewer: Viewer) -> list[MatchId]:
    return [one.match.id for one in highlights.list_highlights(conn, viewer, limit=1)]
