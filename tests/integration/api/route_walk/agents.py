"""Routes about agents, submissions and entries."""

from __future__ import annotations

from typing import Final

from tests.integration.api.route_walk.row import Row

ROWS: Final[tuple[Row, ...]] = (
    ("POST", "/v1/agents", {"name": "agent {n}"}, "401 201 201 201 403", ""),
    ("GET", "/v1/agents?team={team}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/agents/{agent}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "PATCH",
        "/v1/agents/{agent}",
        {"machines": "trusted"},
        "401 403 200 403 403",
        "401 404 200 403 403",
    ),
    ("DELETE", "/v1/agents/{agent}", None, "401 403 409 403 403", "401 404 409 403 403"),
    (
        "POST",
        "/v1/agents/{agent}/submissions",
        {"bytes": "{n}"},
        "401 403 201 403 403",
        "401 404 201 403 403",
    ),
    (
        "POST",
        "/v1/agents/{agent}/submissions?season={season}",
        {"bytes": "{n}"},
        "401 403 201 403 403",
        "401 404 201 403 403",
    ),
    (
        "POST",
        "/v1/agents/{agent}/remotes",
        {"url": "https://snake.example.org/{n}"},
        "401 403 201 403 403",
        "401 404 201 403 403",
    ),
    ("GET", "/v1/agents/{agent}/submissions", None, "401 403 200 403 200", "401 404 200 403 200"),
    ("GET", "/v1/submissions/{submission}", None, "401 404 200 404 200", ""),
    ("GET", "/v1/submissions/{submission}/entries", None, "401 404 200 404 200", ""),
    (
        "POST",
        "/v1/seasons/{season}/entries",
        {"submission": "{submission}"},
        "401 404 200 404 403",
        "",
    ),
    ("GET", "/v1/entries?season={season}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries?team={team}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries?agent={agent}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries/{entry}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries/{rejected}", None, "404 404 200 200 200", ""),
    ("GET", "/v1/entries/{rejected}/log", None, "401 404 200 403 403", ""),
    ("GET", "/v1/entries/{entry}/ratings", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries/{entry}/insights", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries/{rejected}/insights", None, "404 404 200 200 200", ""),
)
