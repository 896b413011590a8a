"""Stores bundles, replays and logs by the SHA-256 of their bytes, in a folder or in S3.

The key of a blob is ``sha256/ab/<digest>``. A blob is written under a temporary key while its
digest is computed, then renamed. So a key that exists is complete. Storing the same bytes again
changes nothing.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import LocalStore, S3Store

from ladder.errors import Invalid, LadderError, NotFound

CHUNK_BYTES: Final = 1024 * 1024
INCOMING: Final = "incoming"
"""Prefix of bytes that have no digest yet."""
DIGEST_CHARS: Final = frozenset("0123456789abcdef")


class BlobTooLarge(LadderError):
    """The file is larger than allowed."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"the file is larger than the {limit_bytes} bytes allowed")
        self.limit_bytes = limit_bytes


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
        with suppress(AlreadyExistsError):
            obstore.rename(self._store, self._key, _blob_key(self.stored.digest), overwrite=False)


class Blobs(Protocol):
    """A store of bytes by digest."""

    def put(self, chunks: Iterable[bytes], *, limit_bytes: int) -> StoredBlob:
        """Stores the bytes while they arrive. Raises BlobTooLarge; an error leaves no blob."""
        ...

    def receive(
        self, chunks: Iterable[bytes], *, limit_bytes: int
    ) -> AbstractContextManager[IncomingBlob]:
        """Receives bytes in two steps; without ``keep`` the end of the context deletes them."""
        ...

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

    def delete(self, digest: str) -> None:
        """Deletes the blob; a missing blob is no error."""
        ...

    def delete_unfinished(self, before: datetime) -> int:
        """Deletes what broken uploads left before this moment; returns how many."""
        ...


class ObjectStoreBlobs:
    """Blobs in an object store."""

    def __init__(self, store: LocalStore | S3Store, folder: Path | None = None) -> None:
        self._store = store
        self._folder = folder

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

        obstore.put(self._store, key, measured(), chunk_size=5 * CHUNK_BYTES)
        try:
            yield IncomingBlob(self._store, key, StoredBlob(sha.hexdigest(), size))
        finally:
            with suppress(FileNotFoundError):
                obstore.delete(self._store, key)

    def put_bytes(self, content: bytes) -> StoredBlob:
        digest = hashlib.sha256(content).hexdigest()
        with suppress(AlreadyExistsError):
            obstore.put(self._store, _blob_key(digest), content, mode="create", use_multipart=False)
        return StoredBlob(digest, len(content))

    def open(self, digest: str) -> Iterator[bytes]:
        try:
            found = obstore.get(self._store, _blob_key(digest))
        except FileNotFoundError:
            raise NotFound("the file has been deleted") from None
        return (bytes(piece) for piece in found.stream(min_chunk_size=CHUNK_BYTES))

    def path(self, digest: str) -> Path | None:
        if self._folder is None:
            return None
        path = self._folder / _blob_key(digest)
        return path if path.is_file() else None

    def exists(self, digest: str) -> bool:
        try:
            obstore.head(self._store, _blob_key(digest))
        except FileNotFoundError:
            return False
        return True

    def delete(self, digest: str) -> None:
        with suppress(FileNotFoundError):
            obstore.delete(self._store, _blob_key(digest))

    def delete_unfinished(self, before: datetime) -> int:
        stale = [
            each["path"]
            for page in obstore.list(self._store, INCOMING)
            for each in page
            if each["last_modified"] < before
        ]
        for path in stale:
            with suppress(FileNotFoundError):
                obstore.delete(self._store, path)
        return len(stale)


def open_blobs(url: str) -> ObjectStoreBlobs:
    """Opens the blob store at ``file:///folder`` (created if missing) or ``s3://bucket/prefix``.

    The environment gives the endpoint and keys of S3 (AWS_ENDPOINT, AWS_ACCESS_KEY_ID, …). Raises
    LadderError for another URL.
    """
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/"):
        folder = Path(unquote(parts.path))
        return ObjectStoreBlobs(LocalStore(folder, mkdir=True), folder)
    if parts.scheme == "s3" and parts.netloc:
        return ObjectStoreBlobs(S3Store.from_url(url))
    raise Invalid("blobs_url", f"{url!r} must be file:///folder or s3://bucket/prefix")


def _blob_key(digest: str) -> str:
    if len(digest) != 64 or not DIGEST_CHARS.issuperset(digest):
        raise NotFound("no such file: this is not a digest")
    return f"sha256/{digest[:2]}/{digest}"
