"""How far a running validation match is, by the steps that its worker sent to Redis.

`workers.live_publishing` writes them. Redis may lose them: then nobody knows how far the match is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from redis.exceptions import RedisError

from games import GAMES
from ladder.database.db import Connection
from ladder.entries.records import Entry
from ladder.enums import MatchState
from ladder.ids import MatchId
from ladder.leagues import seasons
from ladder.matches import history, live_stream
from workers.redis_clients import client_without_retries

ANSWER_SECONDS: Final = 0.3
NEWEST: Final = 2
"""Entries that are read. The last one may say that the match is over."""


STEPS_APART: Final = 2
"""In the first steps the copies are asked one after another: these steps tell no pace."""


@dataclass(frozen=True, slots=True)
class ValidationSteps:
    """How far the episode is that is played now, and its pace."""

    played: int
    most: int
    """Most steps that an episode of this season can have."""
    act_seconds: float = 0.0
    """Free time of a move."""
    move_seconds: float | None = None
    """Mean charge of the newest moves. None if nobody knows: then no other time is known either."""
    bank_seconds: float = 0.0
    """What the copy with the smallest bank has left."""
    increment_seconds: float = 0.0
    step_seconds: float | None = None
    """Time from the step before to the newest one."""

    @property
    def bank_ends_at(self) -> int | None:
        """The step at which a bank is used up at this pace; None if that is not to be expected."""
        if self.move_seconds is None:
            return None
        over = self.move_seconds - self.act_seconds - self.increment_seconds
        if over <= 0:
            return None
        last = self.played + int(self.bank_seconds / over) + 1
        return last if last < self.most else None

    @property
    def seconds_left(self) -> float | None:
        """Time until that step at this pace; None if nobody knows."""
        last = self.bank_ends_at
        if last is None or self.step_seconds is None:
            return None
        return max(1.0, (last - self.played) * self.step_seconds)


def read_validation_steps(redis_url: str, conn: Connection, entry: Entry) -> ValidationSteps | None:
    """The steps of the entry's running validation match; None if there is none or nobody knows.

    The caller checks that the viewer may read the entry's logs.
    """
    if not redis_url or entry.validation_match_id is None:
        return None
    match = history.get_match(conn, MatchId(entry.validation_match_id))
    if match.state is not MatchState.RUNNING or match.game not in GAMES:
        return None
    season = seasons.get_season(conn, entry.season_id)
    try:
        rows: Any = client_without_retries(redis_url, ANSWER_SECONDS).xrevrange(
            live_stream.stream_key(match.id, match.attempt), count=NEWEST
        )
        newest = [
            (int(at.split(b"-")[0]) / 1000, json.loads(fields[live_stream.FIELD]))
            for at, fields in rows
        ]
        most = GAMES[match.game].longest(season.configuration)
        return steps_of_entries(newest, most, season.clock)
    except (RedisError, OSError, KeyError, ValueError):
        return None


def steps_of_entries(
    newest: Sequence[tuple[float, dict[str, Any]]], most: int, clock: Mapping[str, Any]
) -> ValidationSteps | None:
    """What the newest entries with steps say, each with its time in seconds. Pure.

    The pace comes from the times of two entries. A slow agent has one step in each.
    """
    with_steps = [(at, entry) for at, entry in newest if "steps" in entry]
    if not with_steps:
        return None
    at, last = with_steps[0]
    played = last["first"] + len(last["steps"])
    steps = ValidationSteps(played, most, act_seconds=float(clock.get("act_seconds", 1.0)))
    if (
        len(with_steps) < NEWEST
        or not last["steps"]
        or last["position"] != with_steps[1][1]["position"]
    ):
        return steps
    charges = [c for step in last["steps"] for c in step["charged_seconds"] if c is not None]
    banks = [bank for bank in last["steps"][-1]["bank_seconds"] if bank is not None]
    if not charges or not banks:
        return steps
    pace = (at - with_steps[1][0]) / len(last["steps"])
    return replace(
        steps,
        move_seconds=sum(charges) / len(charges),
        bank_seconds=max(0.0, min(banks)),
        increment_seconds=float(clock.get("increment_seconds", 0.0)),
        step_seconds=pace if played > STEPS_APART else None,
    )
