"""Says what to type after the service refused a request, by the problem's type."""

from __future__ import annotations

from typing import Final

from services.cli.display import moment
from services.cli.saved_login import Login, Unset, connect, find_login, other_way, renewal
from services.client import ApiError, Unreachable

LISTED: Final = 20
"""Most leagues that are listed after a wrong name."""
LISTS: Final = {
    "league": "peck league list",
    "season": "peck league list",
    "agent": "peck agent list",
    "submission": "peck submissions",
    "entry": "peck entries",
    "match": "peck episodes --help",
    "episode": "peck episodes --help",
    "scrim": "peck scrim --help",
    "team": "peck whoami",
    "user": "peck whoami",
    "token": "peck token list",
    "invitation": "peck league invitations LEAGUE",
    "rejudgement": "peck audits LEAGUE",
}
"""The command that lists what exists, by the kind of the thing that was not found."""
AGAIN: Final = ("idempotency-mismatch", "digest-mismatch")


def after(error: ApiError, verb: str) -> list[str]:
    """Lines to print after the message of a refusal (4xx); the last says what to type next.

    ``verb`` is the refused command, such as ``peck league create``. Other errors get no lines.
    """
    if not 400 <= error.status < 500:
        return []
    login = find_login()
    lines = [f"asked {login.address} (peck login); {other_way(login)}"] if login.unused else []
    if error.problem.get("what") == "league":
        lines += _leagues()
    return [*lines, f"next: {_next(error, verb, login)}"]


def _next(error: ApiError, verb: str, login: Login) -> str:
    problem, kind = error.problem, error.slug
    if kind == "unauthorized":
        return renewal(login)
    if kind == "forbidden":
        scope = problem.get("scope")
        return "peck whoami" + (f" (the token needs the scope {scope})" if scope else "")
    if kind == "not-found" and problem.get("what") in LISTS:
        return LISTS[str(problem["what"])]
    if kind == "limit-reached" and problem.get("resets_at"):
        return f"the same command after {moment(str(problem['resets_at']))} UTC"
    if kind == "too-large":
        return "peck league show LEAGUE (it says how large an upload may be)"
    if kind in AGAIN:
        return "the same command again"
    return f"{verb} --help"


def _leagues() -> list[str]:
    """The leagues that the caller may see, on one line."""
    try:
        with connect(needs_token=False) as ladder:
            slugs = [row["slug"] for row in ladder.leagues()]
    except (ApiError, Unreachable, Unset):
        return []
    more = f" and {len(slugs) - LISTED} more" if len(slugs) > LISTED else ""
    return [f"leagues here: {', '.join(slugs[:LISTED]) or 'none'}{more}"]
