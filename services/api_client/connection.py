"""Requests to the API, with its errors and pages."""

from __future__ import annotations

import ssl
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Self

import httpx

Json = dict[str, Any]
TIMEOUT_SECONDS: Final = 60.0
CHUNK_BYTES: Final = 1 << 16
NO_SITE: Final = (502, 503, 504)
"""Status codes of a site that does not answer now; a web server before it sends them too."""


class ApiError(Exception):
    """The service refused a request. The message is the service's sentence, ``problem`` the whole
    answer."""

    def __init__(self, problem: Mapping[str, Any], status: int) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or f"HTTP {status}"))
        self.problem = dict(problem)
        self.status = status

    @property
    def slug(self) -> str:
        """The last part of the problem's type: ``not-found``."""
        return str(self.problem.get("type", "")).rsplit("/", 1)[-1]


class Unreachable(Exception):
    """The address did not answer."""


def tls_context(address: str) -> ssl.SSLContext:
    """The certificates that a client of this address trusts.

    None for ``http://``, because reading certificates takes 30 to 50 ms of processor time. Without
    them a redirect to ``https://`` fails.
    """
    if address.lower().startswith("http://"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.create_ssl_context()


def foreign_answer(status: int) -> str:
    """What an error means that is no answer of the service: a web server before it refused."""
    if status == 413:
        return (
            "a web server before the site refuses a request of this size (413); ask the site's"
            " operator to raise its limit (client_max_body_size in nginx)"
        )
    if status in NO_SITE:
        return (
            f"a web server answers, but the site behind it does not answer ({status}); try again"
            " in a minute"
        )
    return (
        f"a web server before the site refuses this request ({status}); check the address, then ask"
        " the site's operator"
    )


def problem_of(response: httpx.Response) -> Json:
    """The problem in an error answer that was read whole, or what `foreign_answer` says."""
    try:
        problem = response.json()
    except ValueError:
        return {"detail": foreign_answer(response.status_code)}
    return problem if isinstance(problem, dict) else {}


class Connection:
    """One connection to a ladder service. Close it, or use it in ``with``."""

    def __init__(
        self, address: str, token: str | None = None, *, http: httpx.Client | None = None
    ) -> None:
        self.address = address.rstrip("/")
        self.http = http or httpx.Client(
            base_url=self.address, timeout=TIMEOUT_SECONDS, verify=tls_context(self.address)
        )
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.before_change: Callable[[Connection], None] | None = None
        """Called once, before the first request other than GET."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.http.close()

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Sends one request to the service's own origin, and follows no redirect.

        Raises ApiError for an error answer, a redirect, and an address of another origin. Raises
        Unreachable without an answer.
        """
        self.refuse_other_origin(path)
        if method != "GET" and self.before_change is not None:
            before, self.before_change = self.before_change, None
            before(self)
        headers = {**self.headers, **options.pop("headers", {})}
        params = {k: v for k, v in (options.pop("params", None) or {}).items() if v is not None}
        try:
            # An empty dictionary would delete the query of a `next` link.
            response = self.http.request(
                method, path, headers=headers, params=params or None, **options
            )
        except httpx.HTTPError as error:
            raise Unreachable(f"no answer from {self.address}: {error}") from error
        self.refuse_redirect(response)
        if response.is_error:
            raise ApiError(problem_of(response), response.status_code)
        return response

    def refuse_other_origin(self, path: str) -> None:
        """Raises ApiError for an address of another origin, which must not get the token.

        A ``next`` link comes from the service.
        """
        try:
            asked, own = httpx.URL(path), httpx.URL(self.address)
        except httpx.InvalidURL as error:
            raise ApiError(
                {"detail": f"{self.address} sent a wrong link ({error}); ask its operator"}, 502
            ) from None
        if asked.host and (asked.scheme, asked.netloc) != (own.scheme, own.netloc):
            detail = (
                f"{self.address} sent a link to another site, which peck does not follow: {path};"
                " check the address of the service"
            )
            raise ApiError({"detail": detail}, 502)

    def refuse_redirect(self, response: httpx.Response) -> None:
        """Raises ApiError for a redirect."""
        if response.is_redirect or response.is_informational:
            elsewhere = response.headers.get("Location", "")
            detail = f"{self.address} redirects to {elsewhere}: use that address"
            raise ApiError({"detail": detail}, response.status_code)

    def get(self, path: str, **params: Any) -> Json:
        """Sends a GET, and repeats it once if the connection broke after a quiet time."""
        found: Json = self.retry_once(lambda: self.send("GET", path, params=params)).json()
        return found

    def post(self, path: str, body: Json | None = None, *, nulls: bool = False) -> Json:
        """Sends a POST with a new Idempotency-Key, and repeats it once if the connection broke.

        Without ``nulls`` the service's default replaces each value of the body that is None.
        """
        options: dict[str, Any] = {"headers": {"Idempotency-Key": str(uuid.uuid4())}}
        if body is not None:
            options["json"] = {
                key: value for key, value in body.items() if nulls or value is not None
            }
        made: Json = self.retry_once(lambda: self.send("POST", path, **options)).json()
        return made

    def patch(self, path: str, body: Json) -> Json:
        changed: Json = self.send("PATCH", path, json=body).json()
        return changed

    @staticmethod
    def retry_once(ask: Callable[[], httpx.Response]) -> httpx.Response:
        try:
            return ask()
        except Unreachable:
            return ask()

    def list_items(self, path: str, *, most: int | None = None, **params: Any) -> Iterator[Json]:
        """The items of a list over all its pages, at most ``most``."""
        page = self.get(path, **params)
        count = 0
        while True:
            for item in page["items"]:
                if most is not None and count >= most:
                    return
                count += 1
                yield item
            if page["next"] is None:
                return
            page = self.send("GET", page["next"]).json()
