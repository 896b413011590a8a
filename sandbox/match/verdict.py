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
from sandbox.match.clock import Charge, Clock
from sandbox.match.move_cost import Cost

LONGEST_REASON: Final = 400
LONGEST_TRACEBACK: Final = 10_000
_HINTS: Final = {
    Contract.LINES: "; write one line for each question, and flush it",
    Contract.RIDDLES: "; write one line for each `action move`, and flush it",
    Contract.HTTP: "; the server must answer POST /move within the time of the clock",
}
_PLACE: Final = re.compile(r'File "(?:/kaggle_simulations/agent/)?([^"\n]{1,200})", line (\d{1,7})')


@dataclass(frozen=True, slots=True)
class Fault:
    """The end of a seat by its own doing."""

    verdict: Verdict
    """ERROR, INVALID or TIMEOUT."""
    reason: str
    """One sentence, at most ``LONGEST_REASON`` characters, for the owner alone."""
    step: int
    """The step of the episode it failed in, 1 for the first; 0 while it was being loaded."""
    traceback: str | None = None


def raised(step: int, trace: str) -> Fault:
    """The agent's code raised; ``trace`` is the end of the traceback as the child tells it."""
    text = clean(trace[-LONGEST_TRACEBACK:], LONGEST_TRACEBACK, keep_lines=True)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else "an exception without a word"
    places = _PLACE.findall(text)
    where = f", at {places[-1][0]} line {places[-1][1]}" if places else ""
    return _fault(Verdict.ERROR, step, f"Raised {_when(step)}{where}: {last}", text)


def exited(step: int, code: int) -> Fault:
    """The agent's process ended itself."""
    return _fault(
        Verdict.ERROR,
        step,
        f"The agent's process exited with code {code} {_when(step)}; an agent must return its move "
        "and leave the process running",
    )


def killed(step: int, number: int) -> Fault:
    """The agent's process was ended by a signal."""
    try:
        name = signals.Signals(number).name
        meaning = signals.strsignal(number)
    except ValueError:
        name, meaning = f"number {number}", None
    told = f"{name} ({meaning})" if meaning else name
    return _fault(Verdict.ERROR, step, f"The agent's process ended by signal {told} {_when(step)}")


def out_of_memory(step: int, memory_mb: int) -> Fault:
    """The kernel ended the process for its memory."""
    return _fault(
        Verdict.ERROR, step, f"The agent used more than its {memory_mb} MB of memory {_when(step)}"
    )


def vanished(step: int) -> Fault:
    """The connection ended and nothing is known of why; the box around it was unharmed."""
    return _fault(
        Verdict.ERROR,
        step,
        f"The agent's process closed its connection {_when(step)} without an answer",
    )


def silent(contract: Contract, *, is_importing: bool) -> str:
    """What the owner of an agent that gave no answer in time may change, or should know."""
    if is_importing:
        return "; main.py was still being imported, which the first step pays for"
    return _HINTS.get(contract, "")


def late(step: int, charge: Charge, cost: Cost, clock: Clock, *, hint: str | None = None) -> Fault:
    """The answer took more than the allowance and all that was left in the bank. ``hint`` is
    of ``silent`` where no answer came."""
    left = max(0.0, charge.bank_before_seconds)
    what = "took" if hint is None else "had no answer after"
    limits = f"allowed were {clock.act_seconds:g} s and the {left:.3f} s left in the bank"
    return _fault(
        Verdict.TIMEOUT,
        step,
        f"Step {step} {what} {charge.seconds:.3f} s ({_times(cost)}); {limits}{hint or ''}",
    )


def off_turn(step: int, charge: Charge) -> Fault:
    """It computed between its moves for longer than its bank could pay."""
    left = max(0.0, charge.bank_before_seconds)
    return _fault(
        Verdict.TIMEOUT,
        step,
        f"Before step {step} the agent computed for {charge.seconds:.3f} s while it was not asked; "
        f"that is charged to the bank, which had {left:.3f} s left. An agent must not compute off "
        "its turn: no thread or process of it may go on once the move is returned",
    )


def late_load(clock: Clock, cost: Cost, *, is_importing: bool) -> Fault:
    """The agent's file was still being executed, or its server did not listen yet, at the end of
    the load allowance."""
    what = (
        "main.py was still being imported"
        if is_importing
        else "by then a server of contract http must listen and answer GET /"
    )
    return _fault(
        Verdict.TIMEOUT,
        0,
        f"The agent was still loading after {clock.load_seconds:g} s, which is all that is allowed "
        f"({_times(cost)}); {what}",
    )


def invalid(step: int, expectation: str) -> Fault:
    """The answer is no move; ``expectation`` is the game's own word for what it wanted."""
    return _fault(Verdict.INVALID, step, f"The answer in step {step} is no move: {expectation}")


def broken(step: int, what: str) -> Fault:
    """The process wrote something on the referee's connection that the protocol does not allow."""
    return _fault(
        Verdict.ERROR,
        step,
        f"Broken protocol {_when(step)}: {what}; an agent must not touch the referee's connection",
    )


def told(step: int, why: str, *, is_invalid: bool, is_late: bool) -> Fault:
    """The agent's program did not keep its contract, by the word of the contract's other side."""
    kind = Verdict.INVALID if is_invalid else Verdict.TIMEOUT if is_late else Verdict.ERROR
    return _fault(kind, step, f"Contract broken {_when(step)}: {why[:LONGEST_REASON]}")


def refused(message: str) -> Fault:
    """The bundle was not unpacked; ``message`` names the entry and the rule."""
    return _fault(Verdict.ERROR, 0, f"The bundle was refused: {message}")


def away(message: str) -> Fault:
    """The remote agent did not answer before the match; ``message`` says what came instead."""
    return _fault(Verdict.ERROR, 0, f"The remote agent did not answer: {message}")


def counted_by_game(fault: Fault, observation: Mapping[str, object]) -> Fault:
    """The fault with the step number that the agent saw, if that differs. Our steps count from 1;
    Kaggle's observations and Battlesnake's turns count from 0."""
    name = next((name for name in ("step", "turn") if type(observation.get(name)) is int), None)
    if name is None or observation[name] == fault.step or not fault.step:
        return fault
    note = f" (observation.{name} {observation[name]})"
    return replace(fault, reason=clean(fault.reason, LONGEST_REASON - len(note)) + note)


def clean(text: str, limit: int, *, keep_lines: bool = False) -> str:
    """Text of an agent made harmless to show: no control characters, at most ``limit`` long."""
    allowed: Callable[[str], bool] = (
        (lambda c: c.isprintable() or c in "\n\t") if keep_lines else str.isprintable
    )
    kept = "".join(c if allowed(c) else "?" for c in text[: limit + 1])
    return kept if len(kept) <= limit else kept[: limit - 3] + "..."


def _times(cost: Cost) -> str:
    cpu = "" if cost.cpu_seconds is None else f", {cost.cpu_seconds:.3f} s of cpu time"
    waited = cost.waited_seconds
    excused = f", {waited:.3f} s of waiting for a core not charged" if waited >= 0.0005 else ""
    return f"{cost.wall_seconds:.3f} s of wall time{cpu}{excused}"


def _when(step: int) -> str:
    return f"in step {step}" if step else "while the agent was loading"


def _fault(verdict: Verdict, step: int, reason: str, traceback: str | None = None) -> Fault:
    sentence = clean(" ".join(reason.split()), LONGEST_REASON)
    return Fault(verdict, sentence, step, traceback)
