"""Routes about teams: members, invitations, merges."""

from __future__ import annotations

from typing import Final

from tests.integration.api.route_walk.row import Row

ROWS: Final[tuple[Row, ...]] = (
    ("GET", "/v1/teams/{team}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "POST",
        "/v1/teams/{team}/members",
        {"user": "{team_owner}", "is_owner": True},
        "401 403 403 403 204",
        "",
    ),
    (
        "PATCH",
        "/v1/teams/{team}",
        {"name": "Walk {n}"},
        "401 403 200 403 200",
        "401 404 403 403 200",
    ),
    ("GET", "/v1/teams/{team}/members", None, "401 403 200 200 200", "401 404 403 200 200"),
    ("GET", "/v1/teams/{team}/opponents", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/teams/{team}/acts", None, "401 403 200 403 200", "401 404 403 403 200"),
    (
        "DELETE",
        "/v1/teams/{team}/members/{team_owner}",  # the last member
        None,
        "401 403 409 403 409",
        "401 404 403 403 409",
    ),
    (
        "PUT",
        "/v1/teams/{team}/owner",
        {"user": "{team_owner}"},
        "401 403 200 403 200",
        "401 404 403 403 200",
    ),
    ("POST", "/v1/teams/{team}/invitations", {}, "401 403 201 403 201", "401 404 403 403 201"),
    ("GET", "/v1/teams/{team}/invitations", None, "401 403 200 403 200", "401 404 403 403 200"),
    (
        "DELETE",
        "/v1/teams/{team}/invitations/{team_invitation}",
        None,
        "401 403 200 403 200",
        "401 404 403 403 200",
    ),
    ("POST", "/v1/join-team/invitation", {"code": "{team_code}"}, "401 409 409 409 409", ""),
    (
        "POST",
        "/v1/join-team",  # members of the team need no invitation
        {"code": "{team_code}"},
        "401 409 200 409 409",
        "401 409 409 409 409",
    ),
    ("GET", "/v1/users/me/team-invitations", None, "401 200 200 200 200", ""),
    (
        "POST",
        "/v1/users/me/team-invitations/{own_invitation}/decline",
        None,
        "401 404 200 404 404",
        "",
    ),
    (
        "POST",
        "/v1/users/me/team-invitations/{own_invitation}/accept",  # after it was declined
        None,
        "401 404 409 404 404",
        "",
    ),
    (
        "POST",
        "/v1/teams/{team}/merges",
        {"into": "{host_team}"},
        "401 403 201 403 403",
        "401 404 403 403 403",
    ),
    ("GET", "/v1/teams/{team}/merges", None, "401 403 200 403 200", "401 404 403 403 200"),
    ("POST", "/v1/team-merges/{merge}/accept", None, "401 404 404 404 403", ""),
    ("DELETE", "/v1/team-merges/{other_merge}", None, "401 404 404 404 204", ""),
    ("DELETE", "/v1/teams/{spare_team}", None, "401 404 404 404 204", ""),
)
