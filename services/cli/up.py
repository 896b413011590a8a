"""``peck up``: the whole instance on this machine, from one command."""

from __future__ import annotations

import signal
import sys
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from ladder.settings import SetupSettings
from services import demo
from services.auto_reload import Reloader
from services.host_checks import StartError
from services.up import LocalInstance, UpOptions


class LauncherName(StrEnum):
    """What builds the boxes."""

    AUTO = "auto"
    """Docker where an engine answers, else bubblewrap."""
    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"


def up(
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="8000 by default; 0 picks a free one.")
    ] = None,
    install: Annotated[
        bool, typer.Option(help="Let it install bubblewrap when no sandbox is there.")
    ] = True,
    with_demo: Annotated[
        bool,
        typer.Option("--demo/--no-demo", help="Make the demo leagues (PECK_DEMO_LEAGUES: which)."),
    ] = True,
    launcher: Annotated[LauncherName, typer.Option(help="What builds the boxes.")] = (
        LauncherName.AUTO
    ),
    state: Annotated[
        Path | None, typer.Option(help="Folder for everything that is kept; ./.state by default.")
    ] = None,
    slots: Annotated[
        int | None, typer.Option(min=1, help="Matches at a time; cores less one, at least 2.")
    ] = None,
    reload: Annotated[
        bool, typer.Option(help="Restart parts when a source file changes; for developers.")
    ] = False,
) -> None:
    """Start everything on this machine: servers, site, scheduler, workers. Ctrl-C stops it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    instance = LocalInstance(
        UpOptions(state, port, install, with_demo, launcher.value, slots, reload), print_line
    )
    try:
        try:
            instance.start()
            print_welcome(instance)
            instance.watch(*([Reloader(instance).look] if reload else []))
        finally:
            if instance.parts:
                print_line("stopping; running matches have a moment to end")
            instance.stop()
    except StartError as error:
        print(f"peck: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print_line("stopped; ./peck up goes on where it was")


WITH_DEMO = """  1. Watch the board fill:   {address}/leagues/{slug}
  2. Send an agent:          ./peck submit agents/hungry_geese/greedy --league {slug} --wait
  3. Play it in private:     ./peck scrim greedy searcher survivor random-legal --league {slug}"""
WITHOUT_DEMO = """  1. Make a league:          ./peck league create first
  2. Send an agent:          ./peck submit agents/hungry_geese/greedy --league first --wait
  3. Play it against itself: ./peck scrim greedy greedy greedy greedy --league first"""


def print_welcome(instance: LocalInstance) -> None:
    """The address, the token, and what to try next."""
    made = demo.chosen(SetupSettings().demo_leagues) if instance.options.demo else []
    things = WITH_DEMO if demo.LEAGUES[0] in made else WITHOUT_DEMO
    print(
        f"""
Pecking Order is up: {instance.address}

  Token (an ordinary user's; also in {instance.state / "token"}):
  {instance.token}

  Three things to try:
{things.format(address=instance.address, slug=demo.LEAGUES[0].slug)}

Ctrl-C stops it.""",
        flush=True,
    )


def print_line(text: str) -> None:
    """A line of progress."""
    print(f"peck: {text}", file=sys.stderr, flush=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def register(app: typer.Typer) -> None:
    app.command("up")(up)
