"""Compares plays of machines that are not trusted with plays of trusted machines."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from statistics import fmean
from typing import Final

from games.episode import Episode, EpisodeError, from_bytes
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.errors import NotFound
from ladder.ids import MatchId
from ladder.machines import residuals, samples
from ladder.machines.samples import WaitingSample
from ladder.matches import history
from ladder.telemetry import log_event

LEAST_SECONDS: Final = 0.01
"""Charged time of a seat in a control below which times are not compared: noise is too large."""
LEAST_OWN_SECONDS: Final = 0.0001
"""A machine that charges less is taken to charge so much. Otherwise nobody could compare zero."""


def compare_waiting(
    conn: Connection, blobs: Blobs, until: Callable[[], bool], on_sample: Callable[[], None]
) -> int:
    """Compares what can be compared, and judges the machines if anything was. Returns how many
    samples and controls. Raises BlobsUnavailable."""
    with conn.transaction():
        waiting = samples.waiting_samples(conn)
    count = 0
    for one in waiting:
        if until():
            break
        on_sample()
        _compare(conn, blobs, one)
        count += 1
    if count:
        with conn.transaction():
            for machine in residuals.judge_machines(conn):
                log_event("machine_quarantined", level="warning", machine=machine)
    return count


def _compare(conn: Connection, blobs: Blobs, one: WaitingSample) -> None:
    try:
        first = read_play(conn, blobs, one.first_match_id)
        second = read_play(conn, blobs, one.second_match_id)
        own = None if one.match_id is None else read_play(conn, blobs, one.match_id)
    except (EpisodeError, NotFound) as error:
        log_event("sample_not_compared", level="warning", match=one.match_id, error=str(error))
        first, second, own = [], [], None
    is_repeatable = bool(first) and moves_of(first) == moves_of(second)
    with conn.transaction():
        if one.match_id is None:
            samples.store_control(conn, one.control_id, is_repeatable=is_repeatable)
            return
        is_different, ratio = None, None
        if is_repeatable and own is not None:
            is_different = moves_of(own) != moves_of(first)
            if not is_different:
                ratio = _time_ratio(conn, one, own, first, second)
        samples.store_sample(conn, one.match_id, is_different=is_different, log_time_ratio=ratio)


def read_play(conn: Connection, blobs: Blobs, match_id: MatchId) -> list[Episode]:
    """The episodes of a finished match. Raises EpisodeError, NotFound, BlobsUnavailable."""
    digests = history.replay_digests(conn, [match_id]).get(match_id, [])
    return [from_bytes(b"".join(blobs.open(digest))) for digest in digests]


def moves_of(play: list[Episode]) -> list[object]:
    """What a play has in common with an equal one: everything but times."""
    return [[(step.moves, step.chance) for step in episode.steps] for episode in play]


def _time_ratio(
    conn: Connection,
    one: WaitingSample,
    own: list[Episode],
    first: list[Episode],
    second: list[Episode],
) -> float | None:
    """Mean logarithm of the ratio of charged times, for equal speeds. None if too little was
    charged, or a speed was not measured."""
    ratios = []
    for mine, left, right in zip(own, first, second, strict=True):
        for seat in range(mine.seats):
            charged = [_charged(episode, seat) for episode in (left, right)]
            if min(charged) >= LEAST_SECONDS:
                seconds = max(_charged(mine, seat), LEAST_OWN_SECONDS)
                ratios.append(log(seconds * 2 / sum(charged)))
    speeds = dict(
        conn.execute(
            "select match_id, speed from attempts where match_id = any (%s) and ended = 'finished'"
            " and speed > 0",
            ([one.match_id, one.first_match_id, one.second_match_id],),
        ).fetchall()
    )
    if not ratios or len(speeds) < 3:
        return None
    usual = (log(speeds[one.first_match_id]) + log(speeds[one.second_match_id])) / 2
    return fmean(ratios) + log(speeds[one.match_id]) - usual


def _charged(episode: Episode, seat: int) -> float:
    return sum(step.charged_seconds[seat] or 0.0 for step in episode.steps)
