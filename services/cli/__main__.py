"""Starts the command line: loads its commands and prints errors as one sentence."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from functools import cache

import typer
from typer.main import get_group

from services.api_client import ApiError, Unreachable
from services.cli import (
    account,
    account_data,
    administration,
    error_hints,
    finding,
    insights,
    leaderboards,
    league_people,
    leagues_and_agents,
    match_downloads,
    membership,
    moderation,
    notices,
    rosters,
    scrims,
    submissions,
    teams,
    users,
)
from services.cli.saved_login import MissingInput

app = typer.Typer(
    name="peck",
    help="Pecking Order: submit agents, watch their matches, try ideas in private.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verbs in (
    submissions,
    match_downloads,
    finding,
    leaderboards,
    insights,
    scrims,
    leagues_and_agents,
    moderation,
    membership,
    rosters,
    league_people,
    notices,
    teams,
    account,
    account_data,
    users,
    administration,
):
    verbs.register(app)
LOCAL_COMMANDS = ("datasets", "luck", "run", "view", "up", "migrate", "doctor", "game_check")
"""Commands that need more than a client installation has, and a second to import. `run` and `game`
play matches, `dataset` encodes replays, `luck` fits a contest and `doctor` checks this machine.
`up` starts services and `migrate` changes a database."""


@cache
def full_app() -> typer.Typer:
    """The command line with all commands of this installation."""
    for name in LOCAL_COMMANDS:
        if importlib.util.find_spec(f"services.cli.{name}") is not None:
            importlib.import_module(f"services.cli.{name}").register(app)
    return app


def smallest_app_for(arguments: Sequence[str]) -> typer.Typer:
    """The command line with the modules that these arguments need, to save import time."""
    return app if get_group(app).commands.keys() & {*arguments[:1]} else full_app()


def command_name(arguments: Sequence[str]) -> str:
    """The name of the command in these arguments: ``peck league create``."""
    found, commands = ["peck"], get_group(smallest_app_for(arguments)).commands
    for name in arguments:
        if name not in commands:
            break
        found.append(name)
        commands = getattr(commands[name], "commands", {})  # a single command has none
    return " ".join(found)


def main() -> None:
    """Runs `peck`. Exits with 1 and a sentence on stderr after an error."""
    try:
        smallest_app_for(sys.argv[1:])(prog_name="peck")
    except (ApiError, Unreachable, MissingInput, OSError) as error:
        print(f"peck: {error}", file=sys.stderr)
        if isinstance(error, ApiError):
            places = list(error.problem.get("errors") or ())
            if len(places) == 1 and places[0]["message"] in str(error):
                places.clear()
            for place in places:
                print(f"  {place['where']}: {place['message']}", file=sys.stderr)
            for line in error_hints.hints_after(error, command_name(sys.argv[1:])):
                print(f"  {line}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
