"""Reads a team's feed: validations, pauses, results, corrections, scrims, comparisons, medals.

``feed_query`` reads it from existing rows. An item's key is its time and its subject. So keys sort
by time, and a reader can continue from any key. Results and medals of a league are shown only to
viewers who may see the league now.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from psycopg.rows import dict_row

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.ids import (
    AgentId,
    ComparisonId,
    EntryId,
    LeagueId,
    MatchId,
    ScrimBatchId,
    ScrimId,
    ScrimRequestId,
    SeasonId,
)
from ladder.leagues.medals import Medal, MedalStatus
from ladder.people import visibility
from ladder.people.records import Viewer
from ladder.reports.feed_query import feed_query
from ladder.standings import leaderboard

SETTLE_SECONDS: Final = 2.0
"""Age at which an item is delivered: earlier transactions have then ended."""
KEY: Final = re.compile(r"(\d{10,17})\.([a-z0-9_.]{0,62})")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class FeedItemKind(StrEnum):
    PASSED = "passed"
    """Passed validation; the entry plays."""
    FAILED = "failed"
    """Failed validation; the reason says why."""
    PAUSED = "paused"
    """A remote agent has three strikes; the reason describes the last one."""
    RESUMED = "resumed"
    """The agent answers again, and the entry plays."""
    GIVEN_UP = "given_up"
    """A paused entry was retired; the reason says why."""
    RATED = "rated"
    """A rated match was counted."""
    CORRECTED = "corrected"
    """A withdrawn result changed the rating. The match is one of the entry's own withdrawn matches,
    or another one. Other withdrawals of the same stretch of the log are included.
    """
    SCRIM = "scrim"
    """All games of a scrim are over."""
    SCRIM_ASKED = "scrim_asked"
    """A team asked another one for a scrim; ``team_name`` is the other side in all requests."""
    SCRIM_ACCEPTED = "scrim_accepted"
    SCRIM_DECLINED = "scrim_declined"
    SCRIM_WITHDRAWN = "scrim_withdrawn"
    SCRIM_EXPIRED = "scrim_expired"
    BATCH = "batch"
    """All scrims of a batch are over."""
    COMPARISON = "comparison"
    """A comparison ended by itself; ``verdict`` is better, not_better or cannot_tell."""
    SEALED = "sealed"
    """A medal was sealed; no game can remove it."""
    UNSEALED = "unsealed"
    """An audited act revoked a seal."""
    AWARDED = "awarded"
    """The final standing awarded a medal that was not sealed."""


@dataclass(frozen=True, slots=True)
class FeedItem:
    """One event. Fields that do not belong to its kind are None."""

    key: str
    kind: FeedItemKind
    at: datetime
    league_id: LeagueId
    league: str
    entry_id: EntryId | None
    agent_id: AgentId | None
    agent_name: str | None
    match_id: MatchId | None
    scrim_id: ScrimId | None
    request_id: ScrimRequestId | None
    batch_id: ScrimBatchId | None
    comparison_id: ComparisonId | None
    reason: str | None
    placement: int | None
    seats: int | None
    verdict: str | None
    mu_before: float | None
    mu_after: float | None
    finished_games: int | None
    games: int | None
    team_name: str | None
    """Team of a medal, or the other team of a request for a scrim."""
    medal: Medal | None
    chance: float | None
    """Chance of this class or a better one, by the standing that gave the medal."""


def latest_items(
    conn: Connection, viewer: Viewer, *, before: str | None = None, limit: int = 50
) -> list[FeedItem]:
    """Returns items of the viewer's teams, newest first, before ``before``. Raises LadderError."""
    at, about = _split_key(before) if before else (EPOCH + timedelta(days=365 * 200), "")
    found = _select_items(conn, viewer, (at, about), limit, is_forward=False)
    least = found[-1].at if len(found) == limit else EPOCH
    given = [
        item for item in _awarded_medals(conn, viewer, least, at) if _sort_key(item) < (at, about)
    ]
    return sorted([*found, *given], key=_sort_key, reverse=True)[:limit] if given else found


def items_after(conn: Connection, viewer: Viewer, after: str, limit: int) -> list[FeedItem]:
    """Returns settled items newer than ``after``, oldest first.

    Each entry's results are limited to its newest ``feed_query.MOST_RESULTS_BEHIND``. Raises
    LadderError.
    """
    at, about = _split_key(after)
    until = _split_key(current_key(conn))[0]
    found = _select_items(conn, viewer, (at, about), limit, is_forward=True)
    most = found[-1].at if len(found) == limit else until
    given = [
        item for item in _awarded_medals(conn, viewer, at, most) if _sort_key(item) > (at, about)
    ]
    return sorted([*found, *given], key=_sort_key)[:limit] if given else found


