"""The errors of the contest. Each message names the field and the remedy.

- LadderError: the root of all
- Invalid: a value is wrong
- Conflict: the request contradicts the current state
- NotFound: the thing does not exist
- Forbidden: the viewer may see it but not do this
- ConfirmationNeeded: the viewer must first prove again to be that person
- LimitReached: a stated limit is used up
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Self


class LadderError(Exception):
    """The root of the contest's errors; the docstring of a subclass is its default message."""

    def __init__(self, message: str = "", *, field: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        """The message without the field."""
        self.field = field
        """Name of the refused value in the request, such as ``season.seats``; None if there is
        none.
        """
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class Invalid(LadderError):
    """A value is wrong."""

    field: str

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message, field=field)

    def within(self, outer: str) -> Invalid:
        """Returns the same error for a nested value: ``gold`` within ``medals``."""
        return Invalid(f"{outer}.{self.field}", self.message)


class NotFound(LadderError):
    """There is no such thing, or it is not yours to see."""

    what: str | None = None
    """Kind of the missing thing in one word, such as ``league``; None if unknown."""

    @classmethod
    def of(cls, what: str) -> Self:
        """Returns the error for a missing thing of this kind."""
        error = cls(f"there is no such {what}")
        error.what = what
        return error


class Conflict(LadderError):
    """The request contradicts the current state."""


class Forbidden(LadderError):
    """You may see this but not do that."""


class ConfirmationNeeded(Forbidden):
    """Confirm first that it is you."""


class LimitReached(LadderError):
    """A stated limit is used up."""

    def __init__(self, limit: str, used: int, allowed: int, resets_at: datetime) -> None:
        self.limit = limit
        """Name of the limit, for people."""
        self.used = used
        self.allowed = allowed
        self.left = max(0, allowed - used)
        self.resets_at = resets_at
        super().__init__(self._message_text())

    def _message_text(self) -> str:
        return (
            f"{self.limit}: {self.used} of {self.allowed} used, {self.left} left;"
            f" resets at {self._reset_time_text()}"
        )

    def _reset_time_text(self) -> str:
        whole = self.resets_at.astimezone(UTC) + timedelta(
            microseconds=999_999
        )  # round up, never too early
        return f"{whole:%Y-%m-%d %H:%M:%S} UTC"
