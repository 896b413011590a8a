"""The blobs of a machine that joined: it reads and stores them through the site.

The site gives a machine the blobs of the matches whose leases it holds, and no others.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Final

import httpx

from ladder.database.blobs import BlobsFull, BlobsUnavailable, MatchBlobs, StoredBlob, open_blobs
from ladder.errors import LadderError, NotFound
from ladder.machines import connections
from ladder.machines.connections import check_web_address
from ladder.settings import Settings

TIMEOUT: Final = httpx.Timeout(20.0, connect=5.0)
ROOM_SECONDS: Final = 10.0
"""How long the site is not asked again whether its store has room."""
MISSING: Final = 404
BUSY: Final = 429
FAILED: Final = 500


class SiteBlobs:
    """Blobs behind the site at this address, for the machine with this secret."""

    def __init__(self, address: str, secret: str, trusted: str = "") -> None:
        """``trusted`` are certificates (PEM) besides the public authorities."""
        self._address, self._secret, self._trusted = address, secret, trusted
        self._had_room_at = -ROOM_SECONDS

    @cached_property
    def _client(self) -> httpx.Client:
        """Made at the first use, so that each playing process has its own."""
        return httpx.Client(
            base_url=f"{self._address}/v1/machine/blobs/",
            headers={"Authorization": f"Bearer {self._secret}"},
            timeout=TIMEOUT,
            verify=connections.client_context(self._address, self._trusted),
        )

    def close(self) -> None:
        self._client.close()

    def put_bytes(self, content: bytes) -> StoredBlob:
        """Stores the bytes. Raises LadderError if the site refuses them, BlobsUnavailable."""
        digest = hashlib.sha256(content).hexdigest()
        with _answering():
            answer = self._client.put(
                digest, content=content, headers={"Content-Type": "application/octet-stream"}
            )
        _check_answer(answer)
        return StoredBlob(digest, len(content))

    def open(self, digest: str) -> Iterator[bytes]:
        """Returns the bytes in pieces. Raises NotFound immediately, and BlobsUnavailable, also if
        the bytes are others than the digest says."""
        with _answering():
            # The site may name a signed address of S3. The secret goes to no other server.
            asked = self._client.build_request("GET", digest)
            answer = self._client.send(asked, stream=True, follow_redirects=True)
        if answer.is_error:
            with suppress(httpx.HTTPError):
                answer.read()
            answer.close()
        _check_answer(answer)
        return _pieces(answer, digest)

    def path(self, digest: str) -> Path | None:
        """None: no blob is a file of this machine."""
        return None

    def exists(self, digest: str) -> bool:
        """Whether the blob exists and a lease of this machine needs it. Raises BlobsUnavailable."""
        try:
            for _ in self.open(digest):
                return True
        except NotFound:
            return False
        return True

    def require_room(self) -> None:
        """Raises BlobsFull if the site says that its blob store is full. Raises BlobsUnavailable if
        the answer says nothing about it, for example an error page of a proxy."""
        if time.monotonic() < self._had_room_at + ROOM_SECONDS:
            return
        with _answering():
            answer = self._client.get(f"{self._address}/health/ready").raise_for_status()
        try:
            texts = {fault["part"]: fault["text"] for fault in answer.json()["faults"]}
        except (ValueError, LookupError, TypeError) as error:
            raise BlobsUnavailable(
                f"{answer.url} answered with something else; check the proxy before the site"
            ) from error
        if "blobs" in texts:
            raise BlobsFull(f"the site says: {texts['blobs']}")
        self._had_room_at = time.monotonic()


def open_match_blobs(settings: Settings) -> MatchBlobs:
    """The blobs of a playing worker: the site's for a machine that joined, else those of
    ``open_blobs``. Raises LadderError for a wrong address."""
    if settings.blobs_url.startswith(("http://", "https://")):
        trusted = connections.read_certificates(settings.machine_certificates)
        address = check_web_address("PECK_BLOBS_URL", settings.blobs_url)
        return SiteBlobs(address, settings.machine_secret, trusted)
    return open_blobs(settings.blobs_url)


def _pieces(answer: httpx.Response, digest: str) -> Iterator[bytes]:
    sha = hashlib.sha256()
    try:
        with _answering():
            for piece in answer.iter_bytes():
                sha.update(piece)
                yield piece
    finally:
        answer.close()
    if sha.hexdigest() != digest:
        raise BlobsUnavailable(f"the bytes of blob {digest} are others than its digest says")


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        raise BlobsUnavailable(f"the site does not answer: {error}") from error


def _check_answer(answer: httpx.Response) -> None:
    if not answer.is_error:
        return
    if answer.status_code == BUSY or answer.status_code >= FAILED:
        raise BlobsUnavailable(f"the site answered {answer.status_code}")
    detail = ""
    with suppress(ValueError, AttributeError, httpx.HTTPError):
        detail = str(answer.json().get("detail", ""))[:300]
    text = f"the site refused a blob with {answer.status_code}: {detail}"
    raise NotFound(text) if answer.status_code == MISSING else LadderError(text)
