"""A page of this machine alone that plays one's own games in the site's player.

It listens on 127.0.0.1, answers requests for that name alone, and needs no service.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from games.protocol import Json
from ladder.matches.match_titles import lineup_text, result_text
from services.web.page_rendering import FOLDER, HEADERS, templates

HOST: Final = "127.0.0.1"
Frames = Callable[[], Mapping[str, Json]]
"""Makes the frames document of an episode; ``placements`` is null while it is being played."""


@dataclass(frozen=True, slots=True)
class SeatLine:
    """A seat as titles need it."""

    seat: int
    agent_name: str
    placement: int | None = None
    verdict: str | None = None


@dataclass(slots=True)
class LocalGame:
    """A game with one episode, or two for a mirrored pair."""

    game: str
    """Name of the game's rules."""
    names: tuple[str, ...]
    """By seat of the first episode; the second has them in reverse order."""
    episodes: list[Frames] = field(default_factory=list)
    logs: Mapping[int, Callable[[], Json]] = field(default_factory=dict)
    """The ``peck-log/1`` document of a seat of the first episode."""


class LocalPage:
    """Serves games in the player until the process ends. More games can be added meanwhile."""

    def __init__(self, port: int = 0) -> None:
        self.games: list[LocalGame] = []
        self._socket = socket.create_server((HOST, port))
        self.address = f"http://{HOST}:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(
            uvicorn.Config(self._application(), log_level="error", lifespan="off")
        )

    def start(self) -> None:
        """Serves in a thread of its own, which ends with the process."""
        threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        ).start()

    def serve(self) -> None:
        """Serves until Ctrl-C."""
        self._server.run(sockets=[self._socket])

    def _application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", self._newest),
                Route("/games/{number:int}", self._page),
                Route("/games/{number:int}/episode.json", self._episode),
                Route("/games/{number:int}/logs/{seat:int}", self._log),
                Mount("/static", StaticFiles(directory=FOLDER / "static")),
            ],
            # A page of another site must not read these games through a name that it resolves.
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
        )

    def _game(self, request: Request) -> tuple[int, LocalGame, int]:
        number = request.path_params["number"]
        if not 1 <= number <= len(self.games):
            raise HTTPException(404, "There is no such game.")
        game = self.games[number - 1]
        episode = request.query_params.get("episode") or request.query_params.get("position") or "0"
        position = int(episode) if episode.isdecimal() and len(episode) < 4 else 0
        return number, game, min(position, max(0, len(game.episodes) - 1))

    def _newest(self, request: Request) -> Response:
        if not any(game.episodes for game in self.games):
            page = templates.get_template("local_wait.html").render()
            return HTMLResponse(page, headers={**HEADERS, "Refresh": "1"})
        newest = max(place for place, game in enumerate(self.games, 1) if game.episodes)
        return RedirectResponse(f"/games/{newest}")

    def _page(self, request: Request) -> Response:
        number, game, position = self._game(request)
        document = self._document(game, position)
        seats = seat_lines(game.names[::-1] if position else game.names, document)
        page = templates.get_template("local.html").render(
            match=SimpleNamespace(game=game.game),
            number=number,
            count=len(self.games),
            neutral=lineup_text(seats),
            title=result_text(seats, steps_text(document)) if document["placements"] else "",
            position=position,
            episodes=len(game.episodes),
            seated=seats,
            episode_address=f"/games/{number}/episode.json?position={position}",
            logs={
                len(seats) - 1 - seat if position else seat: f"/games/{number}/logs/{seat}"
                for seat in game.logs
            },
        )
        return HTMLResponse(page, headers=HEADERS)

    def _document(self, game: LocalGame, position: int) -> Mapping[str, Json]:
        if not game.episodes:
            raise HTTPException(404, "This game has not begun.")
        return game.episodes[position]()

    def _episode(self, request: Request) -> Response:
        _, game, position = self._game(request)
        content = json.dumps(self._document(game, position), separators=(",", ":"))
        return Response(content, headers=HEADERS, media_type="application/json")

    def _log(self, request: Request) -> Response:
        _, game, _ = self._game(request)
        make = game.logs.get(request.path_params["seat"])
        if make is None:
            raise HTTPException(404, "There is no such log.")
        return JSONResponse(make(), headers=HEADERS)


def seat_lines(names: Sequence[str], document: Mapping[str, Any]) -> list[SeatLine]:
    """The seats with their results, as far as the episode has them."""
    places = document["placements"] or [None] * len(names)
    verdicts = document["verdicts"] or [None] * len(names)
    return [
        SeatLine(seat, *row) for seat, row in enumerate(zip(names, places, verdicts, strict=True))
    ]


def steps_text(document: Mapping[str, Any]) -> str:
    steps = len(document["steps"])
    return "1 step" if steps == 1 else f"{steps:,} steps"
