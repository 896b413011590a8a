"""Reads the multipart form of an upload, as a browser or ``curl -F file=@main.py`` sends it.

The form holds one file. Other fields are refused unless the page expects them, because they would
be ignored.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from services.http.problems import ProblemError

FORM: Final = b"multipart/form-data"
OVERHEAD_BYTES: Final = 16 << 10
"""Most bytes of a form beside its file."""
FIELD_BYTES: Final = 2 << 10
"""Most bytes of a field beside the file."""
REMEDY: Final = "send one file as curl -F file=@main.py does, or its bytes with --data-binary"
FILENAME: Final = re.compile(r"[^/\\\x00-\x1f\x7f]{1,120}")


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
        given = options[b"filename"].decode("utf-8", "replace").replace("\\", "/")
        found = FILENAME.fullmatch(given.rpartition("/")[2])
        self.filename = found.group() if found else None

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
