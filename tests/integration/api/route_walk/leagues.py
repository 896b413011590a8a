"""Routes about leagues: members, requests to join, roster, extensions, terms."""

from __future__ import annotations

from typing import Final

from tests.integration.api.route_walk.row import Row

ROWS: Final[tuple[Row, ...]] = (
    ("GET", "/v1/games", None, "200 200 200 200 200", ""),
    ("GET", "/v1/profiles", None, "200 200 200 200 200", ""),
    ("GET", "/v1/leagues", None, "200 200 200 200 200", ""),
    (
        "POST",
        "/v1/leagues",
        {"slug": "l{n}", "title": "L", "game": "hungry_geese"},
        "401 201 201 201 201",
        "",
    ),
    ("GET", "/v1/leagues/{league}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "PATCH",
        "/v1/leagues/{league}",
        {"title": "New"},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/leagues/{league}/members", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "PUT",
        "/v1/leagues/{league}/members/{user}",
        {"role": "competitor"},
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    (
        "DELETE",
        "/v1/leagues/{league}/members/{team_owner}",
        None,
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    (
        "POST",
        "/v1/leagues/{league}/invitations",
        {"role": "viewer"},
        "401 403 403 201 201",
        "401 404 403 409 409",
    ),
    # Neither league has reference agents.
    (
        "POST",
        "/v1/leagues/{league}/rehearsals",
        None,
        "401 403 403 409 409",
        "401 404 403 409 409",
    ),
    ("GET", "/v1/leagues/{league}/invitations", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "GET",
        "/v1/leagues/{league}/requests/terms",
        None,
        "401 200 200 200 200",
        "401 404 200 200 200",
    ),
    # Both leagues take no requests.
    (
        "POST",
        "/v1/leagues/{league}/requests",
        {"terms": "{terms}"},
        "401 409 409 409 409",
        "401 404 409 409 409",
    ),
    ("GET", "/v1/leagues/{league}/requests", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "POST",
        "/v1/leagues/{league}/requests/answers",
        {"act": "decline", "requests": ["{other_request}"]},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/me/requests", None, "401 200 200 200 200", ""),
    ("DELETE", "/v1/me/requests/{request}", None, "401 404 200 404 404", ""),
    ("GET", "/v1/leagues/{league}/blocks", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "PUT",
        "/v1/leagues/{league}/blocks/{outsider}",
        {"reason": "a walk"},
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    (
        "DELETE",
        "/v1/leagues/{league}/blocks/{outsider}",
        None,
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    ("GET", "/v1/leagues/{league}/terms", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "POST",
        "/v1/leagues/{league}/roster",
        {"csv": "name,team,role,external_id\nAda,,,{n}\n"},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/leagues/{league}/roster", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "PUT",
        "/v1/seasons/{season}/extensions/{team}",
        {"closes_at": "2999-01-01T00:00:00Z", "reason": "ill"},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    (
        "GET",
        "/v1/seasons/{season}/extensions",
        None,
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/seasons/{season}/standings", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "GET",
        "/v1/seasons/{season}/standings?format=csv",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "GET",
        "/v1/seasons/{season}/participants",
        None,
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    # Only a roster code admits people to a private league.
    (
        "POST",
        "/v1/join/terms",
        {"code": "{code}"},
        "401 200 200 200 200",
        "401 404 404 404 404",
    ),
)
