"""Options that `peck league create` and `peck league new-season` share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from services.api_client import Json
from services.cli.saved_login import MissingInput

Opens = Annotated[
    str | None,
    typer.Option(help="Start, with a time zone: 2026-12-01T18:00+01:00; default: now."),
]
Closes = Annotated[str | None, typer.Option(help="When uploads lock; default: never.")]
Ends = Annotated[str | None, typer.Option(help="When the last match may start.")]
Configuration = Annotated[
    list[str] | None,
    typer.Option("--set", help="Setting of the game, for example rows=9; repeatable."),
]
FillsSeason = Annotated[bool, typer.Option(help="Add reference agents until one agent can play.")]


def parse_settings(texts: Sequence[str] | None) -> Json:
    """Texts such as ``rows=9`` as names and values. Raises MissingInput without ``=``."""
    return dict(_parse_setting(text) for text in texts or ())


def given(values: Mapping[str, object]) -> Json:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _parse_setting(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise MissingInput(f"--set {text!r}: write NAME=VALUE, for example rows=9")
    try:
        return name, json.loads(value, parse_constant=str)
    except ValueError:
        return name, value
