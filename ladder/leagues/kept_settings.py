"""Settings that the next season copies from the newest one: all except the dates."""

from typing import Final

KEPT_SETTINGS: Final = (
    *("configuration", "clock", "seats", "daily_limit", "scrim_games_daily", "max_bundle_bytes"),
    *("active_limit", "team_active_limit", "medals", "medal_confidence", "stops_when_sealed"),
    *("remote_agents", "speed_class"),
)
"""Fields of `NewSeason`. The command line imports this module, so it must load quickly."""
