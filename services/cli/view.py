"""``peck view``: shows replays in the player of the site, on a page of this machine."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from games import external, frames, kaggle_formats
from games.episode import FORMAT, from_document
from games.protocol import GameError, Json
from services.cli.display import printable
from services.cli.local_node import RunError
from services.cli.replay_files import games_of_run, read_json
from services.environment_variables import Environment

if TYPE_CHECKING:
    from services.cli.local_page import LocalGame

REPLAYS: Final = ("*.peck-replay.gz", "*.peck.json.gz")
FIELDS: Final = {
    "game": str,
    "configuration": dict,
    "clock": dict,
    "frames": list,
    "steps": list,
}
"""Fields that the page needs, besides the seats and what each of them has."""
BY_SEAT: Final = ("placements", "verdicts", "names")
"""Lists with one value for each seat, or null."""
MOST_SEATS: Final = 16
MIRRORED: Final = "-mirrored.peck-replay.gz"


def register(app: typer.Typer) -> None:
    """Adds the command ``view``."""
    app.command("view")(view)


def view(
    files: Annotated[
        list[Path],
        typer.Argument(help="Replays, or folders of `peck run` such as peck-runs/20260101-120000."),
    ],
    name: Annotated[
        list[str] | None, typer.Option(help="Name of a seat, in the order of seats; repeatable.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Watch replays in the player of the site. Serves a page to this machine alone until Ctrl-C.

    Reads our replays, frames JSON, and Kaggle's episodes of Hungry Geese.
    """
    from services.cli.local_page import LocalPage  # slow, and `peck --help` loads this file

    try:
        external.register_games(Environment.read().games)
        games = [game for file in files for game in read_games(file, name or [])]
        page = LocalPage(port)
    except (RunError, external.ExternalGameError) as error:
        typer.echo(printable(f"peck view: {error}"), err=True)
        raise typer.Exit(2) from None
    except OSError as error:
        typer.echo(f"peck view: --port {port}: {error.strerror}", err=True)
        raise typer.Exit(2) from None
    page.games += games
    typer.echo(f"{len(games)} game{'s' if len(games) > 1 else ''} at {page.address}", err=True)
    typer.echo("Press Ctrl-C to stop.", err=True)
    if browser:
        webbrowser.open(page.address)
    page.serve()


def read_games(path: Path, names: Sequence[str]) -> list[LocalGame]:
    """The games of a file, or of a folder of `peck run`. Raises RunError."""
    if not path.is_dir():
        return [_game([path], names, {})]
    replays = sorted({file for pattern in REPLAYS for file in path.glob(pattern)})
    firsts = [file for file in replays if not file.name.endswith(MIRRORED)]
    if not firsts:
        raise RunError(f"{path}: there is no replay here; `peck run` writes *.peck-replay.gz")
    run_games = games_of_run(path)
    games = []
    for file in firsts:
        stem = file.name.partition(".")[0]
        mirror = file.with_name(f"{stem}{MIRRORED}")
        logs = {
            seat: partial(read_json, path / f"{stem}-agent-{seat}.peck-log.gz")
            for seat in range(MOST_SEATS)
            if (path / f"{stem}-agent-{seat}.peck-log.gz").is_file()
        }
        run_game = run_games.get(stem)
        seat_names = names or (run_game.names if run_game else ())
        games.append(_game([file, *([mirror] if mirror.is_file() else [])], seat_names, logs))
    return games


def _game(
    files: Sequence[Path], names: Sequence[str], logs: Mapping[int, Callable[[], Json]]
) -> LocalGame:
    from services.cli.local_page import LocalGame

    documents = [_frames_document(file) for file in files]
    seats = documents[0]["seats"]
    if names and len(names) != seats:
        raise RunError(f"{files[0]}: give --name {seats} times, once for each seat")
    own = documents[0].get("names") or [f"Seat {seat + 1}" for seat in range(seats)]
    return LocalGame(
        documents[0]["game"],
        tuple(names) or tuple(own),
        [partial(dict, document) for document in documents],
        logs,
    )


def _frames_document(path: Path) -> dict[str, Any]:
    """The frames of a replay in any format that we write. Raises RunError."""
    document = read_json(path)
    try:
        if isinstance(document, dict):
            return _checked(_converted(document))
    except GameError as error:
        raise RunError(f"{path}: {error}") from None
    raise RunError(f"{path}: this is no replay; download one by `peck replay MATCH`")


def _converted(document: dict[str, Any]) -> dict[str, Any]:
    """The frames document, not yet checked. Raises GameError."""
    if document.get("format") == FORMAT:
        return frames.frames_json(from_document(document))
    if "steps" in document and "specification" in document:
        shown = kaggle_formats.frames_of_kaggle(document)
        info = document.get("info")
        return {**shown, "names": info.get("TeamNames") if isinstance(info, dict) else None}
    return document


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    """The document, if the page can show it. Raises GameError."""
    if document.get("format") != frames.FORMAT:
        raise GameError("this is no replay; download one by `peck replay MATCH`")
    for name, kind in FIELDS.items():
        if not isinstance(document.get(name), kind):
            raise GameError(f"{name}: expected {kind.__name__}, got {document.get(name)!r:.100}")
    seats = document.get("seats")
    if type(seats) is not int or not 1 <= seats <= MOST_SEATS:
        raise GameError(f"seats: expected 1 to {MOST_SEATS}, got {seats!r:.100}")
    for name in BY_SEAT:
        values = document.get(name)
        if values is not None and (not isinstance(values, list) or len(values) != seats):
            raise GameError(f"{name}: expected a list for {seats} seats, got {values!r:.100}")
    names = [name if isinstance(name, str) else str(name) for name in document.get("names") or ()]
    shown = {**dict.fromkeys(("placements", "verdicts")), **document}
    shown.pop("names", None)
    return {**shown, "names": names} if names else shown
