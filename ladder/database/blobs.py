"""Stores bundles, replays and logs by the SHA-256 of their bytes, in a folder or in S3.

The key of a blob is ``sha256/ab/<digest>``. A blob is written under a temporary key while its
digest is computed, then renamed. So a key that exists is complete. Storing the same bytes again
changes nothing, so every call may be repeated after a lost answer.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, S3Store

from ladder.errors import Invalid, LadderError, NotFound
from ladder.sizes import size_text

if TYPE_CHECKING:
    from obstore import GetResult
    from obstore.store import ClientConfig, RetryConfig

CHUNK_BYTES: Final = 1024 * 1024
PART_BYTES: Final = 5 * CHUNK_BYTES
"""Size of the parts in which long uploads go to S3."""
CLIENT: Final[ClientConfig] = {"connect_timeout": "3s", "timeout": "20s"}
RETRIES: Final[RetryConfig] = {"max_retries": 4, "retry_timeout": timedelta(seconds=15)}
READ_ADDRESS_SECONDS: Final = 60
"""How long a signed address may be opened."""
AGAIN_SECONDS: Final = 10
"""When a client may try again after `BlobsUnavailable`."""
LEAST_FREE_BYTES: Final = 100 * CHUNK_BYTES
"""Below this free space on its disk the store counts as full: it takes no uploads, and workers
begin no match. The rest is for the results of running matches."""
NO_ROOM: Final = ("no space left on device", "disk quota exceeded", "xminiostoragefull")
"""In errors of a full disk, in lower case."""
INCOMING: Final = "incoming"
"""Prefix of bytes that have no digest yet."""
STORED: Final = "sha256"
"""Prefix of the blobs."""
DIGEST_CHARS: Final = frozenset("0123456789abcdef")


class BlobTooLarge(LadderError):
    """The file is larger than allowed."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"send a smaller file: at most {size_text(limit_bytes)} are allowed")
        self.limit_bytes = limit_bytes


class BlobsUnavailable(Exception):
    """The blob store does not answer, or refuses its credentials. Nothing is lost: try again."""


class BlobsFull(BlobsUnavailable):
    """The disk of the blob store is full. Nothing is lost: free space, then try again."""


@contextmanager
def _answering() -> Iterator[None]:
    """Raises BlobsUnavailable for every failure of the store; missing and existing keys pass."""
    try:
        yield
    except AlreadyExistsError:
        raise
    except BaseError as error:
        first = str(error).partition("\n")[0]
        is_full = any(text in str(error).lower() for text in NO_ROOM)
        failure = BlobsFull if is_full else BlobsUnavailable
        raise failure(f"the blob store failed: {first[:500]}") from error


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob's name and size."""

    digest: str
    size: int


class IncomingBlob:
    """Stored bytes without a digest key yet; ``keep`` gives them one."""

    def __init__(self, store: LocalStore | S3Store, key: str, stored: StoredBlob) -> None:
        self.stored = stored
        self._store, self._key = store, key

    def keep(self) -> None:
        """Makes the bytes a blob; changes nothing if the blob exists already."""
        # Overwriting is harmless: the same key always holds the same bytes. S3 knows no other way.
        with _answering():
            obstore.rename(self._store, self._key, _blob_key(self.stored.digest))


class MatchBlobs(Protocol):
    """The part of a blob store that matches need. Every method may raise BlobsUnavailable."""

    def put_bytes(self, content: bytes) -> StoredBlob:
        """Stores bytes that are already in memory."""
        ...

    def open(self, digest: str) -> Iterator[bytes]:
        """Returns the bytes in pieces. Raises NotFound immediately."""
        ...

    def path(self, digest: str) -> Path | None:
        """Path of the blob as a local file; None if it is missing or not on this machine."""
        ...

    def exists(self, digest: str) -> bool:
        """Whether the blob exists."""
        ...

    def require_room(self) -> None:
        """Raises BlobsFull if the store's disk is nearly full, as far as this process can know."""
        ...


class Blobs(MatchBlobs, Protocol):
    """A store of bytes by digest. Every method may raise BlobsUnavailable."""

    def put(self, chunks: Iterable[bytes], *, limit_bytes: int) -> StoredBlob:
        """Stores the bytes while they arrive. Raises BlobTooLarge; an error leaves no blob."""
        ...

    def receive(
        self, chunks: Iterable[bytes], *, limit_bytes: int
    ) -> AbstractContextManager[IncomingBlob]:
        """Receives bytes in two steps; without ``keep`` the end of the context deletes them."""
        ...

    def signed_address(self, digest: str) -> str | None:
        """Address where whoever has it reads the blob for READ_ADDRESS_SECONDS; None if the store
        was opened without a public endpoint."""
        ...

    def delete(self, digest: str) -> None:
        """Deletes the blob; a missing blob is no error."""
        ...

    def delete_unfinished(self, before: datetime) -> int:
        """Deletes what broken uploads left before this moment; returns how many."""
        ...


