"""The lease as a dict: the expected rows after each act of a scheduler or worker."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass, field

from ladder.ids import EntryId, MatchId

WORKERS = ("w1", "w2", "w3")  # w3 lacks the profile that every match needs
MAX_ATTEMPTS = 2
STRIKES = 3  # strikes that pause an entry
FORGIVEN_AFTER = 10  # answered matches in a row that remove a strike


@dataclass
class Row:
    """The model's data of a match."""

    kind: str
    entries: tuple[EntryId, ...]
    scrim: str | None
    rejudges: MatchId | None = None
    state: str = "queued"
    attempt: int = 0
    worker: str | None = None
    refused: str | None = None
    is_refusing: bool = False
    is_woken: bool = False
    has_message: bool = False
    """Whether it was woken, also long ago."""
    is_lapsed: bool = False
    is_stale: bool = False
    accepted_no: int | None = None
    faults: Counter[EntryId] = field(default_factory=Counter)
    attempts: list[tuple[int, str, str]] = field(default_factory=list)


@dataclass
class World:
    """The whole model: a value, so that an open transaction has its own copy."""

    rows: dict[MatchId, Row] = field(default_factory=dict)
    log: list[tuple[int, MatchId, str]] = field(default_factory=list)
    live: set[str] = field(default_factory=set)
    strikes: Counter[EntryId] = field(default_factory=Counter)
    answered: Counter[EntryId] = field(default_factory=Counter)
    paused: set[EntryId] = field(default_factory=set)

    def copy(self) -> World:
        """A deep copy; pickle makes it several times faster than copy.deepcopy."""
        made: World = pickle.loads(pickle.dumps(self, pickle.HIGHEST_PROTOCOL))
        return made

    def fits(self, worker: str, match_id: MatchId) -> bool:
        return worker in ("w1", "w2")

    def claim(self, match_id: MatchId, worker: str) -> bool:
        row = self.rows[match_id]
        if row.state != "queued" or row.is_stale:
            return False
        others = self.live & ({"w1", "w2"} - {worker})
        is_refused = row.refused == worker and row.is_refusing and bool(others)
        if is_refused or not self.fits(worker, match_id):
            row.is_woken = row.has_message = False  # another worker must be woken for it
            return False
        row.state, row.worker, row.is_lapsed = "running", worker, False
        row.attempt += 1
        return True

    def claim_next(self, queued: list[MatchId], kind: str, worker: str) -> MatchId | None:
        """Claims the first of these matches that the worker may have without a message."""
        for match_id in queued:
            row = self.rows[match_id]
            is_refused = row.refused == worker and row.is_refusing
            is_due = row.kind == kind and not (row.has_message or row.is_stale or is_refused)
            if is_due and self.fits(worker, match_id):
                assert self.claim(match_id, worker)
                return match_id
        return None

    def finish(
        self,
        match_id: MatchId,
        attempt: int,
        worker: str,
        verdicts: list[str],
        answered: tuple[bool, ...] = (True, True),
    ) -> bool:
        row = self.rows[match_id]
        if (row.state, row.attempt, row.worker) != ("running", attempt, worker):
            return False
        row.state = "finished"
        row.attempts.append((attempt, worker, "finished"))
        if row.kind == "rated":
            for entry, verdict in zip(row.entries, verdicts, strict=True):
                row.faults[entry] += verdict != "DONE"
            for entry, has in zip(row.entries, answered, strict=True):
                if not has:
                    self.strike(entry)
                elif entry not in self.paused and self.strikes[entry]:
                    self.answered[entry] = (self.answered[entry] + 1) % FORGIVEN_AFTER
                    self.strikes[entry] -= not self.answered[entry]
            if row.rejudges is not None:
                self.log.append((len(self.log) + 1, row.rejudges, "withdraw"))
                self.rows[row.rejudges].faults.clear()
            self.log.append((len(self.log) + 1, match_id, "accept"))
            row.accepted_no = len(self.log)
        return True

    def strike(self, entry: EntryId) -> None:
        if entry in self.paused:
            return
        self.strikes[entry] = min(self.strikes[entry] + 1, STRIKES)
        self.answered[entry] = 0
        if self.strikes[entry] == STRIKES:
            self.paused.add(entry)

    def resume(self, entry: EntryId) -> None:
        self.paused.discard(entry)
        self.answered[entry] = 0

    def drop(self, match_id: MatchId, ended: str, *, void: bool) -> None:
        row = self.rows[match_id]
        if row.state == "running":
            assert row.worker is not None
            row.attempts.append((row.attempt, row.worker, ended))
        if void or row.attempt >= MAX_ATTEMPTS:
            row.state = "void"
        else:
            row.state, row.refused, row.worker = "queued", row.worker, None
            row.is_refusing, row.is_woken, row.is_stale = True, False, False
            row.has_message = False
