"""The lines after a refusal of the service: its text with the options of the command, and the next
command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from services.api_client import ApiError, Json, Unreachable
from services.cli.display import timestamp_text
from services.cli.saved_login import (
    Login,
    MissingInput,
    connect,
    find_login,
    renew_login_hint,
    use_running_instance_hint,
)

LISTED: Final = 20
"""Most leagues listed after a wrong name."""
LISTS: Final = {
    "league": "peck league list",
    "season": "peck league list",
    "agent": "peck agent list",
    "submission": "peck submissions",
    "entry": "peck entries",
    "match": "peck matches",
    "episode": "peck matches",
    "scrim": "peck api list-scrims",
    "batch": "peck api list-batches",
    "tournament": "peck tournament list",
    "team": "peck whoami",
    "user": "peck whoami",
    "token": "peck api list-tokens me",
    "invitation": "peck api list-invitations LEAGUE",
    "rejudgement": "peck api list-audits LEAGUE",
}
"""The command that lists existing things, by the kind of the missing thing."""
AGAIN: Final = ("idempotency-mismatch", "digest-mismatch")


def hints_after(error: ApiError, verb: str) -> list[str]:
    """Lines to print after the message of a refusal (4xx). The last names the next command.

    ``verb`` is the refused command, such as ``peck league create``. Other errors get no lines.
    """
    if not 400 <= error.status < 500:
        return []
    login = find_login()
    lines = (
        [f"the request went to {login.address} (peck login); {use_running_instance_hint(login)}"]
        if login.unused
        else []
    )
    if error.problem.get("what") == "league":
        lines += _league_list()
    return [*lines, f"next: {_next_command(error, verb, login)}"]


def _next_command(error: ApiError, verb: str, login: Login) -> str:
    problem, kind = error.problem, error.slug
    if kind == "unauthorized":
        return renew_login_hint(login)
    if kind == "forbidden":
        scope = problem.get("scope")
        if scope == "admin":
            return (
                f"peck login {login.address} --paste, with an administrator's token; the operator"
                " makes one with peck admin token NAME on the machine of the site"
            )
        return "peck whoami" + (f" (the token needs the scope {scope})" if scope else "")
    if kind == "not-found" and problem.get("what") in LISTS:
        return LISTS[str(problem["what"])]
    if kind == "limit-reached" and problem.get("resets_at"):
        return f"the same command after {timestamp_text(str(problem['resets_at']))} UTC"
    if not kind:  # a web server before the site refused
        return f"ask the operator of {login.address}"
    if kind == "too-large":
        return "peck league show LEAGUE (shows the largest upload)"
    if kind in AGAIN:
        return "the same command again"
    return f"{verb} --help"


def _league_list() -> list[str]:
    """The leagues that the caller may see, on one line."""
    try:
        with connect(needs_token=False) as ladder:
            slugs = [row["slug"] for row in ladder.list_items("/v1/leagues", limit=200)]
    except (ApiError, Unreachable, MissingInput):
        return []
    more = f" and {len(slugs) - LISTED} more" if len(slugs) > LISTED else ""
    return [f"leagues: {', '.join(slugs[:LISTED]) or 'none'}{more}"]


PARTS: Final = ("body", "query", "path", "header")
"""First part of a place in a request of the API: ``body.season.closes_at``."""


class Parameter(Protocol):
    """An option or argument of a command, as typer describes it."""

    name: str | None
    opts: list[str]
    param_type_name: str


def refusal_lines(error: ApiError, parameters: Sequence[Parameter]) -> list[str]:
    """The sentence of the refusal, then a line for each refused value if there are several."""
    detail = str(error)
    places: list[Json] = list(error.problem.get("errors") or ())
    if not places:
        return [detail]
    named = [f"{name_of_place(one['where'], parameters)}: {one['message']}" for one in places]
    first = places[0]["where"]
    if detail.startswith((f"{first}: ", f"{without_part(first)}: ")):
        more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
        detail = named[0] + more
    if len(places) == 1 and places[0]["message"] in detail:
        return [detail]
    return [detail, *named]


def without_part(where: str) -> str:
    """The place without the part of the request: ``season.closes_at``."""
    part, _, rest = where.partition(".")
    return rest if part in PARTS and rest else where


def name_of_place(where: str, parameters: Sequence[Parameter]) -> str:
    """The option or argument that sets this value: ``--closes``. Else the field:
    ``season.medals``."""
    field = without_part(where)
    names = [part for part in field.split(".") if not part.isdecimal()]
    for name in _parameter_names(names[-1]) if names else ():
        for parameter in parameters:
            if parameter.name == name:
                return _shown_name(parameter)
    return field


def _parameter_names(field: str) -> Iterator[str]:
    """The names that a parameter for this field may have."""
    yield field
    yield field.removesuffix("_at")
    yield field.removesuffix("s")


def _shown_name(parameter: Parameter) -> str:
    if parameter.param_type_name == "argument":
        return (parameter.name or "").upper()
    return max(parameter.opts, key=len)