class ObjectStoreBlobs:
    """Blobs in an object store."""

    def __init__(
        self,
        store: LocalStore | S3Store,
        folder: Path | None = None,
        signing: S3Store | None = None,
    ) -> None:
        """``signing`` is the same bucket at its public endpoint."""
        self._store = store
        self._folder = folder
        self._signing = signing

    def put(self, chunks: Iterable[bytes], *, limit_bytes: int) -> StoredBlob:
        with self.receive(chunks, limit_bytes=limit_bytes) as incoming:
            incoming.keep()
            return incoming.stored

    @contextmanager
    def receive(self, chunks: Iterable[bytes], *, limit_bytes: int) -> Iterator[IncomingBlob]:
        key = f"{INCOMING}/{secrets.token_hex(16)}"
        sha = hashlib.sha256()
        size = 0

        def measured() -> Iterator[bytes]:
            nonlocal size
            for chunk in chunks:
                size += len(chunk)
                if size > limit_bytes:
                    raise BlobTooLarge(limit_bytes)
                sha.update(chunk)
                yield chunk

        with _answering():
            obstore.put(self._store, key, measured(), chunk_size=PART_BYTES)
        try:
            yield IncomingBlob(self._store, key, StoredBlob(sha.hexdigest(), size))
        finally:
            # What stays behind is deleted by delete_unfinished.
            with suppress(FileNotFoundError, BaseError):
                obstore.delete(self._store, key)

    def put_bytes(self, content: bytes) -> StoredBlob:
        digest = hashlib.sha256(content).hexdigest()
        with suppress(AlreadyExistsError), _answering():
            obstore.put(self._store, _blob_key(digest), content, mode="create", use_multipart=False)
        return StoredBlob(digest, len(content))

    def open(self, digest: str) -> Iterator[bytes]:
        try:
            with _answering():
                result = obstore.get(self._store, _blob_key(digest))
        except FileNotFoundError:
            raise NotFound("the file has been deleted") from None
        return _pieces(result)

    def path(self, digest: str) -> Path | None:
        if self._folder is None:
            return None
        path = self._folder / _blob_key(digest)
        return path if path.is_file() else None

    def signed_address(self, digest: str) -> str | None:
        if self._signing is None:
            return None
        lasts = timedelta(seconds=READ_ADDRESS_SECONDS)
        return obstore.sign(self._signing, "GET", _blob_key(digest), lasts)

    def exists(self, digest: str) -> bool:
        try:
            with _answering():
                obstore.head(self._store, _blob_key(digest))
        except FileNotFoundError:
            return False
        return True

    def require_room(self) -> None:
        if self._folder is None:
            return
        disk = os.statvfs(self._folder)
        if disk.f_bavail * disk.f_frsize < LEAST_FREE_BYTES:
            raise BlobsFull(
                f"the disk of {self._folder} is full: free at least {size_text(LEAST_FREE_BYTES)}"
            )

    def delete(self, digest: str) -> None:
        with suppress(FileNotFoundError), _answering():
            obstore.delete(self._store, _blob_key(digest))

    def delete_unfinished(self, before: datetime) -> int:
        with _answering():
            stale = [
                upload["path"]
                for page in obstore.list(self._store, INCOMING)
                for upload in page
                if upload["last_modified"] < before
            ]
            for path in stale:
                with suppress(FileNotFoundError):
                    obstore.delete(self._store, path)
        return len(stale)

    def digests(self) -> Iterator[tuple[str, datetime]]:
        """Yields the digest of each blob and the time when it was stored, ordered by digest."""
        with _answering():
            for page in obstore.list(self._store, STORED):
                for blob in page:
                    yield blob["path"].rpartition("/")[2], blob["last_modified"]


def _pieces(result: GetResult) -> Iterator[bytes]:
    with _answering():
        for piece in result.stream(min_chunk_size=CHUNK_BYTES):
            yield bytes(piece)


def open_blobs(url: str, public_endpoint: str = "") -> ObjectStoreBlobs:
    """Opens the blob store at ``file:///folder`` (created if missing) or ``s3://bucket/prefix``.

    The environment gives the endpoint and keys of S3 (AWS_ENDPOINT, AWS_ACCESS_KEY_ID, …).
    ``public_endpoint`` is the endpoint of signed addresses, if they are wanted. Raises LadderError
    for another URL.
    """
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/"):
        folder = Path(unquote(parts.path))
        return ObjectStoreBlobs(LocalStore(folder, mkdir=True), folder)
    if parts.scheme == "s3" and parts.netloc:
        plain = os.environ.get("AWS_ENDPOINT", "").startswith("http://")
        options: ClientConfig = {**CLIENT, "allow_http": plain}
        store = S3Store.from_url(url, client_options=options, retry_config=RETRIES)
        signing = S3Store.from_url(url, endpoint=public_endpoint) if public_endpoint else None
        return ObjectStoreBlobs(store, signing=signing)
    raise Invalid("blobs_url", f"{url!r} must be file:///folder or s3://bucket/prefix")


def _blob_key(digest: str) -> str:
    if len(digest) != 64 or not DIGEST_CHARS.issuperset(digest):
        raise NotFound("no such file: this is not a digest")
    return f"{STORED}/{digest[:2]}/{digest}"
