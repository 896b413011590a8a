"""Routes that FastAPI reads late: at their first request, or for the OpenAPI document.

Reading the declarations of all routes takes a third of the time in which the application loads.
These routes also refuse addresses with a NUL character.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from threading import RLock
from typing import Any, Final

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.routing import compile_path

from services.http.problems import COMMON_PROBLEMS

NUL: Final = "leave out the NUL character (%00)"
_READING = RLock()


class LazyRoute(APIRoute):
    """A route that FastAPI reads late. It also declares the problems that every route can answer.

    Its operation has the name of its function, which becomes the method name of a generated client.
    """

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        methods: set[str] | list[str] | None = None,
        responses: dict[int | str, dict[str, Any]],
        **options: Any,
    ) -> None:
        self.path, self.endpoint, self.name = path, endpoint, endpoint.__name__
        self.methods = {method.upper() for method in methods or ["GET"]}
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self._unread: dict[str, Any] | None = {
            **options,
            "path": path,
            "endpoint": endpoint,
            "methods": methods,
            "responses": {**COMMON_PROBLEMS, **responses},
            "generate_unique_id_function": operation_id,
        }
        self._is_reading = False

    def __getattr__(self, name: str) -> Any:
        """Python calls this for an attribute that the route does not have yet."""
        if name in ("_unread", "_is_reading"):  # a copy that is being made has neither yet
            raise AttributeError(name)
        with _READING:  # requests and the OpenAPI document run in several threads
            # FastAPI may look for an attribute while it reads, in the same thread.
            if self._unread is not None and not self._is_reading:
                self._is_reading = True
                try:
                    super().__init__(**self._unread)
                    self._unread = None
                finally:
                    self._is_reading = False
        return self.__getattribute__(name)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            refuse_nul(request)
            return await handle(request)

        return checked


def refuse_nul(request: Request) -> None:
    """Raises RequestValidationError for a NUL character in the address; Postgres stores none."""
    if "\0" in request.scope["path"]:
        raise RequestValidationError([{"type": "nul", "loc": ("path",), "msg": NUL}])
    if b"%00" in request.scope["query_string"]:
        wrong = [
            {"type": "nul", "loc": ("query", name), "msg": NUL}
            for name, value in request.query_params.multi_items()
            if "\0" in name or "\0" in value
        ]
        raise RequestValidationError(wrong)


def operation_id(route: APIRoute) -> str:
    """The name of the route's function."""
    return route.name
