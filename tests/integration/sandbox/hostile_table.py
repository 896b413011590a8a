"""The hostile agents: how each must end, and its row of the attack table."""

from __future__ import annotations

from dataclasses import dataclass

from games.protocol import Verdict
from sandbox.match.clock import Clock

ROWS = (
    "forks", "memory", "disk", "inodes", "handles", "sysv", "output", "lengths", "replies", "drip",
    "silence", "values", "pickle", "log injection", "stalling", "pondering", "clocks", "frames",
    "kills", "daemons", "crashes", "loading", "network", "sockets", "secrets", "tracing", "mounts",
    "set-uid", "kernel", "control groups", "socket folder", "collusion", "marks", "host reads",
)  # fmt: skip
"""One word for each row of the attack table; its last row, archives, has separate tests."""

SAME_IN_EVERY_LAUNCHER = frozenset({
    "output", "lengths", "replies", "drip", "silence", "values", "pickle", "log injection",
    "frames", "crashes", "loading",
})  # fmt: skip
"""Rows whose answer comes from the child's code and the referee, in every launcher alike.

The suite plays their agents in bubblewrap; ``scripts/drill hostile-agents`` plays them in Docker
too.
"""

CLOCK = Clock(act_seconds=0.2, bank_seconds=0.5, load="own", load_seconds=10.0)
FIRST_MOVE = Clock(act_seconds=0.2, bank_seconds=0.5, load="first_move")
LOADS = Clock(act_seconds=0.2, bank_seconds=0.5, load="own", load_seconds=1.5)
SHORT = Clock(act_seconds=0.1, bank_seconds=0.25, load="own", load_seconds=10.0)
"""For agents that use up whatever time they have."""
PATIENT = Clock(act_seconds=4.0, bank_seconds=0.5, load="own", load_seconds=10.0)
"""For agents whose end takes the kernel longer than a move may take."""

DONE, ERROR = frozenset({Verdict.DONE}), frozenset({Verdict.ERROR})
INVALID, TIMEOUT = frozenset({Verdict.INVALID}), frozenset({Verdict.TIMEOUT})
EITHER = ERROR | TIMEOUT
ANY = DONE | ERROR | TIMEOUT

OUT_OF_MEMORY = r"used more than its 128 MB of memory in step 1 \(observation.step 0\)$"
LATE = (
    r"Step \d (took|had no answer after) \d+\.\d+ s; "
    r"[\d.]+ s a move are allowed and 0\.\d+ s were left in the bank.*\(\d+\.\d+ s of wall time"
)
PONDERED = r"The agent computed for \d\.\d+ s off its turn, before step \d"
BROKEN = r"Broken protocol (in step \d|while the agent was loading): .+must not touch"
EXIT = r"exited with code {} in step 1; an agent must return its move"
NO_MOVE = r"The answer in step 1 is no move: "


@dataclass(frozen=True)
class Hostile:
    """One agent: the ``row`` it covers, its permitted verdicts, and the reason's pattern.

    Agents with ``reaches`` report each attempt, and at least one ``HELD`` must be there.
    """

    name: str
    row: str
    verdicts: frozenset[Verdict] = DONE
    reason: str = r"^$"
    reaches: bool = False
    seats: int = 1
    """The number of seats it takes in the match."""
    reused: bool = True
    """Whether its box must be clean and take the next match too.

    If False, either is right.
    """
    clock: Clock = CLOCK
    unseen: tuple[str, ...] = ()
    """Texts that its reason must not contain."""

    @property
    def plays(self) -> int:
        """Its matches: a second one if it looks for its own marks, or takes two boxes."""
        return 2 if self.row == "marks" or self.seats > 1 else 1


