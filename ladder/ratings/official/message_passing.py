"""Models games as chains in finishing order, and runs parallel rounds of messages.

A performance is a skill plus luck of variance 1. In a chain, each neighbour is ahead of the next by
more than the draw margin, or ties within it. Expectation propagation approximates these links by
Gaussians. A message is the game's information about a skill. Messages are natural parameters: a
precision, and a precision times a mean.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.truncated_gaussian import tie_moments, win_moments

BLOCK = 8192
"""Games in a block; its working arrays fit the cache."""
SEAT_BITS = 8
FAULT_DAMPING = 0.5
"""Share of the way to a new message of a fault. All faults of a contender lower its mean, so full
steps would go too far."""

Floats = NDArray[np.float64]


@dataclass
class Chains:
    """Games with chains of equal length, tied ones separately, and their last messages."""

    rows: NDArray[np.intp]
    """Rows of the games in the log."""
    who: NDArray[np.intp]
    """Contenders, best first: [seats, games]."""
    ties: NDArray[np.bool_] | None
    """Which neighbours tie: [seats - 1, games]; None if none do."""
    followed: bool
    """Whether seats at fault follow the chain."""
    told_precision: Floats
    told_shift: Floats
    """Messages to the skills: [seats, games]."""
    link_precision: Floats
    link_shift: Floats
    """Gaussians of the links, on the difference of better and worse: [seats - 1, games]."""

    @property
    def form(self) -> tuple[int, bool, bool]:
        """What the games have in common: seats, whether any tie, whether faults follow."""
        return len(self.who), self.ties is not None, self.followed


@dataclass
class FaultyFollowers:
    """Seats at fault, each behind the last of its game's chain. They are rated at the end."""

    rows: NDArray[np.intp]
    who: NDArray[np.intp]
    last: NDArray[np.intp]
    """The last contender of the chain."""
    told_precision: Floats
    told_shift: Floats


@dataclass
class GameGraph:
    """All games of a log, ready for rounds of messages."""

    chains: list[Chains]
    followers: FaultyFollowers
    last_precision: Floats
    last_shift: Floats
    """The chains' information on their last performance: [games]; empty without faults."""


def build_graph(games: GameTable) -> GameGraph:
    """Groups games by the form of their chain; all messages are empty."""
    seats = games.seats
    present = games.contenders >= 0
    clean = present & ~games.faults
    faulty = present & games.faults
    counts = np.count_nonzero(clean, axis=1)
    key = games.ranks.astype(np.int32) << SEAT_BITS
    key += np.arange(seats, dtype=np.int32)
    key[~clean] = np.iinfo(np.int32).max
    key.sort(axis=1)
    order = key & ((1 << SEAT_BITS) - 1)
    ties = (key[:, 1:] >> SEAT_BITS == key[:, :-1] >> SEAT_BITS) & (
        np.arange(1, seats) < counts[:, None]
    )
    followed = faulty.any(axis=1) & (counts > 0)
    kinds = counts * 4 + ties.any(axis=1) * 2 + followed
    kinds[(counts < 2) & ~followed] = 0
    chains = []
    for kind in np.unique(kinds[kinds > 0]).tolist():
        rows = np.flatnonzero(kinds == kind)
        length = kind // 4
        who = np.take_along_axis(games.contenders[rows], order[rows, :length], axis=1)
        chains.append(
            Chains(
                rows,
                np.ascontiguousarray(who.T, dtype=np.intp),
                np.ascontiguousarray(ties[rows, : length - 1].T) if kind & 2 else None,
                bool(kind & 1),
                *(np.zeros((length, len(rows))) for _ in range(2)),
                *(np.zeros((length - 1, len(rows))) for _ in range(2)),
            )
        )
    rows, at = np.nonzero(faulty & (counts > 0)[:, None])
    followers = FaultyFollowers(
        rows,
        games.contenders[rows, at].astype(np.intp),
        games.contenders[rows, order[rows, counts[rows] - 1]].astype(np.intp),
        np.zeros(len(rows)),
        np.zeros(len(rows)),
    )
    last = np.zeros((2, len(games) if len(rows) else 0))
    return GameGraph(chains, followers, *last)


