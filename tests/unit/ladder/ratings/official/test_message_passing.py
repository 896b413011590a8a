from __future__ import annotations

import numpy as np

from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.message_passing import (
    GameGraph,
    build_graph,
    extend_graph,
    pass_messages,
)
from tests.unit.ladder.ratings.official.worlds import play

CONTENDERS = 12


def season() -> GameTable:
    """Games with several forms of chains; some occur only early or only late."""
    games = play(1, np.linspace(-1.0, 1.0, CONTENDERS), 60, grain=0.3, fault_rate=0.05)
    games.contenders[3, 2:] = games.contenders[50, 3:] = -1
    return games


def rounds(graph: GameGraph) -> None:
    one, zero = np.ones(CONTENDERS), np.zeros(CONTENDERS)
    for _ in range(2):
        pass_messages(graph, one, zero, 0.1, 0.9)


def test_an_extended_graph_has_all_games_and_the_earlier_messages() -> None:
    games = season()
    earlier = build_graph(games.take(slice(0, 40)))
    rounds(earlier)
    extended, whole = extend_graph(earlier, games, 40), build_graph(games)
    assert [chains.form for chains in extended.chains] == [chains.form for chains in whole.chains]
    for mine, theirs in zip(extended.chains, whole.chains, strict=True):
        assert mine.rows.tolist() == theirs.rows.tolist()
        assert mine.who.tolist() == theirs.who.tolist()
        assert (mine.ties is None) == (theirs.ties is None)
        told = [c.told_shift for c in earlier.chains if c.form == mine.form]
        before = told[0].shape[1] if told else 0
        assert not told or np.array_equal(mine.told_shift[:, :before], told[0])
        assert not mine.told_shift[:, before:].any()
    assert extended.followers.rows.tolist() == whole.followers.rows.tolist()
    assert extended.followers.last.tolist() == whole.followers.last.tolist()
    assert extended.last_shift.shape == whole.last_shift.shape


def test_rounds_of_an_extended_graph_leave_the_earlier_one_as_it_was() -> None:
    games = season()
    earlier = build_graph(games)
    rounds(earlier)
    before = [chains.told_shift.copy() for chains in earlier.chains]
    rounds(extend_graph(earlier, games, len(games)))
    for chains, told in zip(earlier.chains, before, strict=True):
        assert np.array_equal(chains.told_shift, told)


def test_a_round_of_new_games_leaves_the_messages_of_earlier_ones() -> None:
    graph = build_graph(season())
    pass_messages(graph, np.ones(CONTENDERS), np.zeros(CONTENDERS), 0.1, 1.0, since=40)
    for chains in graph.chains:
        old = chains.rows < 40
        assert not chains.told_shift[:, old].any()
        assert (chains.told_shift[:, ~old] != 0.0).any(axis=0).all()
