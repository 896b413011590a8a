"""What `peck tournament` prints about a tournament."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from services.cli import tournaments

FOUND = {
    "id": "trn_1",
    "title": "Cup",
    "state": "finished",
    "plan": {"stages": [{"format": "swiss"}, {"format": "single_elimination"}]},
    "plan_text": ["Swiss.", "Single elimination."],
    "position": "2.1",
    "entered": 1,
    "locks_at": "2026-01-01T10:00:00Z",
    "starts_at": "2026-01-02T10:00:00Z",
    "champion_name": None,
    "problem": None,
    "end_reason": None,
    "draw_digest": "00",
}

LINE = {"rank": 1, "score": 1.0, "played": 1, "tie_breaks": {}, "explanation": ""}


class Service:
    """Answers as the API does. The winner of a stage is named after it."""

    def get(self, _path: str) -> dict[str, Any]:
        return {**FOUND, "champion_name": "first"}

    def list_items(
        self, path: str, *, limit: int, stage: int | None = None
    ) -> Iterator[dict[str, Any]]:
        assert limit
        if path.endswith("/entrants"):
            yield {"place": 2, "agent_name": "second"}
            yield {"place": 1, "agent_name": "first"}
            return
        yield {**LINE, "group": 0, "agent_name": f"winner of stage {stage}"}


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ("registration", "entrants: 1; locks at 2026-01-01 10:00 UTC"),
        ("locked", "entrants: 1; starts at 2026-01-02 10:00 UTC"),
        ("finished", "entrants: 1"),
    ],
)
def test_a_tournament_is_printed_with_its_next_date(
    state: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tournaments.show({**FOUND, "state": state}, False)
    assert line in capsys.readouterr().out.splitlines()


def test_a_champion_that_the_draw_chose_is_printed_with_its_equals(
    capsys: pytest.CaptureFixture[str],
) -> None:
    others = [{"agent_name": name} for name in "bcdefg"]
    found = {**FOUND, "champion_name": "one", "drawn_behind": others}
    tournaments.show(found, False)
    printed = capsys.readouterr().out.splitlines()
    assert "champion: one (by the draw among 7 with the same reward)" in printed
    assert "other agents with the best reward: b, c, d, e, f and 1 more" in printed


@pytest.mark.parametrize(("chosen", "shown"), [(None, 2), (1, 1)])
def test_a_tournament_is_shown_with_the_table_of_its_newest_or_the_chosen_stage(
    chosen: int | None,
    shown: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def connect(**_options: Any) -> Iterator[Service]:
        yield Service()

    monkeypatch.setattr(tournaments, "connect", connect)
    tournaments.show_tournament("trn_1", chosen)
    printed = capsys.readouterr().out
    assert f"stage {shown} of 2" in printed.splitlines()
    assert f"winner of stage {shown}" in printed
    places = printed.partition("final places over all stages")[2]
    assert places.index("first") < places.index("second")


def test_each_group_has_a_table_with_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    tournaments.show_tables(
        [{**LINE, "group": group, "agent_name": f"best of {group}"} for group in (1, 2)]
    )
    printed = capsys.readouterr().out
    parts = ("group 1", "best of 1", "group 2", "best of 2")
    assert sorted(parts, key=printed.index) == list(parts)