def time_of_key(key: str) -> datetime:
    """Returns the time in a key. Raises LadderError."""
    return _split_key(key)[0]


def current_key(conn: Connection) -> str:
    """Returns the key that precedes all items that settle from now on."""
    row = conn.execute("select clock_timestamp()").fetchone()
    assert row is not None
    return _make_key(row[0] - timedelta(seconds=SETTLE_SECONDS), "")


def _select_items(
    conn: Connection,
    viewer: Viewer,
    beyond: tuple[datetime, str],
    limit: int,
    *,
    is_forward: bool,
) -> list[FeedItem]:
    """Returns the items next to the time and name ``beyond``: settled newer ones, or older ones."""
    given: dict[str, Any] = {
        "teams": sorted(viewer.team_ids),
        "leagues": _visible_leagues(conn, viewer),
        "at": beyond[0],
        "about": beyond[1],
        "limit": limit,
        "settle_seconds": SETTLE_SECONDS,
    }
    with conn.cursor(row_factory=dict_row) as cur:
        return [_item_of_row(row) for row in cur.execute(feed_query(is_forward=is_forward), given)]


def _item_of_row(row: dict[str, Any]) -> FeedItem:
    about = row.pop("about")
    return FeedItem(
        **{
            **row,
            "key": _make_key(row["at"], about),
            "request_id": about.split(".")[0] if about.startswith("srq_") else None,
            "batch_id": about if about.startswith("sbt_") else None,
            "comparison_id": about if about.startswith("cmp_") else None,
            "kind": FeedItemKind(row["kind"]),
            "medal": row["medal"] and Medal(row["medal"]),
        }
    )


def _visible_leagues(conn: Connection, viewer: Viewer) -> list[LeagueId]:
    """Returns leagues visible to the viewer in which their teams have played."""
    seen, values = visibility.visible_leagues(viewer)
    rows = conn.execute(
        "select distinct l.id from agents a join entries e on e.agent_id = a.id"  # noqa: S608
        " join seasons s on s.id = e.season_id join leagues l on l.id = s.league_id"
        f" where a.team_id = any (%s) and {seen}",
        (sorted(viewer.team_ids), *values),
    )
    return [LeagueId(row[0]) for row in rows]


def _awarded_medals(
    conn: Connection, viewer: Viewer, since: datetime, until: datetime
) -> list[FeedItem]:
    """Returns unsealed medals that final standings awarded in this time.

    They have no rows; they come from the board. Seasons of one seat have none.
    """
    seen, values = visibility.visible_leagues(viewer)
    rows = conn.execute(
        "select s.id, s.final_version, coalesce(v.made_at, s.official_at) as at, l.id, l.title"  # noqa: S608
        " from seasons s join leagues l on l.id = s.league_id"
        " left join standings v on v.season_id = s.id and v.version = s.final_version"
        " where s.final_version is not null"
        " and coalesce(v.made_at, s.official_at) between %s and %s"
        " and s.id in (select e.season_id from agents a"
        f"   join entries e on e.agent_id = a.id where a.team_id = any (%s)) and {seen}",
        (since, until, sorted(viewer.team_ids), *values),
    ).fetchall()
    return [
        FeedItem(
            key=_make_key(at, f"{row.team_id}.{version}"),
            kind=FeedItemKind.AWARDED,
            at=at,
            league_id=LeagueId(league_id),
            league=league,
            entry_id=row.entry_id,
            agent_id=row.agent_id,
            agent_name=row.agent_name,
            match_id=None,
            scrim_id=None,
            request_id=None,
            batch_id=None,
            comparison_id=None,
            reason=None,
            placement=None,
            seats=None,
            verdict=None,
            mu_before=None,
            mu_after=None,
            finished_games=None,
            games=None,
            team_name=row.team_name,
            medal=row.medal,
            chance=row.chance,
        )
        for season_id, version, at, league_id, league in rows
        for row in leaderboard.read_board(conn, SeasonId(season_id)).rows
        if row.team_id in viewer.team_ids and row.status is MedalStatus.AWARDED
    ]


def _sort_key(item: FeedItem) -> tuple[datetime, str]:
    return item.at, _split_key(item.key)[1]


def _make_key(at: datetime, about: str) -> str:
    return f"{(at - EPOCH) // timedelta(microseconds=1)}.{about}"


def _split_key(key: str) -> tuple[datetime, str]:
    found = KEY.fullmatch(key)
    if found is None:
        raise LadderError("use the key of a feed item")
    return EPOCH + timedelta(microseconds=int(found[1])), found[2]
