"""Routes about machines and the state of the site."""

from __future__ import annotations

from typing import Final

from tests.integration.api.route_walk.row import Row
from workers.match_attempt import NO_BLOB

ROWS: Final[tuple[Row, ...]] = (
    (  # this site has no addresses for machines
        "POST",
        "/v1/machines/invitations",
        None,
        "401 403 403 403 409",
        "",
    ),
    ("GET", "/v1/machines/invitations", None, "401 403 403 403 200", ""),
    (
        "DELETE",
        "/v1/machines/invitations/{machine_invitation}",
        None,
        "401 403 403 403 204",
        "",
    ),
    (
        "POST",
        "/v1/machines/join",
        {"code": "x", "name": "pond"},
        "409 409 409 409 409",
        "",
    ),
    ("GET", "/v1/machines", None, "401 403 403 403 200", ""),
    ("GET", "/v1/machines/{machine}", None, "401 403 403 403 200", ""),
    ("PUT", "/v1/machines/{machine}/drain", None, "401 403 403 403 200", ""),
    ("PUT", "/v1/machines/{machine}/trust", {"tier": "checked"}, "401 403 403 403 200", ""),
    ("DELETE", "/v1/machines/{machine}/drain", None, "401 403 403 403 200", ""),
    ("DELETE", "/v1/machines/{machine}", None, "401 403 403 403 200", ""),
    # Machines alone use these two; test_machines.py does.
    ("GET", f"/v1/machine/blobs/{NO_BLOB}", None, "401 401 401 401 401", ""),
    ("PUT", f"/v1/machine/blobs/{NO_BLOB}", {"bytes": "{n}"}, "401 401 401 401 401", ""),
    ("GET", "/health/live", None, "200 200 200 200 200", ""),
    ("GET", "/health/ready", None, "200 200 200 200 200", ""),
    ("GET", "/metrics", None, "200 200 200 200 200", ""),
)
