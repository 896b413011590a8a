"""Compares two versions on the service, and waits for the verdict."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from estimates.comparison import Picture, Rule
from services.api_client import Client, Json, Unreachable
from services.cli.comparison_display import RunningPicture
from services.cli.display import stderr, timestamp_text
from services.cli.name_lookup import agent_id, find_season_id, own_agents
from services.cli.saved_login import connect

POLL_SECONDS: Final = 1.0
MOST_SILENT_POLLS: Final = 60


@dataclass(frozen=True, slots=True)
class ServerComparison:
    """What to compare on the service."""

    league: str
    old: str
    """A submission's id or number, or an agent for its newest active entry."""
    new: str
    opponents: tuple[str, ...]
    rule: Rule


def compare(wanted: ServerComparison, as_json: bool) -> Json:
    """Starts the comparison, waits for the verdict and returns the report."""
    with connect() as ladder:
        season = find_season_id(ladder, wanted.league)
        mine = own_agents(ladder)
        old, new, *opponents = (
            _submission_key(ladder, season, mine, name)
            for name in (wanted.old, wanted.new, *wanted.opponents)
        )
        body: Json = {
            "old": old,
            "new": new,
            "opponents": opponents,
            "margin": wanted.rule.margin,
            "pairs": wanted.rule.most_pairs,
            "variants": wanted.rule.variants,
        }
        stderr.print(ladder.post(f"/v1/leagues/{wanted.league}/comparisons/plan", body)["sentence"])
        made = ladder.post(f"/v1/leagues/{wanted.league}/comparisons", body)
        stderr.print(f"comparison {made['id']}")
        return _wait(ladder, made["id"], RunningPicture(wanted.rule, quiet=as_json))


def _submission_key(ladder: Client, season: str, mine: list[Json], name: str) -> str:
    if name.isdigit():
        return str(ladder.get(f"/v1/submissions/{name}")["id"])
    return agent_id(ladder, name, {"season": season}, mine)


def _wait(ladder: Client, key: str, picture: RunningPicture) -> Json:
    """Waits for the end of the comparison, with the running picture on stderr."""
    seen, silent, waits_until = 0, 0, None
    try:
        while True:
            try:
                found, silent = ladder.get(f"/v1/comparisons/{key}"), 0
            except Unreachable:  # the comparison goes on while the site restarts
                silent += 1
                if silent > MOST_SILENT_POLLS:
                    raise
                time.sleep(POLL_SECONDS)
                continue
            if found["pairs"] > seen:
                seen = found["pairs"]
                figures = (found["difference"], found["low"], found["high"])
                picture.show(Picture(seen, *figures, None))
            if found["today"] is not None and found["waits_until"] not in (None, waits_until):
                waits_until = found["waits_until"]
                picture.clear()
                stderr.print(
                    f"No further pair begins before {timestamp_text(waits_until)} UTC."
                    f" {found['today']['sentence']} Ctrl-C ends this command, not the comparison."
                )
            if found["state"] != "running":
                for one in found["first_differences"]:
                    for side in ("old", "new"):
                        page = f"{ladder.address}/matches/{one[f'{side}_match_id']}"
                        one[f"{side}_replay"] = f"{page}#step={one['step']}"
                return found
            time.sleep(POLL_SECONDS)
    finally:
        picture.clear()
