"""Dates of forms: a day and time as a browser writes it, in a zone chosen beside it."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from ladder.errors import Invalid

UTC_NAME: Final = "UTC"


def parse_moment(text: str, zone: tzinfo) -> str:
    """The moment, as the API reads it. What is none stays as it is: the API says what is wrong."""
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        return text
    return (told if told.tzinfo else told.replace(tzinfo=zone)).isoformat()


def parse_zone(name: str) -> tzinfo:
    """The time zone of this name. Raises ProblemError."""
    if name == UTC_NAME:
        return UTC
    if name not in time_zones():
        raise Invalid("zone", "there is no such time zone; choose one of the list.")
    return ZoneInfo(name)


@cache
def time_zones() -> tuple[str, ...]:
    """Places whose clocks a date may be told by."""
    known = (name for name in available_timezones() if "/" in name)
    return UTC_NAME, *sorted(name for name in known if not name.startswith(("Etc/", "US/")))
