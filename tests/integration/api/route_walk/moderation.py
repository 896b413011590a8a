"""Routes about rejudgements and suspects."""

from __future__ import annotations

from typing import Final

from tests.integration.api.route_walk.row import Row

ROWS: Final[tuple[Row, ...]] = (
    ("GET", "/v1/leagues/{league}/audits", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "GET",
        "/v1/rejudgements/{rejudgement}",
        None,
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    (
        "POST",
        "/v1/seasons/{season}/rejudgements/preview",
        {"predicate": {"node": "node"}},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/seasons/{season}/suspects", None, "401 403 403 200 200", "401 404 403 200 200"),
)
