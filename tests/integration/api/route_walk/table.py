"""The whole table of routes, in the order of the walk."""

from __future__ import annotations

from tests.integration.api.route_walk import (
    agents,
    closing,
    leagues,
    matches,
    moderation,
    operation,
    people,
    scrims,
    seasons,
    teams,
    tournaments,
)
from tests.integration.api.route_walk.row import Row

WALK: tuple[Row, ...] = (
    *people.ROWS,
    *operation.ROWS,
    *teams.ROWS,
    *leagues.ROWS,
    *seasons.ROWS,
    *agents.ROWS,
    *matches.ROWS,
    *scrims.ROWS,
    *tournaments.ROWS,
    *moderation.ROWS,
    *closing.ROWS,
)
