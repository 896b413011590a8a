"""Routes that FastAPI reads late."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx
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

    return asyncio.run(asked())


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


def test_threads_that_need_the_same_route_read_it_once() -> None:
    _, route = declared()
    start = Barrier(8)

    def read(_: int) -> object:
        start.wait()
        return id(route.body_field), id(route.dependant)

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(read, range(8)))) == 1
