"""What the contest refuses, as one tree of exceptions. Each names field and remedy.

LadderError
    Invalid       a value cannot be what it is
    Conflict      it contradicts what stands
    NotFound      there is no such thing
    Forbidden     it may be seen but not done
    LimitReached  a stated limit is used up
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Self


class LadderError(Exception):
    """Something the contest refuses; the docstring of each subclass is its sentence."""

    def __init__(self, message: str = "", *, field: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        """The sentence without the field."""
        self.field = field
        """Name of the refused value in the request, such as ``season.seats``, if it is one."""
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class Invalid(LadderError):
    """A value cannot be what it is."""

    field: str

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message, field=field)

    def within(self, outer: str) -> Invalid:
        """The same of a value that lies inside another one: ``gold`` within ``medals``."""
        return Invalid(f"{outer}.{self.field}", self.message)


class NotFound(LadderError):
    """There is no such thing, or it is not yours to see."""

    what: str | None = None
    """The kind of the missing thing, if one word names it, such as ``league``."""

    @classmethod
    def of(cls, what: str) -> Self:
        """The error for a missing thing of this kind."""
        error = cls(f"there is no such {what}")
        error.what = what
        return error


class Conflict(LadderError):
    """What was asked contradicts what already stands."""


class Forbidden(LadderError):
    """You may see this but not do that."""


class LimitReached(LadderError):
    """A stated limit is used up."""

    def __init__(self, limit: str, used: int, allowed: int, resets_at: datetime) -> None:
        self.limit = limit
        """Its name, for people."""
        self.used = used
        self.allowed = allowed
        self.left = max(0, allowed - used)
        self.resets_at = resets_at
        super().__init__(self._told())

    def _told(self) -> str:
        return (
            f"{self.limit}: {self.used} of {self.allowed} used, {self.left} left;"
            f" resets at {self._moment()}"
        )

    def _moment(self) -> str:
        whole = self.resets_at.astimezone(UTC) + timedelta(microseconds=999_999)  # not too early
        return f"{whole:%Y-%m-%d %H:%M:%S} UTC"
