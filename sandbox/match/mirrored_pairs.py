"""Plays a match as its game requires: one episode, or a mirrored pair from one start.

In the second episode the seats are in reverse order, and each agent has a new process that knows
nothing of the first. The result of a pair is the sum of the rewards.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from games.protocol import Game, Verdict, placements_from_scores
from sandbox.match.match_record import PlayedMatch, SeatReport, read_log


def episodes_per_match(game: Game[Any]) -> int:
    """Number of episodes in a match of this game."""
    return 2 if game.mirrored else 1


def seat_order(seats: int, position: int) -> tuple[int, ...]:
    """The lineup index of each seat in the episode at this position."""
    lineup = tuple(range(seats))
    return lineup[::-1] if position % 2 else lineup


def play_match(
    game: Game[Any], seats: int, episode: Callable[[tuple[int, ...]], PlayedMatch]
) -> PlayedMatch:
    """Play the match. ``episode`` plays one episode with the given lineup indexes in its seats."""
    first, *second = (episode(seat_order(seats, n)) for n in range(episodes_per_match(game)))
    return merge_pair(first, second[0]) if second else first


def merge_pair(first: PlayedMatch, second: PlayedMatch) -> PlayedMatch:
    """Merge both episodes into one result with the seats of the first.

    A fault in either episode is the seat's fault; the first one counts. An episode that paid
    nothing for a fault counts as the lowest reward of either episode, at most 0.
    """
    mirrored = [second.seats[seat] for seat in seat_order(len(first.seats), 1)]
    sums = sum_rewards(
        [seat.reward for seat in first.seats], [seat.reward for seat in second.seats]
    )
    placements = placements_from_scores(sums)
    reports = tuple(
        _merge_seats(one, two, reward, place)
        for one, two, reward, place in zip(first.seats, mirrored, sums, placements, strict=True)
    )
    return PlayedMatch(first.episode, reports, second.episode)


def sum_rewards(first: Sequence[float | None], second: Sequence[float | None]) -> list[float]:
    """The rewards of a pair by seat of the first episode, as ``merge_pair`` says."""
    mirrored = [second[seat] for seat in seat_order(len(first), 1)]
    worst = min(0.0, *(reward or 0.0 for reward in (*first, *mirrored)))
    return [
        (worst if one is None else one) + (worst if two is None else two)
        for one, two in zip(first, mirrored, strict=True)
    ]


def _merge_seats(one: SeatReport, two: SeatReport, reward: float, placement: int) -> SeatReport:
    told = two if two.verdict.is_fault and not one.verdict.is_fault else one
    reason = told.reason
    if told is two and reason is not None:
        reason = f"in the second episode: {reason}"
    if not told.verdict.is_fault and (one.reason or two.reason):  # warnings
        which = "first" if one.reason else "second"
        reason = f"in the {which} episode: {one.reason or two.reason}"
    return replace(
        one,
        placement=placement,
        reward=reward,
        verdict=told.verdict,
        reason=reason,
        failed_step=told.failed_step,
        charged_seconds=round(one.charged_seconds + two.charged_seconds, 6),
        max_move_seconds=max(one.max_move_seconds, two.max_move_seconds),
        pardoned=Counter(one.pardoned) + Counter(two.pardoned),
        answered=one.answered or two.answered,
        log=_merge_logs(one.log, two.log, told.verdict, is_second=told is two),
    )


def _merge_logs(one: bytes, two: bytes, verdict: Verdict, *, is_second: bool) -> bytes:
    """Join the logs of both episodes. Entries of the second episode are marked."""
    first, second = read_log(one), read_log(two)
    moves = [*first["moves"], *({**move, "episode": 1} for move in second["moves"])]
    told = {**second, "failed_episode": 1} if is_second else first
    pardons = dict(first["pardoned"])
    for kind, found in second["pardoned"].items():
        known = pardons.get(kind)
        pardons[kind] = {**known, "times": known["times"] + found["times"]} if known else found
    document = {**told, "moves": moves, "verdict": str(verdict), "pardoned": pardons}
    return gzip.compress(json.dumps(document, separators=(",", ":")).encode(), mtime=0)
