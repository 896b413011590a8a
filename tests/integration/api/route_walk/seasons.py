"""Routes about seasons."""

from __future__ import annotations

from typing import Final

from tests.integration.api.route_walk.row import Row

ROWS: Final[tuple[Row, ...]] = (
    ("GET", "/v1/leagues/{league}/seasons", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/seasons/{season}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/seasons/{league}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "GET",
        "/v1/seasons/{season}/certainty",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    ("GET", "/v1/seasons/{season}/health", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "POST",
        "/v1/seasons/{season}/anchors",
        {"anchors": ["greedy"]},
        "401 403 403 201 201",
        "401 404 403 201 201",
    ),
    (
        "PATCH",
        "/v1/seasons/{season}",
        {"state": "open"},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/seasons/{season}/limits", None, "401 200 200 200 403", "401 404 200 200 403"),
    (
        "GET",
        "/v1/seasons/{season}/leaderboard",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "GET",
        "/v1/seasons/{season}/teams/{team}/entry",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "PUT",
        "/v1/seasons/{season}/teams/{team}/entry",
        {"entry": "{entry}"},  # the team has played, and no entry stands for it before a fit
        "401 403 409 403 403",
        "401 404 403 403 403",
    ),
    ("GET", "/v1/seasons/{season}/seals", None, "200 200 200 200 200", "404 404 200 200 200"),
)
