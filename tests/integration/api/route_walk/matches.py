"""Routes about matches, replays and logs."""

from __future__ import annotations

from typing import Final

from tests.integration.api.route_walk.row import Row

ROWS: Final[tuple[Row, ...]] = (
    (
        "GET",
        "/v1/leagues/{league}/highlights",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "PUT",
        "/v1/leagues/{league}/pins/{rated}",
        None,
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    (
        "DELETE",
        "/v1/leagues/{league}/pins/{rated}",
        None,
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    ("GET", "/v1/matches?season={season}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/matches?scrim={scrim}", None, "404 404 200 404 200", ""),
    ("GET", "/v1/matches", None, "200 200 200 200 200", ""),
    ("GET", "/v1/matches?agent={agent}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "GET",
        "/v1/head-to-head?agent={agent}&opponent={host_agent}",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    ("GET", "/v1/search?q=flood", None, "200 200 200 200 200", ""),
    ("GET", "/v1/matches/{rated}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/matches/{validation}", None, "404 404 200 200 200", ""),
    ("GET", "/v1/matches/{scrimmage}", None, "404 404 200 404 200", ""),
    ("GET", "/v1/episodes/{number}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/matches/{rated}/replay", None, "403 403 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/matches/{running}/live", None, "403 403 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/matches/{rated}/live", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "GET",
        "/v1/matches/{rated}/replay?format=kaggle",
        None,
        "403 403 200 200 200",
        "404 404 200 200 200",
    ),
    ("GET", "/v1/matches/{validation}/replay", None, "404 404 200 403 200", ""),
    ("GET", "/v1/matches/{scrimmage}/replay", None, "404 404 200 404 200", ""),
    ("GET", "/v1/matches/{rated}/seats/0/log", None, "401 403 200 403 403", "401 404 200 403 403"),
    ("GET", "/v1/matches/{rated}/seats/1/log", None, "401 403 403 200 403", "401 404 403 200 403"),
    ("GET", "/v1/matches/{scrimmage}/seats/0/log", None, "401 404 200 404 403", ""),
    ("GET", "/v1/matches/{scrimmage}/seats/1/log", None, "401 404 403 404 403", ""),
)