def extend_graph(earlier: GameGraph, games: GameTable, old_games: int) -> GameGraph:
    """Returns the graph of a log that has grown.

    ``earlier``: the graph of its first ``old_games`` games. Their messages are copied. The chains'
    information on their last performance is 0 until the next round of all games.
    """
    later = build_graph(games.take(slice(old_games, None)))
    forms = dict[tuple[int, bool, bool], list[Chains]]()
    for chains in later.chains:
        chains.rows += old_games
    for chains in (*earlier.chains, *later.chains):
        forms.setdefault(chains.form, []).append(chains)
    later.followers.rows += old_games
    followers = FaultyFollowers(*_join(earlier.followers, later.followers))
    last = np.zeros((2, len(games) if len(followers.rows) else 0))
    return GameGraph([Chains(*_join(*forms[form])) for form in sorted(forms)], followers, *last)


def _join(*parts: Chains | FaultyFollowers) -> Iterator[Any]:
    """Yields each field: arrays joined along the games, other values as in the first part."""
    for column in fields(parts[0]):
        values = [getattr(part, column.name) for part in parts]
        is_array = isinstance(values[0], np.ndarray)
        yield np.concatenate(values, axis=-1) if is_array else values[0]


def connected_components(graph: GameGraph, n: int, *, faults: bool) -> NDArray[np.intp]:
    """Returns a component number for each contender; a path of games connects a component.

    ``faults``: whether a fault connects its contender with the others of the game.
    """
    label = np.arange(n)
    edges = [(graph.followers.last, graph.followers.who)] if faults else []
    for chains in graph.chains:
        edges += list(itertools.pairwise(chains.who))
    while True:
        before = label
        for one, other in edges:
            for start in range(0, len(one), BLOCK):
                left, right = label[one[start : start + BLOCK]], label[other[start : start + BLOCK]]
                apart = np.flatnonzero(left != right)
                if len(apart):
                    left, right = left[apart], right[apart]
                    label = label.copy()
                    np.minimum.at(label, np.maximum(left, right), np.minimum(left, right))
                    label = label[label]
        while not np.array_equal(label, label[label]):
            label = label[label]
        if np.array_equal(before, label):
            return np.unique(label, return_inverse=True)[1]


def sum_by_contender(who: NDArray[np.intp], values: Floats, n: int) -> Floats:
    """Returns sums of values by contender."""
    return np.asarray(np.bincount(who, values, n), np.float64)


def message_sums(graph: GameGraph, n: int) -> tuple[Floats, Floats]:
    """Returns the sum of the chains' current messages to each contender: precisions and shifts."""
    pi, tau = np.zeros(n), np.zeros(n)
    for chains in graph.chains:
        pi += sum_by_contender(chains.who.ravel(), chains.told_precision.ravel(), n)
        tau += sum_by_contender(chains.who.ravel(), chains.told_shift.ravel(), n)
    return pi, tau


def pass_messages(
    graph: GameGraph,
    precision: Floats,
    shift: Floats,
    margin: float,
    damping: float,
    *,
    since: int = 0,
) -> tuple[Floats, Floats]:
    """Runs one parallel round of the games from row ``since``; returns their messages by contender.

    ``precision`` and ``shift`` are the marginals by the chains alone. So nobody is rated against a
    skill that faults have lowered.
    """
    n = len(precision)
    told_precision, told_shift = np.zeros(n), np.zeros(n)
    for chains in graph.chains:
        first = int(np.searchsorted(chains.rows, since))
        for start in range(first, len(chains.rows), BLOCK):
            block = slice(start, start + BLOCK)
            last = _chain_messages(chains, block, precision, shift, margin, damping)
            if chains.followed:
                rows = chains.rows[block]
                graph.last_precision[rows], graph.last_shift[rows] = last
            who = chains.who[:, block].ravel()
            told_precision += sum_by_contender(who, chains.told_precision[:, block].ravel(), n)
            told_shift += sum_by_contender(who, chains.told_shift[:, block].ravel(), n)
    return told_precision, told_shift


