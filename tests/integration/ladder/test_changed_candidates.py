"""The reader of changed candidates knows at every reading what a whole reading would find."""

from __future__ import annotations

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import candidates, entries
from ladder.entries.changed_candidates import CandidateChanges, CandidateReader
from ladder.ids import EntryId
from ladder.matches.pairing import Candidate
from tests.integration.ladder.contest import Contest


class Known:
    """The candidates by all readings so far."""

    def __init__(self, contest: Contest) -> None:
        self.reader = CandidateReader(contest.season.id)
        self.candidates: dict[EntryId, Candidate] = {}

    def read(self, conn: Connection) -> CandidateChanges:
        """Reads once. A transaction anywhere on the server may let older changes come again."""
        found = self.reader.read(conn)
        if found.all_read:
            self.candidates = {}
        self.candidates |= {each.entry_id: each for each in found.changed}
        for entry in found.left:
            self.candidates.pop(entry, None)
        return found


def whole(contest: Contest) -> dict[EntryId, Candidate]:
    found = candidates.pairing_candidates(contest.conn, contest.season.id)
    return {each.entry_id: each for each in found}


def test_a_reading_returns_what_changed_since_the_one_before(contest: Contest) -> None:
    for _ in range(5):
        contest.active()
    known = Known(contest)
    assert known.read(contest.conn).all_read
    assert known.candidates == whole(contest)
    match_id = contest.rated(*contest.entries[:4])
    assert not known.read(contest.conn).all_read
    assert known.candidates == whole(contest)
    contest.play(match_id, [1, 2, 3, 4])
    entries.retire_entry(contest.conn, contest.entries[4])
    contest.active()
    known.read(contest.conn)
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


def test_an_entry_that_rests_is_asked_for_again_and_a_new_connection_reads_all(
    contest: Contest, database_url: str
) -> None:
    for _ in range(4):
        contest.active()
    known = Known(contest)
    known.read(contest.conn)
    resting = contest.entries[0]
    contest.conn.execute("update entries set struck_at = now() where id = %s", (resting,))
    known.read(contest.conn)
    assert resting in known.read(contest.conn).left  # no row changes when the rest ends
    assert resting not in known.candidates
    with db.connect(database_url, autocommit=True) as other:
        assert known.read(other).all_read
    assert resting not in known.candidates
