"""Decodes packets of a match child strictly. All of them are hostile."""

from __future__ import annotations

import math
from typing import Final

import msgspec

from games.protocol import InvalidMove, Json
from sandbox.box.bundle_manifest import Contract
from sandbox.box.harness import UNSENDABLE

DEEPEST: Final = 16
"""Most levels of nested lists in an answer. No game's move comes near."""


class Ready(msgspec.Struct, tag_field="k", tag="ready", forbid_unknown_fields=True):
    contract: Contract = Contract.CALLABLE


class Reply(msgspec.Struct, tag_field="k", tag="reply", forbid_unknown_fields=True):
    n: int
    action: msgspec.Raw


class Failed(msgspec.Struct, tag_field="k", tag="error", forbid_unknown_fields=True):
    trace: str
    n: int | None = None


class ProgramFault(msgspec.Struct, tag_field="k", tag="fault", forbid_unknown_fields=True):
    """A fault of the agent's program, as the child's side of the contract reports it."""

    why: str
    is_gone: bool
    is_invalid: bool
    is_late: bool = False
    n: int | None = None


_DECODER: Final = msgspec.json.Decoder(Ready | Reply | Failed | ProgramFault)
MALFORMED: Final = (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError)


def decode_packet(packet: bytes) -> Ready | Reply | Failed | ProgramFault:
    """Decode the frame in a packet. Raises one of ``MALFORMED`` if the packet holds no frame."""
    frame: Ready | Reply | Failed | ProgramFault = _DECODER.decode(packet)
    return frame


def read_action(raw: msgspec.Raw) -> Json:
    """Decode the answer as plain JSON. Raises InvalidMove otherwise."""
    try:
        action = msgspec.json.decode(raw)
    except MALFORMED as error:
        raise InvalidMove(f"the answer is no plain JSON value ({error})") from None
    if isinstance(action, dict) and UNSENDABLE in action:
        raise InvalidMove(f"the answer cannot be written as JSON ({action[UNSENDABLE]!r:.200})")
    if not _is_plain(action, DEEPEST):
        raise InvalidMove("the answer is nested too deep or has a number that is not finite")
    return action


def _is_plain(value: Json, depth: int) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value)
    if isinstance(value, dict):
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value.values())
    return True
