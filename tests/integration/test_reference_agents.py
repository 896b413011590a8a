"""The reference agents are Kaggle main.py files that play game after game without faults."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from random import Random
from typing import Any

import pytest

from games.hungry_geese import GAME, Ending

AGENTS = Path(__file__).parents[2] / "agents" / "hungry_geese"
NAMES = sorted(path.parent.name for path in AGENTS.glob("*/main.py"))
BUDGETS = {"BUDGET_SECONDS": 0.002, "QUICK_SECONDS": 0.0, "LONG_SECONDS": 0.01}


def load(name: str) -> Callable[[Any, Any], Any]:
    """The agent as Kaggle finds it: the last callable of the executed file."""
    path = AGENTS / name / "main.py"
    namespace: dict[str, Any] = {}
    with chdir(path.parent):  # as in a box
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)
    namespace.update({key: value for key, value in BUDGETS.items() if key in namespace})
    agent: Callable[[Any, Any], Any] = [v for v in namespace.values() if callable(v)][-1]
    assert agent.__name__ == "agent"
    return agent


def test_hungry_geese_has_at_least_six_reference_agents() -> None:
    assert len(NAMES) >= 6


@pytest.mark.parametrize("overrides", [{}, {"rows": 3, "columns": 5, "min_food": 3}])
def test_each_agent_plays_many_games_without_a_fault(overrides: Any) -> None:
    """Each plays four games, each at another seat."""
    configuration = GAME.configure({"episodeSteps": 60, **overrides})
    tables = [(NAMES * 2)[first : first + 4] for first in range(len(NAMES))]
    for seed, names in enumerate(tables):
        agents = [load(name) for name in names]
        rng = Random(seed)
        state, _ = GAME.reset(configuration, 4, rng)
        while GAME.to_move(state):
            moves = {}
            for seat in state.active:
                seen = {**GAME.observe(state, seat), "remainingOverageTime": 60}
                moves[seat] = GAME.parse(state, seat, agents[seat](seen, configuration))
            state, _ = GAME.step(state, moves, rng)
        outcome = GAME.outcome(state)
        assert outcome is not None
        assert not any(verdict.is_fault for verdict in outcome.verdicts), names
        assert Ending.FAILED not in state.endings
