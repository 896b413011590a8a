"""Receives a bundle: counts, hashes and spools it as it arrives. A slow sender holds no thread and
no database connection.

The body is the bundle itself, or a multipart form with this one file, as a browser or ``curl -F
file=@main.py`` sends it. Other fields of a form are refused unless the page expects them, because
they would be ignored.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import re
import tarfile
import tempfile
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import IO, Annotated, Final

from fastapi import Header, Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from ladder.entries.deadlines import LONGEST_UPLOAD_SECONDS
from ladder.errors import Invalid
from ladder.ids import UserId
from ladder.sizes import size_text
from services.http.body_limits import seconds_since_arrival
from services.http.problems import ProblemError

MOST_UPLOADS_PER_USER: Final = 3
MOST_UPLOADS: Final = 32
MOST_WAITING: Final = 1000
"""Uploads that are received or wait for a place."""
CHUNK_BYTES: Final = 1 << 18
IN_MEMORY_BYTES: Final = 1 << 20
RECEIVE_SECONDS: Final = (
    LONGEST_UPLOAD_SECONDS - 60.0
)  # leaves a minute for the rest of the request
SUFFIXES: Final = (".py", ".zip", ".tar", ".gz", ".tgz")
"""Suffixes of files that can be an agent."""
ARCHIVE_STARTS: Final = (b"\x1f\x8b", b"PK")
FORM: Final = b"multipart/form-data"
OVERHEAD_BYTES: Final = 16 << 10
"""Most bytes of a form beside its file."""
FIELD_BYTES: Final = 2 << 10
"""Most bytes of a field beside the file."""
REMEDY: Final = "send one file as curl -F file=@main.py does, or its bytes with --data-binary"
FILENAME: Final = re.compile(r"[^/\\\x00-\x1f\x7f]{1,120}")
SHA256: Final = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):")

ContentDigest = Annotated[
    str | None,
    Header(
        alias="Content-Digest",
        max_length=1000,
        description="optional check: sha-256=:base64: of the body (RFC 9530)",
    ),
]


class UploadSlots:
    """Limits the uploads in progress, for each person and in total. So uncounted bytes cannot fill
    the disk. Further uploads wait: a deadline counts from the first byte, so none is sent away.
    Even fewer uploads hold a thread and a database connection at a time."""

    def __init__(self, turns: int) -> None:
        self.turn = asyncio.Semaphore(turns)
        self.receiving = asyncio.Semaphore(MOST_UPLOADS)
        self.senders: Counter[UserId] = Counter()

    @asynccontextmanager
    async def hold_upload_slot(self, user_id: UserId, request: Request) -> AsyncIterator[None]:
        """Counts a sender until the upload is over, and waits for a place. Raises ProblemError: 429
        for the person's limit, 503 if very many wait or no place becomes free in time."""
        used = self.senders[user_id]
        if used >= MOST_UPLOADS_PER_USER:
            raise ProblemError(
                "limit-reached",
                f"Wait until one of your uploads ends: you are sending {used} bundles.",
                headers={"Retry-After": "5"},
                limit="uploads of a person at a time",
                used=used,
                allowed=MOST_UPLOADS_PER_USER,
                left=0,
            )
        if self.senders.total() >= MOST_WAITING:
            raise ProblemError("unavailable", "Try again shortly: many bundles are being sent.")
        self.senders[user_id] += 1
        try:
            try:
                async with asyncio.timeout(seconds_left(request)):
                    await self.receiving.acquire()
            except TimeoutError:
                raise ProblemError(
                    "unavailable", "Try again shortly: many bundles are being sent."
                ) from None
            try:
                yield
            finally:
                self.receiving.release()
        finally:
            self.senders[user_id] -= 1
            self.senders += Counter()  # drops people without an upload


def seconds_left(request: Request) -> float:
    """Seconds until the upload must have arrived."""
    return max(0.0, RECEIVE_SECONDS - seconds_since_arrival(request))