def _chain_messages(
    chains: Chains,
    block: slice,
    precision: Floats,
    shift: Floats,
    margin: float,
    damping: float,
) -> tuple[Floats, Floats]:
    """Computes these games' new messages, and the chains' information on the last performance."""
    who = chains.who[:, block]
    told_pi, told_tau = chains.told_precision[:, block], chains.told_shift[:, block]
    link_pi, link_tau = chains.link_precision[:, block], chains.link_shift[:, block]
    seats = len(who)
    # Each performance from other sources: the skill without this game, plus luck.
    own_pi = precision[who] - told_pi
    own_tau = shift[who] - told_tau
    scale = 1.0 / (1.0 + own_pi)
    own_pi *= scale
    own_tau *= scale
    # From worst to best, with the old links.
    below_pi, below_tau = own_pi.copy(), own_tau.copy()  # each with all that follow
    for j in range(seats - 2, -1, -1):
        pi, tau = _across_link(below_pi[j + 1], below_tau[j + 1], link_pi[j], link_tau[j])
        below_pi[j] += pi
        below_tau[j] += tau
    # From best to worst, with new links.
    above_pi, above_tau = own_pi[0], own_tau[0]  # with all that precede
    from_above = [(np.zeros_like(above_pi), np.zeros_like(above_tau))]
    for j in range(seats - 1):
        above, below = 1.0 / above_pi, 1.0 / below_pi[j + 1]
        variance = above + below
        mean = above_tau * above - below_tau[j + 1] * below
        sd = np.sqrt(variance)
        v, w = win_moments((mean - margin) / sd)
        if chains.ties is not None:
            tie = np.flatnonzero(chains.ties[j, block])
            v[tie], w[tie] = tie_moments(mean[tie] / sd[tie], margin / sd[tie])
        left = variance * (1.0 - w)
        pi = w / left
        tau = (mean * w + sd * v) / left
        link_pi[j] += damping * (pi - link_pi[j])
        link_tau[j] += damping * (tau - link_tau[j])
        pi, tau = _across_link(above_pi, above_tau, link_pi[j], -link_tau[j])
        from_above.append((pi, tau))
        above_pi, above_tau = own_pi[j + 1] + pi, own_tau[j + 1] + tau
    # From worst to best again, for the messages to the skills.
    pi, tau = np.zeros_like(above_pi), np.zeros_like(above_tau)
    for j in range(seats - 1, -1, -1):
        all_pi = pi + from_above[j][0]
        all_tau = tau + from_above[j][1]
        scale = 1.0 / (1.0 + all_pi)
        told_pi[j] += damping * (all_pi * scale - told_pi[j])
        told_tau[j] += damping * (all_tau * scale - told_tau[j])
        if j:
            pi, tau = _across_link(
                own_pi[j] + pi, own_tau[j] + tau, link_pi[j - 1], link_tau[j - 1]
            )
    return above_pi, above_tau


def pass_fault_messages(
    followers: FaultyFollowers,
    last: tuple[Floats, Floats],
    own: tuple[Floats, Floats],
    margin: float,
) -> tuple[Floats, Floats]:
    """Runs one round of messages to the seats at fault; returns the messages to each contender.

    ``last``: what each chain knows of its last performance, as precisions and shifts in the frame
    of the seat at fault. ``own``: the marginals of all contenders with their faults.
    """
    who, (last_pi, last_tau) = followers.who, last
    own_pi = own[0][who] - followers.told_precision
    own_tau = own[1][who] - followers.told_shift
    scale = 1.0 / (1.0 + own_pi)
    own_pi *= scale
    own_tau *= scale
    variance = 1.0 / last_pi + 1.0 / own_pi
    mean = last_tau / last_pi - own_tau / own_pi
    sd = np.sqrt(variance)
    v, w = win_moments((mean - margin) / sd)
    left = variance * (1.0 - w)
    pi, tau = _across_link(last_pi, last_tau, w / left, -(mean * w + sd * v) / left)
    scale = 1.0 / (1.0 + pi)
    followers.told_precision += FAULT_DAMPING * (pi * scale - followers.told_precision)
    followers.told_shift += FAULT_DAMPING * (tau * scale - followers.told_shift)
    n = len(own[0])
    return (
        sum_by_contender(who, followers.told_precision, n),
        sum_by_contender(who, followers.told_shift, n),
    )


def _across_link(
    pi: Floats, tau: Floats, link_pi: Floats, link_tau: Floats
) -> tuple[Floats, Floats]:
    """Passes the belief about a performance across a link to its neighbour."""
    share = pi / (pi + link_pi)
    return link_pi * share, tau + share * (link_tau - tau)
