"""A client of the public API, used by `peck` and the tests.

    with Client("http://127.0.0.1:8000", token="peck_...") as ladder:
        agent = ladder.post("/v1/agents", {"name": "Flood"})
        ladder.upload(f"/v1/agents/{agent['id']}/submissions", Path("main.py"), season="geese")

Returns the API's JSON. Raises ApiError with the service's message.
"""

from __future__ import annotations

import os
import ssl
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, Self

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


class Client:
    """One connection to a ladder service. Close it, or use it in ``with``."""

    last_answered: ClassVar = ""
    """The last request of this process that got an answer."""

    def __init__(
        self, address: str, token: str | None = None, *, http: httpx.Client | None = None
    ) -> None:
        self.address = address.rstrip("/")
        self.http = http or httpx.Client(
            base_url=self.address, timeout=TIMEOUT_SECONDS, verify=tls_context(self.address)
        )
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.before_change: Callable[[Client], None] | None = None
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
        with self.answering(method, path, **options) as response:
            response.read()
        return response

    @contextmanager
    def answering(self, method: str, path: str, **options: Any) -> Iterator[httpx.Response]:
        """As `send`, but the caller reads the answer's body."""
        self.refuse_other_origin(path)
        if method != "GET" and self.before_change is not None:
            before, self.before_change = self.before_change, None
            before(self)
        headers = {**self.headers, **options.pop("headers", {})}
        params = {k: v for k, v in (options.pop("params", None) or {}).items() if v is not None}
        try:
            # An empty dictionary would delete the query of a `next` link.
            with self.http.stream(
                method, path, headers=headers, params=params or None, **options
            ) as response:
                if response.status_code != 304:
                    self.refuse_redirect(response)
                if response.is_error:
                    response.read()
                    raise ApiError(problem_of(response), response.status_code)
                Client.last_answered = f"{method} {path}"
                yield response
        except httpx.HTTPError as error:
            raise Unreachable(f"no answer from {self.address}: {error}") from error

    def refuse_other_origin(self, path: str) -> None:
        """Raises ApiError for an address of another origin, which must not get the token.

        A ``next`` link comes from the service.
        """
        try:
            target, own = httpx.URL(path), httpx.URL(self.address)
        except httpx.InvalidURL as error:
            raise ApiError(
                {"detail": f"{self.address} sent a wrong link ({error}); ask its operator"}, 502
            ) from None
        if target.host and (target.scheme, target.netloc) != (own.scheme, own.netloc):
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
        answer: Json = self.retry_once(lambda: self.send("GET", path, params=params)).json()
        return answer

    def post(self, path: str, body: Json | None = None) -> Json:
        answer: Json = content_of(self.change("POST", path, body))
        return answer

    def patch(self, path: str, body: Json) -> Json:
        answer: Json = content_of(self.change("PATCH", path, body))
        return answer

    def put(self, path: str, body: Json | None = None) -> Any:
        return content_of(self.change("PUT", path, body))

    def delete(self, path: str) -> Any:
        return content_of(self.change("DELETE", path))

    def change(
        self, method: str, path: str, body: Json | None = None, **options: Any
    ) -> httpx.Response:
        """Sends a request that changes something. A POST has a new Idempotency-Key, so that it can
        be repeated once if the connection broke."""
        if body is not None:
            options["json"] = body
        if method != "POST":
            return self.send(method, path, **options)
        options["headers"] = {"Idempotency-Key": str(uuid.uuid4())}
        return self.retry_once(lambda: self.send("POST", path, **options))

    @staticmethod
    def retry_once(ask: Callable[[], httpx.Response]) -> httpx.Response:
        try:
            return ask()
        except Unreachable:
            return ask()

    def list_items(self, path: str, *, most: int | None = None, **params: Any) -> Iterator[Json]:
        """The items of a list over all its pages, at most ``most``."""
        page = self.get(path, **params)
        count, links = 0, set()
        while True:
            for item in page["items"]:
                if most is not None and count >= most:
                    return
                count += 1
                yield item
            link = page["next"]
            if link is None:
                return
            if link in links:
                detail = f"{self.address} sent a link to a page that it sent before: {link}"
                raise ApiError({"detail": detail}, 502)
            links.add(link)
            page = self.send("GET", link).json()

    def upload(
        self,
        path: str,
        content: Path | bytes,
        *,
        method: str = "POST",
        progress: Callable[[int], None] | None = None,
        **params: Any,
    ) -> Any:
        """Sends a file as the body of a request. Calls ``progress`` with each chunk's size.

        Equal bytes for the same agent give the same submission. So the client repeats the upload
        once after a broken connection.
        """
        is_bytes = isinstance(content, bytes)
        params.setdefault("filename", "main.py" if is_bytes else Path(str(content)).name)
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}

        def ask() -> httpx.Response:
            body = content if isinstance(content, bytes) else file_chunks(content, progress)
            return self.send(method, path, params=params, headers=headers, content=body)

        return content_of(self.retry_once(ask))

    def download(
        self, path: str, file: Path, progress: Callable[[int], None] | None = None, **params: Any
    ) -> int:
        """Writes the answer to a new file that only its owner reads; returns its bytes.

        Calls ``progress`` with each chunk's size. An answer that breaks off leaves no file.
        """
        size = 0
        with self.answering("GET", path, params=params) as answer:
            target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with open(target, "wb") as written:
                    for chunk in answer.iter_bytes(CHUNK_BYTES):
                        written.write(chunk)
                        size += len(chunk)
                        if progress is not None:
                            progress(len(chunk))
            except BaseException:
                file.unlink(missing_ok=True)
                raise
        return size

    def events(
        self, path: str, *, after: str | None = None, **params: Any
    ) -> Iterator[tuple[str, str]]:
        """Id and data of each server-sent event, until the stream ends."""
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": after} if after else {})}
        key = after or ""
        with self.answering("GET", path, params=params, headers=headers) as answer:
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if name == "id":
                    key = value
                elif name == "data":
                    yield key, value


def content_of(response: httpx.Response) -> Any:
    """The JSON of an answer; None for an empty one."""
    return response.json() if response.content else None


def file_chunks(path: Path, progress: Callable[[int], None] | None) -> Iterator[bytes]:
    """The bytes of a file. Calls ``progress`` with each chunk's size."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
            if progress is not None:
                progress(len(chunk))