HOSTILE = (
    Hostile("fork_bomb", "forks", reaches=True),
    Hostile("fork_bomb_racing", "forks", ANY, rf"^$|{LATE}|{PONDERED}|temporarily unavailable"),
    Hostile("fork_bomb_at_the_end", "forks", ANY, rf"^$|{LATE}|{PONDERED}|temporarily unavailable"),
    Hostile("thread_bomb", "forks", reaches=True),
    Hostile("program_bomb", "forks", ANY,
            rf"^$|{LATE}|{PONDERED}|temporarily unavailable|of memory"),
    Hostile("memory_bomb", "memory", ERROR, OUT_OF_MEMORY, reused=False, clock=PATIENT),
    Hostile("memory_creep", "memory", ERROR, OUT_OF_MEMORY, reused=False, clock=PATIENT),
    Hostile("memory_in_children", "memory", ANY, rf"^$|of memory|{LATE}", reused=False,
            clock=PATIENT),
    Hostile("memory_in_files", "memory", ERROR, OUT_OF_MEMORY, reused=False, clock=PATIENT),
    Hostile("memory_in_sockets", "memory", ANY, rf"^$|of memory|{LATE}", reused=False),
    Hostile("memory_reply", "memory", ERROR, OUT_OF_MEMORY, reused=False, clock=PATIENT),
    Hostile("memory_blame", "memory", EITHER, rf"of memory|ended|closed|{LATE}", reused=False,
            clock=PATIENT),
    Hostile("fills_tmp", "disk", reaches=True, clock=PATIENT),
    Hostile("fills_shared_memory", "disk", reaches=True),
    Hostile("sparse_file", "disk", reaches=True),
    Hostile("many_files", "inodes", reaches=True),
    Hostile("deep_tree", "inodes", reused=False),
    Hostile("wide_tree", "inodes"),
    Hostile("odd_names", "inodes"),
    Hostile("many_descriptors", "handles", reaches=True),
    Hostile("many_pipes", "handles"),
    Hostile("many_terminals", "handles", reaches=True),
    Hostile("many_timers", "handles", reaches=True),
    Hostile("watches_files", "handles", reaches=True),
    Hostile("interrupt_storms", "handles", reaches=True),
    Hostile("system_v", "sysv", reaches=True),
    Hostile("floods_stdout", "output", ANY, rf"^$|{LATE}"),
    Hostile("floods_from_behind", "output", ANY, rf"^$|{LATE}"),
    Hostile("log_swell", "output", ANY, rf"^$|{LATE}"),
    Hostile("log_in_packets", "output", ANY, r"^$|Step 5 (took|had no answer)"),
    Hostile("log_marks_broken", "log injection"),
    Hostile("log_injection", "log injection", ERROR, "^Raised in step 1, at main.py line",
            unseen=("\x1b", "\u202e", "\0")),
    Hostile("log_closed", "log injection", ERROR, BROKEN),
    Hostile("length_lies", "lengths", ERROR, BROKEN),
    Hostile("length_zero", "lengths", ERROR, rf"{BROKEN}|closed its connection"),
    Hostile("length_over", "lengths", ERROR, BROKEN),
    Hostile("brackets", "lengths", ERROR | INVALID, rf"{BROKEN}|{NO_MOVE}"),
    Hostile("two_replies", "replies", ERROR, BROKEN),
    Hostile("early_reply", "replies", ERROR, BROKEN),
    Hostile("stale_reply", "replies", ERROR, rf"{BROKEN}"),
    Hostile("late_reply", "replies", TIMEOUT, LATE, clock=SHORT),
    Hostile("out_of_band", "replies", EITHER, rf"{BROKEN}|{LATE}|closed its connection|exited"),
    Hostile("other_kinds", "replies", ERROR, BROKEN),
    Hostile("ready_again", "replies", ERROR, BROKEN),
    Hostile("ready_early", "replies", ERROR, BROKEN),
    Hostile("forged_error", "replies", ERROR, "^Raised in step 1", unseen=("\x1b", "\u202e")),
    Hostile("keys_twice", "replies", ERROR, BROKEN),
    Hostile("answers_by_proxy", "replies", ANY, rf"^$|{LATE}|{BROKEN}|exited|closed"),
    Hostile("answers_in_chorus", "replies", ANY, rf"^$|{BROKEN}|{LATE}"),
    Hostile("drip", "drip", EITHER, rf"{BROKEN}|{LATE}", clock=SHORT),
    Hostile("closes_connection", "silence", ERROR, "closed its connection in step 1 without an"),
    Hostile("never_answers", "silence", TIMEOUT, LATE, clock=SHORT),
    Hostile("stops_itself", "silence", TIMEOUT, LATE, clock=SHORT),
    Hostile("not_a_number", "values", INVALID, NO_MOVE),
    Hostile("not_a_number_raw", "values", ERROR | INVALID, rf"{BROKEN}|{NO_MOVE}"),
    Hostile("huge_number", "values", ERROR | INVALID, rf"{BROKEN}|{NO_MOVE}"),
    Hostile("deep_list", "values", ERROR | INVALID, rf"{NO_MOVE}|Raised|recursion"),
    Hostile("half_character", "values", ERROR | INVALID, rf"{BROKEN}|{NO_MOVE}"),
    Hostile("odd_types", "values", INVALID, NO_MOVE),
    Hostile("two_faced", "values", INVALID, NO_MOVE),
    Hostile("pickles", "pickle", INVALID, NO_MOVE),
    Hostile("sleeps", "stalling", TIMEOUT, LATE, clock=SHORT),
    Hostile("spins", "stalling", TIMEOUT, LATE, clock=SHORT),
    Hostile("spins_in_c", "stalling", TIMEOUT, LATE, clock=SHORT),
    Hostile("backtracks", "stalling", TIMEOUT, LATE, clock=SHORT),
    Hostile("blocks_signals", "stalling", TIMEOUT, LATE, clock=SHORT),
    Hostile("ponders", "pondering", DONE | TIMEOUT, rf"^$|{LATE}|{PONDERED}"),
    Hostile("ponders_in_children", "pondering", DONE | TIMEOUT, rf"^$|{LATE}|{PONDERED}"),
    Hostile("sets_clocks", "clocks", TIMEOUT, LATE, reaches=True),
    Hostile("walks_frames", "frames", reaches=True),
    Hostile("patches_harness", "frames", INVALID | EITHER, "."),
    Hostile("kills_all", "kills", ERROR, "ended by signal SIG(TERM|KILL)"),
    Hostile("kills_supervisor", "kills", reaches=True),
    Hostile("borrows_signals", "kills", reaches=True),
    Hostile("daemon", "daemons"),
    Hostile("works_after_the_end", "daemons", ANY, rf"^$|{LATE}|temporarily unavailable"),
    Hostile("waits_in_the_kernel", "daemons", reaches=True),
    Hostile("holds_its_end", "daemons", ANY, r"^$|Step 5 (took|had no answer)"),
    Hostile("exits", "crashes", ERROR, EXIT.format(3)),
    Hostile("exits_hard", "crashes", ERROR, EXIT.format(0)),
    Hostile("segfaults", "crashes", ERROR, "ended by signal SIGSEGV .+ in step 1"),
    Hostile("aborts", "crashes", ERROR, "ended by signal SIGABRT .+ in step 1", reaches=True),
    Hostile("overflows_stack", "crashes", EITHER, rf"SIGSEGV|Raised|of memory|{LATE}"),
    Hostile("hangs_in_str", "crashes", TIMEOUT, LATE, clock=SHORT),
    Hostile("raises_strangely", "crashes", ERROR, "exited with code 1|Raised"),
    Hostile("import_hangs", "loading", TIMEOUT, "^The agent was still loading after 1.5 s",
            clock=LOADS),
    Hostile("import_crashes", "loading", ERROR, "^Raised while the agent was loading.+no weights",
            unseen=("\x1b",)),
    Hostile("import_exits", "loading", ERROR, "exited with code 7 while the agent was loading"),
    Hostile("import_kills", "loading", EITHER, rf"SIGKILL .*in step 1|{LATE}", clock=FIRST_MOVE),
    Hostile("no_callable", "loading", ERROR, "defines no function", clock=FIRST_MOVE),
    Hostile("network", "network", reaches=True),
    Hostile("listens", "network", reaches=True),
    Hostile("odd_sockets", "sockets", reaches=True),
    Hostile("passes_descriptors", "sockets", reaches=True),
    Hostile("reads_processes", "secrets", reaches=True),
    Hostile("looks_for_secrets", "secrets", reaches=True),
    Hostile("traces", "tracing", reaches=True),
    Hostile("mounts", "mounts", reaches=True),
    Hostile("namespaces", "mounts", reaches=True),
    Hostile("set_uid", "set-uid", reaches=True),
    Hostile("capabilities", "set-uid", reaches=True),
    Hostile("devices", "set-uid", reaches=True),
    Hostile("kernel_calls", "kernel", reaches=True),
    Hostile("foreign_calls", "kernel", ERROR, "ended by signal SIGSYS"),
    Hostile("own_filters", "kernel", reaches=True),
    Hostile("control_groups", "control groups", reaches=True),
    Hostile("priorities", "control groups", reaches=True),
    Hostile("socket_folder", "socket folder", reaches=True),
    Hostile("colludes", "collusion", reaches=True, seats=2, reused=False),
    Hostile("page_cache", "collusion", reaches=True, seats=2, reused=False),
    Hostile("leaves_marks", "marks", reaches=True),
    Hostile("marks_in_times", "marks", reaches=True),
    Hostile("marks_in_descriptors", "marks", reaches=True),
    Hostile("counts_of_the_host", "collusion", reaches=True),
    Hostile("links_for_the_host", "host reads", reaches=True),
)  # fmt: skip

BY_NAME = {hostile.name: hostile for hostile in HOSTILE}

CHEATS = (
    "cheat_sleeps", "cheat_threads", "cheat_children", "cheat_pressure", "cheat_memory_pressure",
    "cheat_burst", "cheat_ponders", "cheat_ponders_apart",
)  # fmt: skip
"""Agents that attack the charge: the clock has separate tests."""
OFF_TURN = frozenset({"cheat_ponders", "cheat_ponders_apart"})
VOIDERS = (
    "kills_supervisor", "kills_all", "log_swell", "floods_from_behind", "fork_bomb_at_the_end",
    "works_after_the_end", "holds_its_end", "log_in_packets", "waits_in_the_kernel",
    "memory_blame", "deep_tree",
)  # fmt: skip
"""Agents that attack the end of a match or its report, so that a lost report would not count."""