@dataclass(frozen=True, slots=True)
class ReceivedBody:
    """The received bytes."""

    file: IO[bytes]
    digest: str
    size_bytes: int
    filename: str | None = None
    """File name in the form. None for a body without a form."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """The form's other fields."""

    def chunks(self) -> Iterator[bytes]:
        self.file.seek(0)
        while chunk := self.file.read(CHUNK_BYTES):
            yield chunk


async def receive_bundle(
    request: Request,
    limit_bytes: int,
    content_digest: str | None,
    fields: Collection[str] = (),
) -> ReceivedBody:
    """The bundle in the request's body, which may be inside a form with these fields. Raises
    ProblemError if it is empty, too large, too slow, or differs from its Content-Digest."""
    expected = expected_sha256(content_digest)
    form = multipart_form_of(request.headers.get("content-type", ""), fields)
    most_bytes = limit_bytes + (OVERHEAD_BYTES if form is not None else 0)
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most_bytes:
        raise too_large_problem(limit_bytes)
    file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115
    try:
        hashing, received, size = hashlib.sha256(), 0, 0
        sent = hashing if form is None else hashlib.sha256()
        async with asyncio.timeout(seconds_left(request)):
            async for chunk in request.stream():
                received += len(chunk)
                if sent is not hashing:
                    sent.update(chunk)
                content = chunk if form is None else form.parse_chunk(chunk)
                size += len(content)
                if received - size > OVERHEAD_BYTES:
                    raise ProblemError("too-large", "Send less beside the file.")
                if received > most_bytes or size > limit_bytes:
                    raise too_large_problem(limit_bytes)
                hashing.update(content)
                file.write(content)
        if form is not None:
            form.close()
        if size == 0:
            raise ProblemError(
                "invalid", "send main.py or an archive of it: the upload is empty.", where="body"
            )
        if expected is not None and expected != sent.digest():
            raise ProblemError("digest-mismatch")
        return ReceivedBody(
            file,
            hashing.hexdigest(),
            size,
            form.filename if form is not None else None,
            form.fields if form is not None else {},
        )
    except ClientDisconnect:
        file.close()
        raise ProblemError(
            "malformed", "Send the bundle again: the connection broke before its end."
        ) from None
    except TimeoutError:
        file.close()
        raise ProblemError(
            "malformed", f"Send the body within {RECEIVE_SECONDS:.0f} seconds."
        ) from None
    except BaseException:
        file.close()
        raise


