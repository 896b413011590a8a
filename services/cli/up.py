"""``peck up``: starts everything on this machine with one command."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from ladder.settings import SetupSettings
from sandbox.settings import LauncherName
from services.run import demo
from services.run.local_instance import LocalInstance
from services.run.process_supervisor import StartError, UpOptions
from services.run.reload import Reloader


def up(
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; default: 8000; 0 picks a free one.")
    ] = None,
    install: Annotated[
        bool, typer.Option(help="Install bubblewrap if there is no sandbox.")
    ] = True,
    with_demo: Annotated[
        bool,
        typer.Option(
            "--demo/--no-demo", help="Create the demo leagues; PECK_DEMO_LEAGUES selects some."
        ),
    ] = True,
    launcher: Annotated[LauncherName, typer.Option(help="Program that creates sandboxes.")] = (
        LauncherName.AUTO
    ),
    state: Annotated[
        Path | None, typer.Option(help="Folder for all data; default: ./.state.")
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(min=1, help="Matches at a time; default: cores minus one, at least 2."),
    ] = None,
    reload: Annotated[
        bool, typer.Option(help="Restart parts if a source file changes; for developers.")
    ] = False,
) -> None:
    """Start site, scheduler, workers and their servers on this machine. Ctrl-C stops all."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    instance = LocalInstance(
        UpOptions(state, port, install, with_demo, launcher.value, slots, reload), print_line
    )
    try:
        try:
            instance.start()
            print_welcome(instance)
            instance.watch(*([Reloader(instance).restart_if_changed] if reload else []))
        finally:
            if instance.parts:
                print_line("stopping; running matches get a moment to end")
            instance.stop()
    except StartError as error:
        print(f"peck: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print_line(f"stopped; run {'scripts/dev' if reload else './peck up'} to continue")


WITH_DEMO = """  1. Watch the board fill:   {address}/leagues/{slug}
  2. Send an agent:          ./peck submit agents/hungry_geese/greedy --league {slug} --wait
  3. Play it in private:     ./peck scrim greedy searcher survivor random-legal --league {slug}"""
WITHOUT_DEMO = """  1. Make a league:          ./peck league create first
  2. Send an agent:          ./peck submit agents/hungry_geese/greedy --league first --wait
  3. Play it against itself: ./peck scrim greedy greedy greedy greedy --league first"""


def print_welcome(instance: LocalInstance) -> None:
    """Prints the address, the token, and what to try next."""
    made = demo.select_demo_leagues(SetupSettings().demo_leagues) if instance.options.demo else []
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
    """Prints a line of progress."""
    print(f"peck: {text}", file=sys.stderr, flush=True)


def interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def register(app: typer.Typer) -> None:
    app.command("up")(up)
