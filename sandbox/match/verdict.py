"""How a seat failed, in one sentence that its owner can act on.

Verdicts on an agent are data and never exceptions. What the agent itself wrote (its exception, its
answer) is quoted, shortened and stripped of control characters; the verdict never depends on it.
"""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from games.protocol import Verdict
from sandbox.box.contract import Contract
from sandbox.match.clock import Clock, TimeCharge
from sandbox.match.move_cost import MoveCost

LONGEST_REASON: Final = 400
LONGEST_TRACEBACK: Final = 10_000
_HINTS: Final = {
    Contract.LINES: "; write one line for each question, and flush it",
    Contract.RIDDLES: "; write one line for each `action move`, and flush it",
    Contract.HTTP: "; the server must answer POST /move within the time of the clock",
}
_PLACE: Final = re.compile(r'File "(?:/kaggle_simulations/agent/)?([^"\n]{1,200})", line (\d{1,7})')


@dataclass(frozen=True, slots=True)
class SeatFault:
    """The end of a seat by its own doing."""

    verdict: Verdict
    """ERROR, INVALID or TIMEOUT."""
    reason: str
    """One sentence, at most ``LONGEST_REASON`` characters, for the owner alone."""
    step: int
    """The step of the episode it failed in, 1 for the first; 0 while it was being loaded."""
    traceback: str | None = None


def raised_fault(step: int, trace: str) -> SeatFault:
    """The agent's code raised; ``trace`` is the end of the traceback as the child tells it."""
    text = clean_text(trace[-LONGEST_TRACEBACK:], LONGEST_TRACEBACK, keep_lines=True)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else "an exception without a word"
    places = _PLACE.findall(text)
    where = f", at {places[-1][0]} line {places[-1][1]}" if places else ""
    return _make_fault(Verdict.ERROR, step, f"Raised {_step_text(step)}{where}: {last}", text)


def exited_fault(step: int, code: int) -> SeatFault:
    """The agent's process ended itself."""
    return _make_fault(
        Verdict.ERROR,
        step,
        f"The agent's process exited with code {code} {_step_text(step)};"
        " an agent must return its move "
        "and leave the process running",
    )


def killed_fault(step: int, number: int) -> SeatFault:
    """The agent's process was ended by a signal."""
    try:
        name = signals.Signals(number).name
        meaning = signals.strsignal(number)
    except ValueError:
        name, meaning = f"number {number}", None
    told = f"{name} ({meaning})" if meaning else name
    return _make_fault(
        Verdict.ERROR, step, f"The agent's process ended by signal {told} {_step_text(step)}"
    )


def out_of_memory_fault(step: int, memory_mb: int) -> SeatFault:
    """The kernel ended the process for its memory."""
    return _make_fault(
        Verdict.ERROR,
        step,
        f"The agent used more than its {memory_mb} MB of memory {_step_text(step)}",
    )


def vanished_fault(step: int) -> SeatFault:
    """The connection ended and nothing is known of why; the box around it was unharmed."""
    return _make_fault(
        Verdict.ERROR,
        step,
        f"The agent's process closed its connection {_step_text(step)} without an answer",
    )


def silence_hint(contract: Contract, *, is_importing: bool) -> str:
    """What the owner of an agent that gave no answer in time may change, or should know."""
    if is_importing:
        return "; main.py was still being imported, which the first step pays for"
    return _HINTS.get(contract, "")


def late_fault(
    step: int, charge: TimeCharge, cost: MoveCost, clock: Clock, *, hint: str | None = None
) -> SeatFault:
    """The answer took more than the allowance and all that was left in the bank. ``hint`` is
    of ``silence_hint`` where no answer came."""
    left = max(0.0, charge.bank_before_seconds)
    what = "took" if hint is None else "had no answer after"
    limits = f"allowed were {clock.act_seconds:g} s and the {left:.3f} s left in the bank"
    return _make_fault(
        Verdict.TIMEOUT,
        step,
        f"Step {step} {what} {charge.seconds:.3f} s ({_cost_text(cost)}); {limits}{hint or ''}",
    )


