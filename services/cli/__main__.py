"""Starts the command line: loads its commands and prints errors as one sentence."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence
from functools import cache, partial
from typing import Annotated, Any, Final

import typer
from typer import core
from typer.main import get_group

from services import VERSION
from services.api_client import ApiError, Client, Unreachable
from services.cli import (
    completion,
    display,
    refusals,
)
from services.cli.saved_login import MissingInput

REPLACED: Final = "build_runtime_param"


def pass_texts_through() -> None:
    """Lets typer take over texts and defaults as they are. For other values it uses pydantic.

    On a busy machine a command takes 0.48 s of processor time with pydantic and 0.29 s without. If
    a version of typer lacks the function that this replaces, commands only start slower.
    """
    build = getattr(core, REPLACED, None)
    if build is not None:
        setattr(core, REPLACED, partial(_Value, build))


class _Value:
    """What typer asks to convert the value of a parameter."""

    def __init__(self, build: Any, descriptor: Any) -> None:
        self._build, self._descriptor = build, descriptor

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        kind, told = self._descriptor.annotation, self._descriptor.parameter_info
        if kind == list[str] and told.parser is None:
            if value is None:
                return None
            if isinstance(value, tuple) and all(isinstance(text, str) for text in value):
                return list(value)
        is_single = not param.multiple and param.nargs == 1 and told.parser is None
        is_text = kind is str and isinstance(value, str)
        is_default = kind in (int, float) and type(value) is kind and value == param.default
        if is_single and (value is None or is_text or is_default):
            return value
        return self._build(self._descriptor).coerce(value, param=param, ctx=ctx)


MODULES: Final = {
    "api": ("api",),
    "submissions": ("submit", "submissions", "entries", "agent"),
    "matches": ("matches", "episodes", "replay", "logs"),
    "leaderboards": ("leaderboard",),
    "insights": ("watch", "insights", "feed"),
    "scrims": ("scrim",),
    "forks": ("fork",),
    "tournaments": ("tournament",),
    "leagues": ("league", "season"),
    "league_people": ("join", "league"),
    "account": ("sign-up", "login", "logout", "whoami"),
    "operator_commands": ("admin", "migrate", "blobs"),
    "completion": ("completion",),
    "better": ("better",),
    "datasets": ("dataset",),
    "run": ("run",),
    "view": ("view",),
    "machines": ("machine",),
    "up": ("up",),
    "doctor": ("doctor",),
    "game_check": ("game",),
}
"""The modules of `services.cli` that define commands, and the first words of these commands. A call
imports only the modules of its first word."""


WRONG: Final = (LookupError, TypeError, AttributeError, ValueError, RecursionError)
"""What a command raises that reads an answer of a wrong shape."""


def print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"peck {VERSION}")
        raise typer.Exit


def read_options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Pecking Order: submit agents, watch their matches, try ideas in private."""


GROUPS: Final = {
    "Send agents": ("submit", "submissions", "entries", "agent"),
    "See results": ("leaderboard", "insights", "feed", "watch"),
    "Find matches": ("matches", "episodes", "replay", "logs"),
    "Try ideas": ("run", "view", "better", "scrim", "fork", "dataset"),
    "Join and host": ("join", "league", "season", "tournament"),
    "Everything else": ("api",),
    "Account": ("sign-up", "login", "logout", "whoami", "completion"),
    "Run the service": ("admin", "machine", "up", "migrate", "blobs", "doctor", "game"),
}
"""The groups of `peck --help`. A command without a group stands before them."""


@cache
def app_of(modules: tuple[str, ...]) -> typer.Typer:
    """The command line with the commands of these modules."""
    app = typer.Typer(
        name="peck",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(read_options)
    for name in modules:
        importlib.import_module(f"services.cli.{name}").register(app)
    group_commands(app)
    return app


def full_app() -> typer.Typer:
    """The command line with all commands of this installation."""
    return app_of(tuple(MODULES))


def group_commands(app: typer.Typer) -> None:
    """Puts the commands of the help into groups."""
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    for command in app.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__.replace("_", "-")
        command.rich_help_panel = group_of.get(name, command.rich_help_panel)
    for group in app.registered_groups:
        group.rich_help_panel = group_of.get(str(group.name), group.rich_help_panel)


def smallest_app_for(arguments: Sequence[str]) -> typer.Typer:
    """The command line with the modules that these arguments need, to save import time."""
    if [*arguments] == ["--version"]:
        return app_of(("leaderboards",))
    modules = tuple(name for name, words in MODULES.items() if {*words} & {*arguments[:1]})
    return app_of(modules) if modules else full_app()


def find_command(arguments: Sequence[str]) -> tuple[str, Sequence[refusals.Parameter]]:
    """Name and parameters of the command in these arguments: ``peck league create``."""
    command: Any = get_group(smallest_app_for(arguments))
    words = ["peck"]
    for name in arguments:
        commands = getattr(command, "commands", {})  # a single command has none
        if name not in commands:
            break
        words.append(name)
        command = commands[name]
    return " ".join(words), command.params


def unknown_command(arguments: Sequence[str]) -> str | None:
    """The word among these arguments that should be a command and is none."""
    command: Any = get_group(smallest_app_for(arguments))
    for name in arguments:
        commands = getattr(command, "commands", None)
        if commands is None or name.startswith("-"):
            return None
        if name not in commands:
            return name
        command = commands[name]
    return None


def main() -> None:
    """Runs `peck`. Exits with 1 and a sentence on stderr after an error."""
    pass_texts_through()
    try:
        if completion.VARIABLE in os.environ:
            completion.complete_words(get_group(full_app()))
        smallest_app_for(sys.argv[1:])(prog_name="peck")
    except SystemExit as error:
        if error.code == 2 and (word := unknown_command(sys.argv[1:])):
            print(f"peck api {word} searches all operations of the site", file=sys.stderr)
        raise
    except (ApiError, Unreachable, MissingInput, OSError) as error:
        lines = [str(error)]
        if isinstance(error, ApiError):
            verb, parameters = find_command(sys.argv[1:])
            lines = refusals.refusal_lines(error, parameters)
            lines += refusals.hints_after(error, verb)
        elif isinstance(error, MissingInput) and error.next_step:
            lines.append(f"next: {error.next_step}")
        text = "\n  ".join([f"peck: {lines[0]}", *lines[1:]])
        print(display.printable(text), file=sys.stderr)
        sys.exit(1)
    except json.JSONDecodeError:
        print("peck: the service's answer is no JSON; check its address", file=sys.stderr)
        sys.exit(1)
    except WRONG as error:
        if not Client.last_answered:
            raise
        reason = f"{type(error).__name__}: {error}"
        text = (
            f"peck cannot read the answer of {Client.last_answered} ({reason}); check the address"
        )
        print(display.printable(f"peck: {text}, or update peck"), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
