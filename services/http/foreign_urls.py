"""Addresses that requests contain."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


def split_url(url: str) -> SplitResult:
    """The parts of an address; all are empty if it is malformed, such as ``http://[::1``."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")
