"""The benchmark's remote entry has the strikes and pauses of the service after the same acts."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.rating.tricks import RemoteEntry
from ladder.entries import entries, remote_agents
from ladder.entries.records import EntryState
from ladder.ids import EntryId
from tests.integration.ladder.contest import Contest
from tests.integration.ladder.remote_contest import (
    active,
    be_away,
    judge,
    lose_unanswered,
    play,
    wait_seconds,
)
from tests.integration.ladder.remote_contest import conn as conn
from tests.integration.ladder.remote_contest import contest as contest


def test_the_benchmark_counts_the_strikes_of_the_service(contest: Contest) -> None:
    entry, other = active(contest), contest.active()
    simulated, rng = RemoteEntry(first_rules=False), Random(2)
    pauses = 0
    for _ in range(60):
        if simulated.paused_days is None:
            _play_one(contest, entry, other, simulated, answers=rng.random() < 0.8)
        elif rng.random() < 0.5:
            remote_agents.retry_paused_entry(contest.conn, entry)
            judge(contest, entry)
            simulated.resume()
        else:
            contest.conn.execute("update entries set next_try_at = now() where id = %s", (entry,))
            assert remote_agents.retry_due_entries(contest.conn) == [entry]
            simulated.wait()
        found = entries.get_entry(contest.conn, entry)
        row = contest.conn.execute(
            "select answered, remote_most_in_flight(strikes) from entries where id = %s", (entry,)
        ).fetchone()
        assert row == (simulated.answered, simulated.most_in_flight)
        assert found.strikes == simulated.strikes
        assert (found.state is EntryState.PAUSED) == (simulated.paused_days is not None)
        if simulated.paused_days is not None:
            pauses += 1
            waits = wait_seconds(contest, entry) / 86400
            assert waits == pytest.approx(simulated.paused_days, abs=0.001)
    assert pauses > 3


def _play_one(
    contest: Contest, entry: EntryId, other: EntryId, simulated: RemoteEntry, *, answers: bool
) -> None:
    if answers:
        play(contest, contest.rated(entry, other))
        simulated.answer()
        return
    if simulated.is_excused:
        be_away(contest, entry, other)
    else:
        lose_unanswered(contest, entry, other)
    simulated.leave()
