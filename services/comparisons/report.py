"""The report of a comparison, as the API answers it and the page shows it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Final

from fastapi import Depends
from pydantic import Field

from estimates import comparison
from estimates.comparison import Gain, PlayedPair, Side
from games import episode as episodes
from games.episode import Episode
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.field_types import RECORD
from ladder.ids import MatchId
from ladder.matches import history
from ladder.scrims import comparisons
from ladder.scrims.comparisons import Bounds, Comparison, IssuedPair, PairsToday
from services.http import permissions
from services.http.app_state import Db, State
from services.http.auth import Anyone
from services.http.path_parameters import ComparisonKey
from services.http.problems import ProblemError

PAIRS_READ: Final = 12
"""Most pairs whose replays are read: those with the largest differences."""


def visible_comparison(comparison: ComparisonKey, conn: Db, viewer: Anyone) -> Comparison:
    return permissions.visible_comparison(conn, viewer, comparison)


def own_comparison(comparison: ComparisonKey, conn: Db, viewer: Anyone) -> Comparison:
    own = permissions.visible_comparison(conn, viewer, comparison)
    if not permissions.may_see_private(viewer, own.team_id):
        raise ProblemError("forbidden", "Only the team that asked may cancel a comparison.")
    return own


VisibleComparison = Annotated[Comparison, Depends(visible_comparison)]
OwnComparison = Annotated[Comparison, Depends(own_comparison)]
"""A comparison that the viewer's team asked for."""


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first different move of a pair. Seeds, seats and opponents were the same until then."""

    __pydantic_config__ = RECORD
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonReport(Comparison):
    """A comparison and what its pairs say so far. The mean times of moves are those of the pairs of
    the analysis, and null while it runs."""

    __pydantic_config__ = RECORD
    today: PairsToday | None
    """Further pairs that today allows; null after the end."""
    unfinished_pairs: int
    """Pairs whose games wait for a machine or are played."""
    statistic: str
    pairs: int
    """Pairs that count so far."""
    difference: float | None
    """Mean difference of the share of opponents beaten, new less old, -1 to 1."""
    low: float
    high: float
    old: Side | None
    new: Side | None
    seats: tuple[Gain, ...]
    opponents: tuple[Gain, ...]
    log_likelihood_ratio: float | None
    """Normalised Elo of 2 against 0, for two seats; it decides nothing."""
    course: tuple[Bounds, ...]
    """Bounds after some of the pairs, in order."""
    first_differences: tuple[FirstDifference, ...]
    """Empty while it runs."""
    has_begun: Annotated[bool, Field(exclude=True)]
    """Whether a machine has begun one of its games."""


def read_report(app_state: State, conn: Connection, comparison: Comparison) -> ComparisonReport:
    pairs = comparisons.played_pairs(conn, comparison)
    issued = comparisons.issued_pairs(conn, comparison.id)
    report = comparisons.stored_report(comparison, pairs)
    replays = analyse_replays(app_state, conn, comparison, pairs, issued)
    old, new = report.old, report.new
    return ComparisonReport(
        **{field.name: getattr(comparison, field.name) for field in fields(comparison)},
        today=comparisons.pairs_of_running(conn, comparison),
        unfinished_pairs=sum(pair.is_unfinished for pair in issued),
        statistic=report.statistic,
        pairs=report.pairs,
        difference=report.difference,
        low=report.low,
        high=report.high,
        old=old and replace(old, mean_move_seconds=replays.old_move_seconds),
        new=new and replace(new, mean_move_seconds=replays.new_move_seconds),
        seats=report.seats,
        opponents=report.opponents,
        log_likelihood_ratio=report.log_likelihood_ratio,
        course=comparisons.course(conn, comparison.id),
        first_differences=replays.first_differences,
        has_begun=any({pair.old_state, pair.new_state} != {"queued"} for pair in issued),
    )


def analyse_replays(
    app_state: State,
    conn: Connection,
    comparison: Comparison,
    pairs: Sequence[PlayedPair],
    issued: Sequence[IssuedPair],
) -> ReplayAnalysis:
    """Returns the analysis of an ended comparison; it is calculated once. Empty while it runs."""
    if comparison.state == "running" or not pairs:
        return ReplayAnalysis()

    def analyse() -> bytes:
        return json.dumps(asdict(_analyse(app_state.blobs, conn, pairs, issued))).encode()

    document = app_state.replays.get_or_compress(("comparison", comparison.id), analyse)
    analysis = json.loads(gzip.decompress(document))
    firsts = tuple(FirstDifference(**first) for first in analysis.pop("first_differences"))
    return ReplayAnalysis(firsts, **analysis)


def _analyse(
    blobs: Blobs, conn: Connection, pairs: Sequence[PlayedPair], issued: Sequence[IssuedPair]
) -> ReplayAnalysis:
    chosen = comparison.most_telling(pairs, PAIRS_READ) or list(pairs[:PAIRS_READ])
    telling = {pair.number: pair for pair in chosen}
    played = [pair for pair in issued if pair.number in telling and pair.is_finished]
    games = [match for pair in played for match in (pair.old_match_id, pair.new_match_id)]
    replays = _replays(blobs, conn, games)
    firsts: dict[int, FirstDifference] = {}
    seconds: dict[str, list[float]] = {"old": [], "new": []}
    for pair in played:
        seat = telling[pair.number].seat
        both = replays.get(pair.old_match_id, []), replays.get(pair.new_match_id, [])
        for position, (old, new) in enumerate(zip(*both, strict=False)):
            # The second episode of a mirrored match has the seats in reverse order.
            own = old.seats - 1 - seat if position % 2 else seat
            seconds["old"] += _move_seconds(old, own)
            seconds["new"] += _move_seconds(new, own)
            step = episodes.first_different_move(old, new, own)
            if step is not None and pair.number not in firsts:
                firsts[pair.number] = FirstDifference(
                    pair=pair.number,
                    difference=telling[pair.number].difference,
                    seat=seat,
                    episode=position,
                    step=step,
                    old_match_id=pair.old_match_id,
                    new_match_id=pair.new_match_id,
                )
    return ReplayAnalysis(
        tuple(firsts[number] for number in telling if number in firsts),
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


def _move_seconds(episode: Episode, seat: int) -> list[float]:
    charged = (step.charged_seconds[seat] for step in episode.steps)
    return [seconds for seconds in charged if seconds is not None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
