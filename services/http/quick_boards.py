"""Answers reads of boards that everybody may see from memory, before routes and threads.

The route of the leaderboard answers the first request of each address, and validates it. A later
request of the same address without a token needs only the board's head. Everything else goes to the
route: tokens, boards that a stranger may not see, and pages that are not in memory.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from cachetools import LRUCache
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from ladder.people.permissions import may_see
from ladder.people.records import STRANGER
from services.http import etags
from services.http.leaderboard_cache import BoardPage, LeaderboardCache
from services.http.shared_heads import SharedHeads

ADDRESSES: Final = 4096
LONGEST_ADDRESS: Final = 300
TAG: Final = b"if-none-match"
ENCODING: Final = b"accept-encoding"


@dataclass(frozen=True, slots=True)
class BoardRequest:
    """What an address asks for, as the route understood it."""

    season: str
    """Id of a season, or slug of a league."""
    part: str
    route: BaseRoute


class QuickBoards:
    """The known addresses of this process. Forgets the least recently used. Thread-safe."""

    def __init__(self, boards: LeaderboardCache) -> None:
        self.heads = SharedHeads()
        self._boards = boards
        self._lock = threading.Lock()
        self._known: LRUCache[tuple[str, bytes], BoardRequest] = LRUCache(ADDRESSES)

    def learn(self, request: Request, season: str, part: str) -> None:
        """Remembers an address that the route has validated."""
        address = request.scope["path"], request.scope["query_string"]
        if len(address[0]) + len(address[1]) <= LONGEST_ADDRESS:
            with self._lock:
                self._known[address] = BoardRequest(season, part, request.scope["route"])

    async def answer(self, scope: Scope) -> Response | None:
        """The answer from memory; None if the route must answer."""
        with self._lock:
            asked = self._known.get((scope["path"], scope["query_string"]))
        if asked is None:
            return None
        sent = dict[bytes, str]()
        for name, value in scope["headers"]:
            if name == b"authorization":
                return None
            if name in (TAG, ENCODING):
                if name in sent or len(value) > etags.LONGEST:
                    return None
                sent[name] = value.decode("latin-1")
        head = await self.heads.head(asked.season)
        if head is None or not may_see(STRANGER, head.league):
            return None
        scope["route"] = asked.route  # for the metrics
        packed = "gzip" in sent.get(ENCODING, "")
        page = BoardPage(head.season_id, head.revision, asked.part, packed)
        return self._boards.answer(page, sent.get(TAG))


class QuickBoardAnswers:
    """ASGI middleware that sends such answers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = None
        if (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and scope["path"].endswith("/leaderboard")
        ):
            answer = await scope["app"].state.peck.quick_boards.answer(scope)
        await (answer or self.app)(scope, receive, send)
