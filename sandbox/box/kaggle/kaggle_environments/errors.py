"""The exceptions of kaggle_environments that an agent could meet or raise.

::

    CanonicalError
    ├── DeadlineExceeded   ├── NotFound
    ├── FailedPrecondition ├── Unimplemented
    └── InvalidArgument
"""

from __future__ import annotations

_NUMBERS = {
    "UNKNOWN": (2, 500),
    "INVALID_ARGUMENT": (3, 400),
    "DEADLINE_EXCEEDED": (4, 504),
    "NOT_FOUND": (5, 404),
    "FAILED_PRECONDITION": (9, 400),
    "UNIMPLEMENTED": (12, 501),
}
"""gRPC code and HTTP status, by status name."""


class CanonicalError(Exception):
    """An error with a status, its code and the nearest HTTP status."""

    def __init__(self, error: str = "", status: str = "UNKNOWN") -> None:
        super().__init__(error)
        self.message = error
        self.status = status if status in _NUMBERS else "UNKNOWN"
        self.name = self.status.title().replace("_", "")
        self.code, self.http_status = _NUMBERS[self.status]

    def toJSON(self) -> dict[str, object]:
        """Code, message and status."""
        return {"code": self.code, "message": self.message, "status": self.status}


class InvalidArgument(CanonicalError):
    """A value that cannot be accepted."""

    def __init__(self, error: str = "") -> None:
        super().__init__(error, "INVALID_ARGUMENT")


class DeadlineExceeded(CanonicalError):
    """An agent took too long."""

    def __init__(self, error: str = "") -> None:
        super().__init__(error, "DEADLINE_EXCEEDED")


class NotFound(CanonicalError):
    """No object has this name."""

    def __init__(self, error: str = "") -> None:
        super().__init__(error, "NOT_FOUND")


class FailedPrecondition(CanonicalError):
    """The call came at the wrong time."""

    def __init__(self, error: str = "") -> None:
        super().__init__(error, "FAILED_PRECONDITION")


class Unimplemented(CanonicalError):
    """The function is not available here."""

    def __init__(self, error: str = "") -> None:
        super().__init__(error, "UNIMPLEMENTED")
