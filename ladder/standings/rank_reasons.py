"""Says why an entry has no rank, which entry stands for a team, and who shares a score. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ladder.entries.records import Entry, EntryState
from ladder.ids import TeamId
from ladder.standings.board_records import BoardRow


class NoRank(StrEnum):
    """Why an entry has no rank."""

    REFERENCE = "reference"
    """A reference agent has no rank."""
    UNPLAYED = "unplayed"
    """It has played no rated match yet."""
    OTHER_ENTRY = "other entry"
    """Another entry stands for its team."""
    PENDING = "pending"
    REJECTED = "rejected"
    RETIRED = "retired"
    DISQUALIFIED = "disqualified"


@dataclass(frozen=True, slots=True)
class RankReason:
    """Why an entry has no rank."""

    why: NoRank
    standing: BoardRow | None
    """The row of another entry that stands for the team; None if there is none."""


def row_of_team(rows: Iterable[BoardRow], team_id: TeamId) -> BoardRow | None:
    """The row of the entry that stands for the team."""
    return next((row for row in rows if row.team_id == team_id and not row.is_anchor), None)


def rows_of_same_score(
    row: BoardRow | None, rows: Iterable[BoardRow], sharing: Container[TeamId]
) -> list[BoardRow]:
    """The other rows with exactly this official score.

    Agents with equal bytes have the same score. Compares only scores, which every reader of the
    leaderboard sees. Other reasons for equal scores are left out: entries before their first game,
    and teams ``sharing`` a place by an act of a host.
    """
    if row is None or row.official is None or row.team_id in sharing:
        return []
    place = row.official
    return [
        one
        for one in rows
        if one.entry_id != row.entry_id
        and one.official is not None
        and (one.official.score, one.official.sigma) == (place.score, place.sigma)
        and (
            one.official.rank is not None or place.rank is not None or _are_equal_anchors(one, row)
        )
    ]


def _are_equal_anchors(one: BoardRow, other: BoardRow) -> bool:
    """Whether both are anchors that have played and have the same place.

    Anchors have no rank, also those of equal bytes. But these share the draws of the fit, so their
    chances and losses are equal too.
    """
    return (
        one.is_anchor
        and other.is_anchor
        and min(one.games, other.games) > 0
        and one.official == other.official
    )


def has_same_scores(rows: Sequence[BoardRow], sharing: Container[TeamId]) -> bool:
    """Whether ``rows_of_same_score`` finds another row for any of these rows among them."""
    counted = Counter(row.score_and_sigma for row in rows if row.official is not None)
    return any(
        counted[row.score_and_sigma] > 1 and rows_of_same_score(row, rows, sharing)
        for row in rows
        if row.is_anchor or row.rank is not None
    )


def why_no_rank(entry: Entry, rows: Iterable[BoardRow]) -> RankReason | None:
    """Why the entry has no rank on this board; None if it has one."""
    listed = tuple(rows)
    own = next((row for row in listed if row.entry_id == entry.id), None)
    if own is not None and own.rank is not None:
        return None
    standing = row_of_team(listed, entry.team_id)
    if standing is not None and standing.entry_id == entry.id:
        standing = None
    if entry.is_anchor:
        return RankReason(NoRank.REFERENCE, None)
    if entry.disqualified_at is not None:
        return RankReason(NoRank.DISQUALIFIED, standing)
    states = {
        EntryState.PENDING: NoRank.PENDING,
        EntryState.REJECTED: NoRank.REJECTED,
        EntryState.RETIRED: NoRank.RETIRED,
    }
    if entry.state in states:
        return RankReason(states[entry.state], standing)
    if own is None and standing is not None:
        return RankReason(NoRank.OTHER_ENTRY, standing)
    return RankReason(NoRank.UNPLAYED, standing)
