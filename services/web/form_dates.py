"""Dates in forms: local date and time from a browser, and a time zone."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Annotated, Final
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator

from ladder.errors import Invalid
from services.web import form_texts

UTC_NAME: Final = "UTC"


def parse_moment(text: str, zone: tzinfo) -> str:
    """The moment in the API's format. Leaves an invalid text as it is, for the API to refuse."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).isoformat()


def parse_zone(name: str) -> tzinfo:
    """The time zone of this name. Raises Invalid."""
    if name == UTC_NAME:
        return UTC
    if name not in time_zones():
        raise Invalid("zone", form_texts.UNKNOWN_ZONE)
    return ZoneInfo(name)


def check_zone(name: str) -> str:
    """Returns the name of a time zone. Raises Invalid."""
    parse_zone(name)
    return name


ZoneName = Annotated[str, AfterValidator(check_zone)]


@cache
def time_zones() -> tuple[str, ...]:
    """Names of time zones to choose from."""
    names = (name for name in available_timezones() if "/" in name)
    return UTC_NAME, *sorted(name for name in names if not name.startswith(("Etc/", "US/")))
