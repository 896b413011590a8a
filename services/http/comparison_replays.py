"""Reads the replays of a comparison: first different moves, and times of moves."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from estimates import comparison_report
from estimates.comparison_report import PlayedPair
from games import episode as episodes
from games.episode import Episode
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.ids import MatchId
from ladder.matches import history
from ladder.scrims.comparison import stored_pairs
from ladder.scrims.comparison.comparisons import Comparison
from services.http.app_state import State

PAIRS_READ: Final = 12
"""Most pairs whose replays are read: those with the largest differences."""


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first different move of a pair, with the same seed, seat and opponents until then."""

    pair: int
    difference: float
    """Share of the opponents beaten, new less old."""
    seat: int
    """From 0."""
    episode: int
    """Position of the episode in its match, from 0; a mirrored match has two."""
    step: int
    """From 1."""
    old_match_id: str
    new_match_id: str


@dataclass(frozen=True, slots=True)
class ReplayAnalysis:
    """What the replays of a few pairs say."""

    first_differences: tuple[FirstDifference, ...] = ()
    old_move_seconds: float | None = None
    """Mean charged time of a move, over these pairs."""
    new_move_seconds: float | None = None


def analyse_replays(
    app_state: State, conn: Connection, comparison: Comparison, pairs: Sequence[PlayedPair]
) -> ReplayAnalysis:
    """Returns the analysis of an ended comparison; it is calculated once. Empty while it runs."""
    if comparison.state == "running" or not pairs:
        return ReplayAnalysis()

    def made() -> bytes:
        return json.dumps(asdict(_analyse(app_state.blobs, conn, comparison, pairs))).encode()

    document = app_state.replays.get_or_compress(("comparison", comparison.id), made)
    found = json.loads(gzip.decompress(document))
    firsts = tuple(FirstDifference(**one) for one in found.pop("first_differences"))
    return ReplayAnalysis(firsts, **found)


def _analyse(
    blobs: Blobs, conn: Connection, comparison: Comparison, pairs: Sequence[PlayedPair]
) -> ReplayAnalysis:
    chosen = comparison_report.most_telling(pairs, PAIRS_READ) or list(pairs[:PAIRS_READ])
    wanted = {pair.number: pair for pair in chosen}
    issued = [
        pair
        for pair in stored_pairs.issued_pairs(conn, comparison.id)
        if pair.number in wanted and pair.is_finished
    ]
    games = [match for pair in issued for match in (pair.old_match_id, pair.new_match_id)]
    replays = _replays(blobs, conn, games)
    firsts: dict[int, FirstDifference] = {}
    seconds: dict[str, list[float]] = {"old": [], "new": []}
    for pair in issued:
        seat = wanted[pair.number].seat
        old, new = replays.get(pair.old_match_id, []), replays.get(pair.new_match_id, [])
        for position, (one, other) in enumerate(zip(old, new, strict=False)):
            # The second episode of a mirrored match has the seats in reverse order.
            own = one.seats - 1 - seat if position % 2 else seat
            seconds["old"] += _move_seconds(one, own)
            seconds["new"] += _move_seconds(other, own)
            step = episodes.first_different_move(one, other, own)
            if step is not None and pair.number not in firsts:
                firsts[pair.number] = FirstDifference(
                    pair=pair.number,
                    difference=wanted[pair.number].difference,
                    seat=seat,
                    episode=position,
                    step=step,
                    old_match_id=pair.old_match_id,
                    new_match_id=pair.new_match_id,
                )
    return ReplayAnalysis(
        tuple(firsts[number] for number in wanted if number in firsts),
        _mean(seconds["old"]),
        _mean(seconds["new"]),
    )


def _replays(
    blobs: Blobs, conn: Connection, match_ids: Sequence[MatchId]
) -> dict[str, list[Episode]]:
    """The kept episodes of each match, in order."""
    return {
        match_id: [
            episodes.from_bytes(b"".join(blobs.open(digest)))
            for digest in digests
            if blobs.exists(digest)
        ]
        for match_id, digests in history.replay_digests(conn, match_ids).items()
    }


def _move_seconds(one: Episode, seat: int) -> list[float]:
    charged: list[Any] = [step.charged_seconds[seat] for step in one.steps]
    return [float(each) for each in charged if each is not None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
