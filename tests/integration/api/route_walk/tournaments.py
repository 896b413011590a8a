"""Routes about tournaments."""

from __future__ import annotations

from typing import Final

from tests.integration.api.route_walk.row import Row

ROWS: Final[tuple[Row, ...]] = (
    (
        "POST",
        "/v1/leagues/{league}/tournaments",
        {"title": "Cup {n}", "plan": {"stages": [{"format": "single_elimination"}]}},
        "401 403 403 201 201",
        "401 404 403 201 201",
    ),
    ("GET", "/v1/tournaments", None, "200 200 200 200 200", ""),
    (
        "GET",
        "/v1/tournaments?league={league}",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    ("GET", "/v1/tournaments/{tournament}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "POST",
        "/v1/tournaments/{tournament}/entrants",
        {"agent": "{agent}"},
        "401 403 201 409 409",
        "401 404 201 409 409",
    ),
    (
        "GET",
        "/v1/tournaments/{tournament}/entrants",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "POST",
        "/v1/tournaments/{tournament}/entrants/{agent}/acts",
        {"act": "withdraw"},
        "401 403 200 403 403",
        "401 404 200 403 403",
    ),
    ("GET", "/v1/tournaments/{cup}/pairings", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/tournaments/{cup}/standings", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "GET",
        "/v1/tournaments/{cup}/export?form=csv",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "GET",
        "/v1/tournaments/{cup}/rejudgements",
        None,
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/rejudgements",
        {"pairing": "1.1.1", "reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/rejudgements/decisions",
        {"pairing": "1.1.1", "act": "drop"},
        "401 403 403 200 409",
        "401 404 403 200 409",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/reveals",
        {"embargo": "public"},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/shows",
        {"hours": 1},
        "401 403 403 201 201",
        "401 404 403 201 201",
    ),
    ("GET", "/v1/tournaments/{cup}/shows", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "DELETE",
        "/v1/tournaments/{cup}/shows/{show}",
        None,
        "401 403 403 204 404",
        "401 404 403 204 404",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/acts",
        {"act": "pause"},
        "401 403 403 200 409",
        "401 404 403 200 409",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/entrants/{host_agent}/disqualification",
        {"reason": "a walk"},
        "401 403 403 200 409",
        "401 404 403 200 409",
    ),
)
