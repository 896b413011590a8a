"""The fields of a season in forms: their first values, and the values of the API's request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from games.protocol import Game, clock_fields
from ladder.database.db import Connection
from ladder.entries import reference_agents
from ladder.leagues.request_models import Clock, NewSeason
from ladder.leagues.season_creation import supports_remote
from ladder.matches.workers import live_workers
from ladder.sizes import size_text
from services.web import form_dates
from services.web.forms import Form

DATES: Final = ("season.opens_at", "season.closes_at", "season.ends_at")
CLASSES: Final = ("season.medals.gold", "season.medals.silver", "season.medals.bronze")
CONFIGURATION: Final = "season.configuration."
NUMBERS: Final = (
    "daily_limit",
    "scrim_games_daily",
    "active_limit",
    "team_active_limit",
    "max_bundle_bytes",
    "medal_confidence",
)
LIMITS: Final = ("season.active_limit", "season.team_active_limit")
"""Numbers whose empty field means no limit."""
TICKS: Final = ("stops_when_sealed", "remote_agents")
SIZES_MB: Final = (10, 50, 100, 200, 512)


def default_settings(game: Game[Any]) -> dict[str, Any]:
    """The settings of a season that the API and the game choose."""
    return {
        **NewSeason().model_dump(),
        "seats": min(4, game.seats.stop - 1),
        "clock": Clock.model_validate(dict(game.clock)).model_dump(),
        "configuration": game.configure({}),
    }


def values_of_settings(game: Game[Any], settings: Mapping[str, Any]) -> dict[str, str]:
    """First values of the fields, by the settings of a season. Dates are empty."""
    set_by_clock = clock_fields(game)
    configuration = {
        name: value for name, value in settings["configuration"].items() if name not in set_by_clock
    }
    medals = settings["medals"]
    return {
        "zone": form_dates.UTC_NAME,
        **dict.fromkeys(DATES, ""),
        "season.seats": str(settings["seats"]),
        **{f"season.{name}": field_text(settings[name]) for name in NUMBERS},
        **{f"season.clock.{name}": field_text(each) for name, each in settings["clock"].items()},
        "season.medals.kind": medals["kind"],
        **{name: field_text(medals.get(name.rpartition(".")[2])) for name in CLASSES},
        **{f"season.{name}": "true" if settings[name] else "" for name in TICKS},
        "season.speed_class": settings["speed_class"],
        "fill": "true",
        **{f"{CONFIGURATION}{name}": field_text(each) for name, each in configuration.items()},
    }


def choices_of_game(conn: Connection, game: Game[Any], form: Form) -> dict[str, Any]:
    """What the template shows beside the values: choices of the game, and of the machines that
    play now."""
    classes = {worker.speed_class for worker in live_workers(conn)} - {"any"}
    classes |= {form.values["season.speed_class"]} - {"any", ""}
    sizes = {megabytes << 20 for megabytes in SIZES_MB}
    chosen = form.values["season.max_bundle_bytes"]
    sizes |= {int(chosen)} if chosen.isdecimal() else set()
    return {
        "zones": form_dates.time_zones(),
        "configuration": [name for name in form.values if name.startswith(CONFIGURATION)],
        "anchors": reference_agents.agent_names(game.name),
        "supports_remote": supports_remote(game),
        "speed_classes": [(one, f"Speed class {one} only") for one in sorted(classes)],
        "sizes": [(str(size), size_text(size)) for size in sorted(sizes)],
    }


def request_values(form: Form) -> dict[str, Any]:
    """The values of the form by their place in the request, without empty ones. Raises
    ProblemError."""
    values: dict[str, Any] = {name: value for name, value in form.values.items() if value}
    zone = form_dates.parse_zone(values.pop("zone", form_dates.UTC_NAME))
    for name in list(values):
        if name in DATES:
            values[name] = form_dates.parse_moment(values[name], zone)
        elif name.startswith(CONFIGURATION):
            values[name] = parse_value(values[name])
        elif name in CLASSES and values.get("season.medals.kind") == "table":
            del values[name]
    return {"season.seats": "", **dict.fromkeys(LIMITS), **values}


def field_text(value: object) -> str:
    """A value as text of a field: empty for None, whole numbers without a decimal point."""
    if value is None:
        return ""
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def parse_value(text: str) -> object:
    """A number or a word of a game's configuration."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
