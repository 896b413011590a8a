"""The status that each person gets for a row."""

from __future__ import annotations

import re

from tests.integration.api.route_walk.row import Row
from workers.match_attempt import NO_BLOB

FIVE = ("stranger", "rival", "member", "host", "admin")
PEOPLE = (*(*FIVE, "cohost", "grader", "commentator", "reader", "foreign", "revoked", "blocked"),)
WITHOUT_TOKEN = (
    "/v1/sign-up",
    "/v1/device-logins",
    "/v1/device-logins/token",
    "/v1/machines/join",
    "/v1/games",
    "/v1/profiles",
    "/health/live",
    "/health/ready",
)
"""Routes that read no token, so they answer everybody alike."""
OF_NO_LEAGUE = {
    *("n", "user", "token", "session", "spare_user"),
    *("notice", "feed", "channel", "machine", "machine_invitation"),
    *("own_invitation", "merge", "other_merge", "spare_team"),
}
"""Words with the same meaning in both walks."""

OF_TEAMS = {
    ("GET", "/v1/seasons/{season}/limits"),
    ("POST", "/v1/agents"),
    ("POST", "/v1/scrims"),
    ("POST", "/v1/leagues/{league}/comparisons"),
    ("POST", "/v1/leagues/{league}/comparisons/plan"),
    ("GET", "/v1/agents/{host_agent}/scrim-policy"),
    ("GET", "/v1/seasons/{season}/scrim-opponents"),
    ("POST", "/v1/scrim-requests"),
    ("POST", "/v1/scrim-batches/plan"),
    ("POST", "/v1/scrim-batches"),
}
"""Routes that ask for a team of the caller."""

# Statuses that do not follow from the row: method and path, then by person the status in the public
# and in the private league.
EXCEPTIONS: dict[tuple[str, str], dict[str, tuple[int, int]]] = {
    ("GET", f"/v1/machine/blobs/{NO_BLOB}"): {"blocked": (401, 401)},
    ("PUT", f"/v1/machine/blobs/{NO_BLOB}"): {"blocked": (401, 401), "reader": (401, 401)},
    # A token that only reads: it may end tokens of its own scopes, and ask for terms of a code.
    ("DELETE", "/v1/users/{user}/tokens/{token}"): {"reader": (200, 200)},
    ("POST", "/v1/join/terms"): {"reader": (200, 404)},
    ("POST", "/v1/join-team/invitation"): {"reader": (409, 409)},
    ("GET", "/v1/users/me/export"): {"reader": (403, 403)},
    ("PUT", "/v1/leagues/{league}/consent"): dict.fromkeys(
        ("cohost", "grader", "commentator"), (200, 200)
    ),
    ("POST", "/v1/tournaments/{tournament}/entrants"): {
        **dict.fromkeys(("grader", "commentator"), (403, 403)),
        "uploader": (403, 403),
    },
    ("DELETE", "/v1/tournaments/{cup}/shows/{show}"): dict.fromkeys(
        ("grader", "commentator"), (403, 403)
    ),
    ("POST", "/v1/join"): dict.fromkeys(("grader", "commentator"), (409, 404)),
    ("GET", "/v1/teams/{team}/members"): dict.fromkeys(("grader", "commentator"), (403, 403)),
    ("GET", "/v1/matches/{rated}/replay"): dict.fromkeys(("grader", "commentator"), (403, 403)),
    ("GET", "/v1/matches/{running}/live"): dict.fromkeys(("grader", "commentator"), (403, 403)),
    ("GET", "/v1/matches/{rated}/replay?format=kaggle"): dict.fromkeys(
        ("grader", "commentator"), (403, 403)
    ),
    # Graders read logs, and so see what failed; commentators do not.
    ("GET", "/v1/matches/{rated}/seats/0/log"): {"grader": (200, 200)},
    ("GET", "/v1/matches/{rated}/seats/1/log"): {"grader": (200, 200)},
    ("GET", "/v1/entries/{rejected}/log"): {"grader": (200, 200), "commentator": (404, 404)},
    ("GET", "/v1/entries/{rejected}"): {"commentator": (404, 404)},
    ("GET", "/v1/entries/{rejected}/insights"): {"commentator": (404, 404)},
    ("POST", "/v1/leagues/{league}/comparisons"): {
        person: (403, 403) for person in ("cohost", "grader", "commentator")
    },
    ("GET", "/v1/matches/{validation}"): {"commentator": (404, 404)},
    ("GET", "/v1/matches/{validation}/replay"): {"commentator": (404, 404)},
    # Roles in a league open no scrim of two teams.
    **{
        (method, path): dict.fromkeys(("cohost", "grader", "commentator"), (404, 404))
        for method, path in (
            ("GET", "/v1/matches?scrim={sides}"),
            ("GET", "/v1/scrims/{sides}"),
            ("GET", "/v1/matches/{sides_match}"),
            ("GET", "/v1/matches/{sides_match}/replay"),
            ("GET", "/v1/matches/{sides_match}/seats/1/log"),
            ("GET", "/v1/scrim-requests/{scrim_request}"),
            ("POST", "/v1/scrim-requests/{scrim_request}/withdraw"),
            ("POST", "/v1/scrim-requests/{to_accept}/accept"),
            ("POST", "/v1/scrim-requests/{to_decline}/decline"),
        )
    },
    **{
        ("POST", path): dict.fromkeys(("cohost", "grader", "commentator"), (403, 403))
        for path in ("/v1/scrim-batches", "/v1/scrim-batches/plan")
    },
}


def statuses(row: Row, league: str) -> dict[str, int]:
    """The status for each person.

    A co-host owns nothing, so the stricter answer to host and admin applies. Graders and
    commentators are members who own nothing and manage nothing. The reader has a token of the
    member that only reads. The foreign person, who hosts another league and has no team, may do
    what the rival may without a team.
    A revoked token opens no route. A person whom an administrator blocked reads so everywhere. The
    host's token that only uploads ("uploader") asks only the routes of EXCEPTIONS.
    """
    method, path, _, public, private = row
    told = (private if league == "private" and private else public).split()
    found = dict(zip(FIVE, map(int, told), strict=True))
    special = EXCEPTIONS.get((method, path), {})
    exceptions = {person: each[league == "private"] for person, each in special.items()}
    found["cohost"] = exceptions.get("cohost", strictest(found["host"], found["admin"]))
    found["grader"] = found["commentator"] = strictest(found["member"], found["cohost"])
    is_refused = league == "public" and (method, path) in OF_TEAMS
    found["foreign"] = 403 if is_refused else found["rival"]
    is_open = path in WITHOUT_TOKEN
    found["reader"] = found["member"] if method == "GET" or is_open else 403
    found["revoked"] = found["stranger"] if is_open else 401
    found["blocked"] = found["stranger"] if is_open else 403
    return {**found, **exceptions}


def is_of_no_league(row: Row) -> bool:
    """Whether a row names nothing that belongs to a league."""
    _, path, body, _, private = row
    return not private and set(re.findall(r"{(\w+)}", f"{path} {body}")) <= OF_NO_LEAGUE


def strictest(*given: int) -> int:
    """The status that grants least; 409 grants the act, which only comes too late."""
    return max(given, key=lambda status: 300 if status == 409 else status)
