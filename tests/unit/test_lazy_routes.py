"""Routes that FastAPI reads late."""

from __future__ import annotations

import asyncio
import copy
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from services.http.lazy_routes import LazyRoute


def double(number: int) -> int:
    return 2 * number


def declared(prefix: str = "") -> tuple[FastAPI, APIRoute]:
    """An application of one route."""
    router = APIRouter(prefix=prefix, route_class=LazyRoute)
    router.get("/double/{number}")(double)
    app = FastAPI()
    app.router.routes.extend(router.routes)
    (route,) = router.routes
    assert isinstance(route, APIRoute)
    return app, route


def ask(app: FastAPI, path: str) -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get(path)

    with ThreadPoolExecutor(1) as pool:  # a browser of other tests may run a loop in this thread
        return pool.submit(asyncio.run, asked()).result()


def test_a_request_for_another_path_does_not_read_a_route() -> None:
    app, route = declared()
    assert ask(app, "/triple/21").status_code == 404
    assert "dependant" not in vars(route)


def test_the_first_request_reads_its_route() -> None:
    app, route = declared()
    assert ask(app, "/double/21").json() == 42
    assert "dependant" in vars(route)


def test_the_openapi_document_reads_all_routes() -> None:
    app, _ = declared("/v1")
    operation = app.openapi()["paths"]["/v1/double/{number}"]["get"]
    assert operation["operationId"] == "double"
    assert {"200", "400", "401", "413", "422", "503"} == set(operation["responses"])


def test_threads_that_need_the_same_route_read_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _, route = declared()
    start = Barrier(8)
    reads: list[APIRoute] = []
    read_declaration = APIRoute.__init__

    def read_slowly(self: APIRoute, *given: Any, **named: Any) -> None:
        reads.append(self)
        time.sleep(0.05)  # the other threads ask meanwhile
        read_declaration(self, *given, **named)

    def read(_: int) -> object:
        start.wait()
        return id(route.body_field), id(route.dependant)

    monkeypatch.setattr(APIRoute, "__init__", read_slowly)
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(read, range(8)))) == 1
    assert reads == [route]


def test_a_declaration_that_cannot_be_read_keeps_its_reason() -> None:
    router = APIRouter(route_class=LazyRoute)
    router.get("/double/{number}", status_code=204)(double)
    (route,) = router.routes
    assert isinstance(route, APIRoute)
    for _ in range(2):
        with pytest.raises(AssertionError, match="204 must not have a response body"):
            _ = route.app


@pytest.mark.parametrize("is_read", [False, True])
def test_a_copy_of_a_route_works(is_read: bool) -> None:
    _, route = declared()
    assert not is_read or route.dependant
    copied = copy.copy(route)
    assert copied.dependant.path_params[0].name == "number"