def off_turn_fault(step: int, charge: TimeCharge) -> SeatFault:
    """It computed between its moves for longer than its bank could pay."""
    left = max(0.0, charge.bank_before_seconds)
    return _make_fault(
        Verdict.TIMEOUT,
        step,
        f"Before step {step} the agent computed for {charge.seconds:.3f} s while it was not asked; "
        f"that is charged to the bank, which had {left:.3f} s left. An agent must not compute off "
        "its turn: no thread or process of it may go on once the move is returned",
    )


def late_load_fault(clock: Clock, cost: MoveCost, *, is_importing: bool) -> SeatFault:
    """The agent's file was still being executed, or its server did not listen yet, at the end of
    the load allowance."""
    what = (
        "main.py was still being imported"
        if is_importing
        else "by then a server of contract http must listen and answer GET /"
    )
    return _make_fault(
        Verdict.TIMEOUT,
        0,
        f"The agent was still loading after {clock.load_seconds:g} s, which is all that is allowed "
        f"({_cost_text(cost)}); {what}",
    )


def invalid_move_fault(step: int, expectation: str) -> SeatFault:
    """The answer is no move; ``expectation`` is the game's own word for what it wanted."""
    return _make_fault(
        Verdict.INVALID, step, f"The answer in step {step} is no move: {expectation}"
    )


def broken_protocol_fault(step: int, what: str) -> SeatFault:
    """The process wrote something on the referee's connection that the protocol does not allow."""
    return _make_fault(
        Verdict.ERROR,
        step,
        f"Broken protocol {_step_text(step)}: {what};"
        " an agent must not touch the referee's connection",
    )


def contract_fault(step: int, why: str, *, is_invalid: bool, is_late: bool) -> SeatFault:
    """The agent's program did not keep its contract, by the word of the contract's other side."""
    kind = Verdict.INVALID if is_invalid else Verdict.TIMEOUT if is_late else Verdict.ERROR
    return _make_fault(kind, step, f"Contract broken {_step_text(step)}: {why[:LONGEST_REASON]}")


def refused_bundle_fault(message: str) -> SeatFault:
    """The bundle was not unpacked; ``message`` names the entry and the rule."""
    return _make_fault(Verdict.ERROR, 0, f"The bundle was refused: {message}")


def unreachable_agent_fault(message: str) -> SeatFault:
    """The remote agent did not answer before the match; ``message`` says what came instead."""
    return _make_fault(Verdict.ERROR, 0, f"The remote agent did not answer: {message}")


def with_game_step(fault: SeatFault, observation: Mapping[str, object]) -> SeatFault:
    """The fault with the step number that the agent saw, if that differs. Our steps count from 1;
    Kaggle's observations and Battlesnake's turns count from 0."""
    name = next((name for name in ("step", "turn") if type(observation.get(name)) is int), None)
    if name is None or observation[name] == fault.step or not fault.step:
        return fault
    note = f" (observation.{name} {observation[name]})"
    return replace(fault, reason=clean_text(fault.reason, LONGEST_REASON - len(note)) + note)


def clean_text(text: str, limit: int, *, keep_lines: bool = False) -> str:
    """Text of an agent made harmless to show: no control characters, at most ``limit`` long."""
    allowed: Callable[[str], bool] = (
        (lambda c: c.isprintable() or c in "\n\t") if keep_lines else str.isprintable
    )
    kept = "".join(c if allowed(c) else "?" for c in text[: limit + 1])
    return kept if len(kept) <= limit else kept[: limit - 3] + "..."


def _cost_text(cost: MoveCost) -> str:
    cpu = "" if cost.cpu_seconds is None else f", {cost.cpu_seconds:.3f} s of cpu time"
    waited = cost.waited_seconds
    excused = f", {waited:.3f} s of waiting for a core not charged" if waited >= 0.0005 else ""
    return f"{cost.wall_seconds:.3f} s of wall time{cpu}{excused}"


def _step_text(step: int) -> str:
    return f"in step {step}" if step else "while the agent was loading"


def _make_fault(
    verdict: Verdict, step: int, reason: str, traceback: str | None = None
) -> SeatFault:
    sentence = clean_text(" ".join(reason.split()), LONGEST_REASON)
    return SeatFault(verdict, sentence, step, traceback)
