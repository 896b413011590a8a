"""Reads a bundle's ``peck.json``: the agent's contract and the program to start.

Only boxes read that of an upload. The unpacking process reads it first, so an upload reports
mistakes. ``peck submit`` reads it in the folder that it sends. Without the file the contract is
``callable``: Kaggle's ``main.py``.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MANIFEST_FILE = "peck.json"
MAIN = "main.py"
PYTHON = ("python", "python3")
APIS = ("1", "2017")
MOST_BYTES = 16 << 10
MOST_WORDS = 32
MOST_WORD_BYTES = 400
_EXAMPLE = '["python", "bot.py"]'


class Contract(StrEnum):
    """How an agent is asked for its moves."""

    CALLABLE = "callable"
    """Calls the last callable of main.py."""
    LINES = "lines"
    """A program reads and writes one JSON text a line. For every game."""
    RIDDLES = "riddles"
    """A program speaks the text protocol of Riddles. For GOLAD."""
    HTTP = "http"
    """A program serves the HTTP API of Battlesnake."""


class ContractError(ValueError):
    """A field of peck.json is unknown, missing or wrong. The message names it and the remedy."""


@dataclass(frozen=True)
class Manifest:
    """A valid ``peck.json``."""

    contract: Contract
    entry: tuple[str, ...] = ()
    """The command of the agent's program. Empty for a callable."""
    api: str = "1"
    """Version of the API of contract http."""

    @property
    def program(self) -> str:
        """The file of the bundle that is started or executed."""
        if self.contract is Contract.CALLABLE:
            return MAIN
        return os.path.normpath(self.entry[1] if self.is_python else self.entry[0])

    @property
    def is_python(self) -> bool:
        """Whether the box's own interpreter runs the program."""
        return bool(self.entry) and self.entry[0] in PYTHON


def read_manifest(folder: str) -> Manifest:
    """Read the manifest of the bundle in this folder. Raises ContractError."""
    try:
        with open(os.path.join(folder, MANIFEST_FILE), "rb") as file:
            text = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return Manifest(Contract.CALLABLE)
    except OSError as error:
        raise ContractError(f"cannot be read: {error.strerror}") from None
    if len(text) > MOST_BYTES:
        raise ContractError(f"is longer than {MOST_BYTES} bytes")
    return parse_manifest(text)


def parse_manifest(text: bytes) -> Manifest:
    """Parse the manifest in this JSON text. Raises ContractError naming the wrong field."""
    if text.count(b"[") + text.count(b"{") > MOST_WORDS:
        # Without a limit this process might read what a child with a deeper stack cannot.
        raise ContractError("has too many lists and objects")
    try:
        document = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ContractError("is no JSON text in UTF-8") from None
    if not isinstance(document, dict):
        raise ContractError('must be an object, for example {"contract": "callable"}')
    for name in document:
        if name not in ("contract", "entry", "api"):
            raise ContractError(f"{name!r:.60}: is unknown; known are contract, entry, api")
    contract = _parse_contract(document.get("contract", "callable"))
    if contract is Contract.CALLABLE and "entry" in document:
        raise ContractError(f"entry: contract callable executes {MAIN} and starts no program")
    if contract is not Contract.HTTP and "api" in document:
        raise ContractError("api: is for contract http alone")
    api = document.get("api", "1")
    if api not in APIS:
        raise ContractError('api: must be "1" or "2017"')
    if contract is Contract.CALLABLE:
        return Manifest(contract)
    return Manifest(contract, _parse_entry(document.get("entry"), contract), api)


def _parse_contract(value: Any) -> Contract:
    try:
        return Contract(value)
    except ValueError:
        known = ", ".join(f'"{one}"' for one in Contract)
        raise ContractError(f"contract: must be one of {known}") from None


def _parse_entry(value: Any, contract: Contract) -> tuple[str, ...]:
    if value is None:
        raise ContractError(
            f"entry: contract {contract} starts a program; name it, for example {_EXAMPLE}"
        )
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_WORDS:
        raise ContractError(f"entry: must be a list of 1 to {MOST_WORDS} words, such as {_EXAMPLE}")
    for word in value:
        if not isinstance(word, str) or not _is_encodable(word):
            raise ContractError(
                f"entry: each word must be a text of at most {MOST_WORD_BYTES} bytes"
            )
        if "\0" in word:
            raise ContractError(
                f"entry: {word!r:.80} holds a NUL character, which no command can; remove it"
            )
    words = [value[0], *value[1:]]
    if words[0] in PYTHON:
        while words[1:2] == ["-u"]:  # a program's output is never buffered here
            del words[1]
        if len(words) < 2 or words[1].startswith("-"):
            raise ContractError(
                f"entry: after {words[0]!r} comes a file of the bundle, without options: {_EXAMPLE}"
            )
    program = words[1] if words[0] in PYTHON else words[0]
    parts = program.split("/")
    if program.startswith("/") or ".." in parts or parts[-1] in ("", "."):
        raise ContractError(
            f"entry: {program!r:.80} must be a file of the bundle, by its path from the root; "
            f'only "python" comes from the box'
        )
    return tuple(words)


def _is_encodable(word: str) -> bool:
    try:
        return len(word.encode("utf-8")) <= MOST_WORD_BYTES
    except UnicodeEncodeError:
        return False
