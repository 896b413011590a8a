"""What to watch next: after a replay, and on TV while nothing is being played."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ladder.database.db import Connection
from ladder.enums import MatchKind, MatchState
from ladder.errors import NotFound
from ladder.ids import LeagueId, MatchId, SeasonId
from ladder.leagues.records import League
from ladder.matches import history
from ladder.matches.records import Match
from ladder.people.records import Viewer
from ladder.reports import highlights

BEST: Final = 5
"""Games worth watching of a league that follow each other, before all others."""
NEWEST: Final = 20


def match_after(conn: Connection, viewer: Viewer, match: Match, league: League) -> Match | None:
    """The match to watch after this one, whose replay the viewer may see; None if there is none.

    After a game worth watching of the last day comes the next best game of the league. After the
    last of these comes a new match of the season. After any other match comes an older one. So
    nobody who goes on and on in a season sees a match twice. A match with other agents comes first.
    If the season has none, a match of another season or league with the same game follows. After a
    validation comes the first rated match of the agent's entry.
    """
    if match.kind is MatchKind.VALIDATION:
        return _first_rated_match(conn, viewer, match)
    found = highlights.list_highlights(conn, viewer, league=league, limit=BEST)
    best = [one.match for one in found]
    known = [one.id for one in best]
    place = known.index(match.id) if match.id in known else None
    before = match.id if place is None else None
    following = [] if place is None else best[place + 1 : place + 2]

    def groups() -> Iterator[list[Match]]:
        yield following
        for season_id in (match.season_id, None):
            replays = newest_replays(conn, viewer, season_id=season_id, before=before)
            others = [one for one in replays if one.id not in known and one.id != match.id]
            yield [one for one in others if one.game == match.game]

    alike: list[Match] = []
    for group in filter(None, groups()):
        chosen = min(group, key=lambda one: _share_of_same_agents(one, match))
        if _share_of_same_agents(chosen, match) < 1:
            return chosen
        alike.append(chosen)
    return alike[0] if alike else None


def _first_rated_match(conn: Connection, viewer: Viewer, validation: Match) -> Match | None:
    """The first rated match of the entry that was validated, if the viewer may see its replay."""
    entry_id = validation.seats[0].entry_id
    match = history.first_rated_match(conn, entry_id, viewer) if entry_id else None
    return match if match and match.access.has_replay and match.episodes else None


def _share_of_same_agents(one: Match, other: Match) -> float:
    agents = {seat.agent_id for seat in one.seats}
    return len(agents & {seat.agent_id for seat in other.seats}) / max(1, len(agents))


def choose_next(
    groups: Sequence[Iterable[Match]], past: Sequence[str], last_league: LeagueId | None
) -> Match | None:
    """The match to show after those of ``past``, which names the newest last.

    It is of the first group with a match that is not in ``past``; there a match of another league
    than the last one precedes. If all were shown, the one that was shown first comes again.
    """
    known: dict[str, Match] = {}
    for group in groups:
        fresh = None
        for match in group:
            if match.id in past:
                known[match.id] = match
            elif match.league_id != last_league:
                return match
            else:
                fresh = fresh or match
        if fresh is not None:
            return fresh
    return next((known[one] for one in past if one in known), None)


def last_league(conn: Connection, past: Sequence[str]) -> LeagueId | None:
    """The league of the newest match of ``past``; None if there is no such match."""
    try:
        return history.get_match(conn, MatchId(past[-1])).league_id if past else None
    except NotFound:
        return None


def newest_replays(
    conn: Connection,
    viewer: Viewer,
    *,
    season_id: SeasonId | None = None,
    before: MatchId | None = None,
) -> Iterator[Match]:
    """The newest finished rated matches whose replays the viewer may see, of one season or all."""
    for match in history.list_matches(
        conn,
        viewer=viewer,
        season_id=season_id,
        kind=MatchKind.RATED,
        state=MatchState.FINISHED,
        before=before,
        limit=NEWEST,
    ):
        if match.episodes and match.access.has_replay:
            yield match
