"""The reader of changed candidates knows at every reading what a whole reading would find."""

from __future__ import annotations

from typing import LiteralString

import pytest
from msgspec.structs import replace

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import candidates, entries
from ladder.entries.candidates import CandidateChanges, CandidateReader
from ladder.ids import EntryId
from ladder.matches.pairing import Candidate
from ladder.scheduling.season_cache import SeasonCache, SeasonField
from tests.integration.ladder.contest import Contest


class Known:
    """The candidates by all readings so far."""

    def __init__(self, contest: Contest) -> None:
        self.reader = CandidateReader(contest.season.id)
        self.candidates: dict[EntryId, Candidate] = {}

    def read(self, conn: Connection) -> CandidateChanges:
        """Reads once. A transaction anywhere on the server may let older changes come again."""
        found = self.reader.read(conn)
        self.candidates |= {each.entry_id: each for each in found.changed}
        for entry, numbers in zip(found.renumbered, found.numbers.T.tolist(), strict=True):
            live = dict(zip(("mu", "sigma", "games", "in_flight", "weight"), numbers, strict=True))
            self.candidates[entry] = replace(self.candidates[entry], **live)
        for entry in found.left:
            del self.candidates[entry]
        return found


def whole(contest: Contest) -> dict[EntryId, Candidate]:
    found = candidates.pairing_candidates(contest.conn, contest.season.id)
    return {each.entry_id: each for each in found}


def test_a_reading_returns_what_changed_since_the_one_before(contest: Contest) -> None:
    for _ in range(5):
        contest.active()
    known = Known(contest)
    known.read(contest.conn)
    assert known.candidates == whole(contest)
    match_id = contest.rated(*contest.entries[:4])
    found = known.read(contest.conn)
    assert (found.changed, found.left) == ([], [])
    assert known.candidates == whole(contest)
    contest.play(match_id, [1, 2, 3, 4])
    entries.retire_entry(contest.conn, contest.entries[4])
    contest.active()
    found = known.read(contest.conn)
    assert [each.entry_id for each in found.changed] == contest.entries[5:]
    assert found.left == [contest.entries[4]]
    assert known.candidates == whole(contest)
    assert contest.entries[4] not in known.candidates
    assert len(known.candidates) == 5


def test_a_change_is_found_also_if_its_transaction_ends_after_later_ones(
    contest: Contest, database_url: str
) -> None:
    for _ in range(4):
        contest.active()
    known = Known(contest)
    slow, quick = contest.entries[:2]
    weigh = "update entries set pairing_weight = pairing_weight + 1 where id = %s"
    with db.connect(database_url) as other:
        other.execute(weigh, (slow,))
        known.read(contest.conn)
        contest.conn.execute(weigh, (quick,))
        known.read(contest.conn)
        assert known.candidates == whole(contest)
        other.commit()
    known.read(contest.conn)
    assert known.candidates == whole(contest)
    assert known.candidates[slow].weight == 2


@pytest.mark.parametrize(
    "change",
    [
        "team_id = (select team_id from entries where id = %s)",
        "is_anchor = %s::text is not null",
        "profile = left(%s, 3) || ' b,c'",
        "pairing_weight = 0 * length(%s)",
    ],
)
def test_a_candidate_that_changes_comes_with_its_new_numbers(
    contest: Contest, change: LiteralString
) -> None:
    one, other = contest.active(), contest.active()
    known = Known(contest)
    known.read(contest.conn)
    statement: LiteralString = f"update entries set {change}, games = 7, mu = 1 where id = %s"
    contest.conn.execute(statement, (other, one))
    assert [each.entry_id for each in known.read(contest.conn).changed] == [one]
    assert known.candidates == whole(contest)
    assert known.read(contest.conn).changed == []


def test_an_entry_comes_back_with_its_new_numbers(contest: Contest) -> None:
    entry = contest.active()
    known = Known(contest)
    for state, mu in (("active", 1), ("retired", 2), ("active", 3)):
        contest.conn.execute(
            "update entries set state = %s, mu = %s where id = %s", (state, mu, entry)
        )
        known.read(contest.conn)
        assert known.candidates == whole(contest)
    assert known.candidates[entry].mu == 3


def test_an_entry_comes_back_when_its_rest_ends(contest: Contest, database_url: str) -> None:
    entry = contest.active()
    known = Known(contest)
    known.read(contest.conn)
    with contest.conn.transaction(), db.connect(database_url, autocommit=True) as other:
        row = contest.conn.execute("select now()").fetchone()  # the same in all its statements
        assert row is not None
        other.execute(
            "update entries set struck_at = %s - remote_rest_period() + interval '1 us'"
            " where id = %s",
            (row[0], entry),
        )
        assert known.read(contest.conn).left == [entry]
        assert known.read(contest.conn).changed == []
    known.read(contest.conn)  # the end of the rest changed no row
    assert known.candidates == whole(contest)
    assert list(known.candidates) == [entry]


def test_after_an_error_the_cache_reads_all_again(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    for _ in range(2):
        contest.active()
    cache = SeasonCache()
    with monkeypatch.context() as patched:
        patched.setattr(SeasonField, "change_entries", fail)
        with pytest.raises(MemoryError):
            cache.read_entries(contest.conn, contest.season.id)
    cache.read_entries(contest.conn, contest.season.id)
    idle = cache.entries_without_matches(contest.conn, contest.season.id, {"numpy"})
    assert idle == set(contest.entries)


def test_a_new_connection_reads_all(contest: Contest, database_url: str) -> None:
    for _ in range(4):
        contest.active()
    known = Known(contest)
    known.read(contest.conn)
    gone, resting, *others = contest.entries
    contest.conn.execute("update entries set struck_at = now() where id = %s", (resting,))
    entries.retire_entry(contest.conn, gone)
    with db.connect(database_url, autocommit=True) as other:
        found = known.read(other)
    assert set(found.left) == {gone, resting}
    assert set(found.renumbered) == set(others)
    assert known.candidates == whole(contest)
