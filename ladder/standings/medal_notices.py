"""Tells teams how their medals change: likely, sealed, awarded, lost.

It compares the newest board with what each team was last told (table ``medal_notices``). So a
change is told once, however often the function runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ladder.database.db import Connection, atomic_function
from ladder.ids import SeasonId, TeamId
from ladder.leagues import seasons
from ladder.leagues.medals import MedalStatus
from ladder.notices.kinds import EventSubject, NoticeKind, record_event
from ladder.standings.board_ranking import Board
from ladder.standings.board_records import BoardRow
from ladder.standings.leaderboard import read_board

LIKELY_CHANCE: Final = 0.5
"""Chance of the medal or a better one from which it is told as likely."""
STILL_LIKELY_CHANCE: Final = 0.3
"""A told medal counts as likely down to this chance, so that small changes are no news."""
QUIET_HOURS: Final = 6
"""Least time between two notices of likely medals to one team."""
KINDS: Final = {
    "likely": NoticeKind.MEDAL_LIKELY,
    "sealed": NoticeKind.MEDAL_SEALED,
    "awarded": NoticeKind.MEDAL_AWARDED,
    "none": NoticeKind.MEDAL_LOST,
}


@dataclass(frozen=True, slots=True)
class MedalState:
    """What a team is told of its medal."""

    medal: str = "none"
    status: str = "none"


NO_MEDAL: Final = MedalState()


def seasons_with_news(conn: Connection, limit: int = 20) -> list[SeasonId]:
    """Returns seasons whose newest official standing was not compared yet."""
    rows = conn.execute(
        """
        select id from seasons
         where official_version > medal_notices_version
         order by id
         limit %s
        """,
        (limit,),
    )
    return [SeasonId(row[0]) for row in rows]


@atomic_function
def record_medal_changes(conn: Connection, season_id: SeasonId) -> int:
    """Tells each team whose medal changed; returns how many. Raises NotFound."""
    version = seasons.get_season(conn, season_id).official_version  # first: a board may be newer
    board = read_board(conn, season_id)
    rows = conn.execute(
        """
        select team_id, medal, status, told_at > now() - make_interval(hours => %s)
        from medal_notices where season_id = %s
        """,
        (QUIET_HOURS, season_id),
    ).fetchall()
    known = {
        TeamId(team): (MedalState(medal, status), told_lately)
        for team, medal, status, told_lately in rows
    }
    now = _medal_states(board, {team: state for team, (state, _) in known.items()})
    changed = 0
    for team in sorted(now.keys() | known.keys()):
        was, was_told_lately = known.get(team, (NO_MEDAL, False))
        state = now.get(team, NO_MEDAL)
        is_certain = {was.status, state.status} & {"sealed", "awarded"}
        if state == was or (was_told_lately and not is_certain):
            continue
        _record_change(conn, season_id, team, was, state)
        changed += 1
    conn.execute(
        "update seasons set medal_notices_version = %s where id = %s",
        (version, season_id),
    )
    return changed


def _medal_states(board: Board, told: dict[TeamId, MedalState]) -> dict[TeamId, MedalState]:
    """The state of each team that has a medal on the board."""
    states = {}
    for row in board.rows:
        if row.medal is not None and row.rank is not None:
            states[row.team_id] = _medal_state(row, told.get(row.team_id, NO_MEDAL))
    return states


def _medal_state(row: BoardRow, was: MedalState) -> MedalState:
    if row.status is MedalStatus.AWARDED:
        return MedalState(str(row.medal), "awarded")
    if row.sealed is not None:
        return MedalState(row.sealed.value, "sealed")
    likely = MedalState(str(row.medal), "likely")
    enough = STILL_LIKELY_CHANCE if was == likely else LIKELY_CHANCE
    return likely if (row.chance or 0.0) >= enough else NO_MEDAL


def _record_change(
    conn: Connection, season_id: SeasonId, team: TeamId, was: MedalState, state: MedalState
) -> None:
    medal = was.medal if state == NO_MEDAL else state.medal
    about = EventSubject(season_id=season_id, team_id=team, details={"medal": medal})
    record_event(conn, KINDS[state.status], about)
    conn.execute(
        """
        insert into medal_notices (season_id, team_id, medal, status) values (%s, %s, %s, %s)
        on conflict (season_id, team_id) do update set medal = excluded.medal,
        status = excluded.status, told_at = clock_timestamp()
        """,
        (season_id, team, state.medal, state.status),
    )
