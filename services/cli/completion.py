"""Completion of commands in shells, with names of leagues and agents from the service."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script

from services.api_client import ApiError, Unreachable
from services.cli.operations import read_document
from services.cli.saved_login import MissingInput, connect

VARIABLE: Final = "_PECK_COMPLETE"
QUIET: Final = (ApiError, Unreachable, MissingInput, OSError)
"""Errors after which there is nothing to complete."""


@dataclass(frozen=True, slots=True)
class CompletedWord:
    """A way in which a word may go on, with the attributes that Typer reads."""

    value: str
    type: str = "plain"
    help: str | None = None


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell to complete in.")]) -> None:
    """Print the completion script of a shell: eval "$(./peck completion bash)"."""
    typer.echo(get_completion_script(prog_name="peck", complete_var=VARIABLE, shell=shell.value))


def slugs_at(path: str) -> Callable[[object, object, str], list[CompletedWord]]:
    """A function that gives the slugs of a list of the API that begin so."""

    def complete(_: object, __: object, incomplete: str) -> list[CompletedWord]:
        slugs: set[str] = set()
        with contextlib.suppress(*QUIET), connect(needs_token=False) as ladder:
            slugs = {row["slug"] for row in ladder.list_items(path, limit=200)}
        return [CompletedWord(slug) for slug in sorted(slugs) if slug.startswith(incomplete)]

    return complete


def complete_operation(_: object, __: object, incomplete: str) -> list[CompletedWord]:
    """Operations of `peck api` that begin so."""
    with contextlib.suppress(*QUIET), connect(needs_token=False) as ladder:
        operations = read_document(ladder).operations.values()
        return [
            CompletedWord(item.name, help=item.summary)
            for item in operations
            if item.name.startswith(incomplete)
        ]
    return []


def complete_value(context: Any, __: object, incomplete: str) -> list[CompletedWord]:
    """A value of an operation: of its path, else NAME=, or a choice after NAME=."""
    with contextlib.suppress(*QUIET), connect(needs_token=False) as ladder:
        typed_values = context.params.get("values") or ()
        fields = read_document(ladder).operation(context.params["operation"]).fields()
        places = [item.name for item in fields if item.place == "path"][len(typed_values) :]
        if places and places[0] in NAMES:
            return NAMES[places[0]](None, None, incomplete)
        words = []
        for item in fields:
            name = item.name.upper() if item.place == "path" else item.name
            words += [f"{name}={choice}" for choice in item.schema.get("enum", [""])]
        return [CompletedWord(word) for word in words if word.startswith(incomplete)]
    return []


NAMES: Final[dict[str, Callable[[Any, object, str], list[CompletedWord]]]] = {
    **dict.fromkeys(("league", "leagues", "season", "seasons"), slugs_at("/v1/leagues")),
    **dict.fromkeys(("agent", "opponent", "opponents"), slugs_at("/v1/agents")),
    "operation": complete_operation,
    "values": complete_value,
}
"""What completes a parameter, by its name."""


def complete_words(command: Any) -> None:
    """Answers the shell that asks how a word may go on. ``command`` is the whole of `peck`."""
    completion_init()
    add_names(command)
    command.main(prog_name="peck")


def add_names(command: Any) -> None:
    """Lets parameters for leagues and agents complete with names from the service.

    ``command`` is a group or a command of Typer.
    """
    for parameter in command.params:
        if parameter.name in NAMES:
            parameter._custom_shell_complete = NAMES[parameter.name]
    for inner in getattr(command, "commands", {}).values():
        add_names(inner)


def register(app: typer.Typer) -> None:
    app.command()(completion)
