"""Rows that change the world for other rows. They come last."""

from __future__ import annotations

from typing import Final

from tests.integration.api.route_walk.row import Row

ROWS: Final[tuple[Row, ...]] = (
    (
        "POST",
        "/v1/seasons/{season}/rejudgements",
        {"predicate": {"node": "node"}, "reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/rejudgements/{rejudgement}/cancellations",
        {"reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/seasons/{season}/shared-places/{place}/separations",
        {"reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/seasons/{season}/shared-places",
        {"teams": ["{team}", "{host_team}"], "reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/seasons/{season}/disqualifications",
        {"subject": "{host_agent}", "reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/seasons/{season}/reinstatements",
        {"subject": "{host_agent}", "reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    ("POST", "/v1/teams", {"name": "Flock {n}"}, "401 201 201 201 201", ""),
    (
        "POST",
        "/v1/entries/{entry}/resume",
        None,
        "401 403 409 403 403",
        "401 404 409 403 403",
    ),
    (
        "POST",
        "/v1/entries/{entry}/retire",
        None,
        "401 403 200 403 403",
        "401 404 200 403 403",
    ),
    (
        "POST",
        "/v1/leagues/{league}/seasons",
        {"seats": 2},
        "401 403 403 201 201",
        "401 404 403 201 201",
    ),
    (
        "PUT",
        "/v1/leagues/{league}/consent",
        {"terms": "{terms}"},
        "401 200 200 200 200",
        "401 404 200 200 404",
    ),
    (
        "POST",
        "/v1/join",
        {"code": "{code}", "terms": "{terms}"},
        "401 200 200 200 200",
        "401 404 404 404 404",
    ),
    (
        "DELETE",
        "/v1/leagues/{league}/invitations/{invitation}",
        None,
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
)
