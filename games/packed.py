"""Unpacks what a worker packed. A machine that joined may have stored anything in its place."""

from __future__ import annotations

import zlib


def unpack(packed: bytes, most_bytes: int) -> bytes:
    """The bytes in a gzip. Raises ValueError if it is no gzip, if there are more bytes, or if
    something follows."""
    unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        content = unzip.decompress(packed, most_bytes)
    except zlib.error as error:
        raise ValueError(f"not a gzip ({error})") from error
    if not unzip.eof:
        raise ValueError(f"cut short, or more than {most_bytes} bytes unpacked")
    if unzip.unused_data:
        raise ValueError("something follows the gzip")
    return content
