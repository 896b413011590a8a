"""The submission of a remote agent: its address and API version, as bytes."""

from __future__ import annotations

import json

from egress.address import Address, AddressError, parse

APIS = ("1", "2017")
"""Versions of Battlesnake's API that a remote agent may speak."""
MANIFEST_LIMIT = 1000


def write_manifest(address: Address, api: str) -> bytes:
    """The bytes of a remote submission: canonical JSON, so equal submissions have one digest."""
    if api not in APIS:
        raise AddressError("api", f"one of {', '.join(APIS)}, not {api!r}")
    content = {"api": api, "contract": "http", "url": str(address)}
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def read_manifest(text: bytes) -> tuple[Address, str]:
    """Address and API version of a remote submission. Raises AddressError unless
    ``write_manifest`` wrote it.
    """
    if len(text) > MANIFEST_LIMIT:
        raise _url_error(f"a remote submission has at most {MANIFEST_LIMIT} bytes")
    try:
        content = json.loads(text.decode("ascii"))
        url, api = content["url"], content["api"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _url_error("this is no remote submission") from None
    if not isinstance(url, str) or not isinstance(api, str):
        raise _url_error("this is no remote submission")
    address = parse(url)
    if write_manifest(address, api) != text:
        raise _url_error("this remote submission is not in its canonical form")
    return address, api


def _url_error(text: str) -> AddressError:
    return AddressError("url", text)