def refuse_other_files(body: ReceivedBody, name: str) -> None:
    """Raises Invalid for a file that is neither Python nor an archive.

    An archive may have any name. Another file may have no other suffix than ``SUFFIXES``. Clients
    invent names without a suffix, such as ``upload``, ``blob`` and ``-``: such a file must be text
    in UTF-8.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in SUFFIXES or _is_archive(body) or (not suffix and _is_text(body)):
        return
    body.file.close()
    raise Invalid(
        "file",
        "send a .py file, or a .tar.gz, .tar or .zip with main.py or peck.json at its root:"
        f" {name} is neither",
    )


def _is_archive(body: ReceivedBody) -> bool:
    """Whether the first bytes are those of an archive that ``sandbox.box.unpack`` takes."""
    body.file.seek(0)
    start = body.file.read(tarfile.BLOCKSIZE)
    try:
        tarfile.TarInfo.frombuf(start, "utf-8", "surrogateescape")  # compares the checksum
    except tarfile.HeaderError:
        return start.startswith(ARCHIVE_STARTS)
    return True


def _is_text(body: ReceivedBody) -> bool:
    """Whether all bytes are text in UTF-8 without the character NUL."""
    decoder = getincrementaldecoder("utf-8")()
    try:
        has_nul = any("\0" in decoder.decode(chunk) for chunk in body.chunks())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return not has_nul


def too_large_problem(limit_bytes: int) -> ProblemError:
    return ProblemError(
        "too-large",
        f"Send a smaller bundle: at most {size_text(limit_bytes)} are allowed here.",
        limit_bytes=limit_bytes,
    )


def expected_sha256(header: str | None) -> bytes | None:
    """The SHA-256 in a Content-Digest header. None if it names none."""
    match = SHA256.search(header or "")
    if match is None:
        return None
    try:
        return base64.b64decode(match.group(1), validate=True)
    except binascii.Error:
        raise ProblemError(
            "invalid", "write the digest in base64.", where="Content-Digest"
        ) from None


class MultipartForm:
    """Takes a form piece by piece and returns the bytes of its file."""

    def __init__(self, boundary: bytes, expected: Collection[str] = ()) -> None:
        self.fields: dict[str, str] = {}
        """The expected fields that came."""
        self._expected = expected
        self._field: str | None = None  # that is being read
        self._field_bytes = b""
        self.filename: str | None = None
        """File name without folders. None before the file begins, or if the form gives no usable
        name."""
        self._files = 0
        self._is_complete = False
        self._pieces: list[bytes] = []
        self._name = self._value = b""
        self._disposition = b""
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begin,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_header_end": self._header_end,
                "on_headers_finished": self._headers_finished,
                "on_part_data": self._part_data,
                "on_part_end": self._part_end,
                "on_end": self._end,
            },
        )

    def parse_chunk(self, chunk: bytes) -> bytes:
        """Returns the file's bytes in this piece of the body. Raises ProblemError if the form is
        broken or holds something else."""
        self._pieces.clear()
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise ProblemError(
                "malformed", f"{REMEDY}: the form is broken ({error}).", where="body"
            ) from None
        return b"".join(self._pieces)

    def close(self) -> None:
        """Ends the form. Raises ProblemError if the form is unfinished or holds no file."""
        if not self._is_complete:
            raise ProblemError("malformed", f"{REMEDY}: the form has no end.", where="body")
        if not self._files:
            raise ProblemError("invalid", f"{REMEDY}: the form holds no file.", where="body")

    def _part_begin(self) -> None:
        self._disposition = b""

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = self._value
        self._name = self._value = b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        name = options.get(b"name", b"").decode("utf-8", "replace")
        self._field = name if name in self._expected else None
        if self._field in self.fields:
            raise ProblemError("malformed", f"Send the field {name!r:.60} once.")
        if self._field is not None:
            self.fields[self._field] = ""
            return
        if b"filename" not in options:
            raise ProblemError(
                "invalid",
                f"give values in the address, such as ?season=..., and {REMEDY}: the "
                f"form holds a field {name!r:.60} that is no file.",
                where="body",
            )
        self._files += 1
        if self._files > 1:
            raise ProblemError(
                "invalid", f"{REMEDY}: the form holds more than one file.", where="body"
            )
        sent_name = options[b"filename"].decode("utf-8", "replace").replace("\\", "/")
        match = FILENAME.fullmatch(sent_name.rpartition("/")[2])
        self.filename = match.group() if match else None

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._field is None:
            self._pieces.append(data[start:end])
            return
        self._field_bytes += data[start:end]
        if len(self._field_bytes) > FIELD_BYTES:
            raise ProblemError("too-large", f"Send less in the field {self._field!r}.")

    def _part_end(self) -> None:
        if self._field is not None:
            self.fields[self._field] = self._field_bytes.decode("utf-8", "replace")
        self._field, self._field_bytes = None, b""

    def _end(self) -> None:
        self._is_complete = True


def multipart_form_of(content_type: str, expected: Collection[str] = ()) -> MultipartForm | None:
    """A reader for the form that this Content-Type declares. None if the body is the bundle itself.
    Raises ProblemError for another kind of form."""
    kind, options = parse_options_header(content_type)
    if not kind.startswith(b"multipart/"):
        return None
    boundary = options.get(b"boundary", b"")
    if kind != FORM or not 1 <= len(boundary) <= 70:
        raise ProblemError(
            "invalid",
            f"{REMEDY}: only multipart/form-data with a boundary is read.",
            where="Content-Type",
        )
    return MultipartForm(boundary, expected)
