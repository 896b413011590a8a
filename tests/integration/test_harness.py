"""What an agent gets from the harness and what comes back, over the real connection."""

from __future__ import annotations

from pathlib import Path

import pytest

from games.protocol import Verdict
from sandbox.match.clock import Clock
from tests.integration.forked_seats import seated

CLOCK = Clock(act_seconds=20.0)


@pytest.mark.parametrize("configuration", [{"rows": 7}, {"rows": 7, "deep": {"list": [{"x": 1}]}}])
def test_changes_to_the_configuration_end_with_the_move(
    tmp_path: Path, configuration: dict[str, object]
) -> None:
    source = """
    def agent(observation, configuration):
        seen = [configuration.rows, configuration["rows"], sorted(configuration)]
        if "deep" in configuration:
            seen.append(configuration.deep.list[0].x)
            configuration.deep.list[0].x = 99
            configuration.deep.list.append(1)
        configuration.rows = 99
        configuration["more"] = 1
        observation.step = 99
        return seen
    """
    with seated(tmp_path, [source], CLOCK, configuration=configuration) as table:
        first = table.move(step=0)
        assert first[:2] == [7, 7]
        assert "__raw_path__" in first[2]
        assert table.move(step=0) == first


def test_a_key_named_items_does_not_hide_the_items_method(tmp_path: Path) -> None:
    source = "def agent(observation):\n    return sorted(key for key, _ in observation.items())\n"
    with seated(tmp_path, [source], CLOCK) as table:
        assert table.move(items=1, step=0) == ["remainingOverageTime", "step"]


def test_a_truncated_exception_text_keeps_its_type(
    tmp_path: Path,
) -> None:
    source = "def agent():\n    raise ValueError(chr(1) * 7000 + 'the end')\n"
    with seated(tmp_path, [source], CLOCK) as table:
        assert table.move() is Verdict.ERROR
        fault = table.seats[0].fault
        assert fault is not None
        assert fault.traceback is not None
        last = fault.traceback.splitlines()[-1]
        assert last.startswith("ValueError: ")
        assert last.endswith("...")


def test_an_answer_above_the_size_limit_is_invalid(tmp_path: Path) -> None:
    with seated(tmp_path, ["def agent():\n    return 'x' * 20000\n"], CLOCK) as table:
        assert table.move() is Verdict.INVALID
        fault = table.seats[0].fault
        assert fault is not None
        assert "16384" in fault.reason


def test_a_large_observation_arrives_whole(tmp_path: Path) -> None:
    source = "def agent(observation):\n    return len(observation.text)\n"
    with seated(tmp_path, [source], CLOCK) as table:
        assert table.move(text="é" * 60_000) == 60_000
