"""Prints tournaments."""

from __future__ import annotations

from decimal import Decimal
from itertools import groupby
from typing import Final

from ladder.tournaments.mean_names import MEANS
from services.api_client import Json
from services.cli.display import print_json, stdout, table, timestamp_text

BEFORE_LOCK: Final = ("draft", "registration", "check_in")
MOST_NAMES: Final = 5


def show(tournament: Json, as_json: bool) -> None:
    """Prints a tournament."""
    if as_json:
        print_json(tournament)
        return
    stdout.print(f"{tournament['id']}: {tournament['title']}, {tournament['state']}")
    stdout.print(" ".join(tournament["plan_text"]))
    stdout.print(f"entrants: {tournament['entered']}{_date_text(tournament)}")
    if tournament["champion_name"]:
        stdout.print(f"champion: {_champion_text(tournament)}")
    if tournament.get("no_champion"):  # an older site does not send it
        stdout.print(f"no champion: {tournament['no_champion']}")
    if tournament.get("drawn_behind"):  # an older site does not send it
        stdout.print(
            f"other agents with the best reward: {_some_names(tournament['drawn_behind'])}"
        )
    if tournament["problem"]:
        stdout.print(f"this round cannot go on: {tournament['problem']}")
    if tournament["end_reason"]:
        stdout.print(f"cancelled: {tournament['end_reason']}")
    stdout.print(f"SHA-256 of the random seed of all draws: {tournament['draw_digest']}")


def _champion_text(tournament: Json) -> str:
    """The champion, and how many had the same reward."""
    name, others = str(tournament["champion_name"]), tournament.get("drawn_behind")
    return f"{name} (by the draw among {len(others) + 1} with the same reward)" if others else name


def _some_names(agents: list[Json]) -> str:
    """The first five names, and how many more there are."""
    more = f" and {len(agents) - MOST_NAMES} more" if len(agents) > MOST_NAMES else ""
    return ", ".join(agent["agent_name"] for agent in agents[:MOST_NAMES]) + more


def show_tables(rows: list[Json]) -> None:
    """Prints the table of a stage, one for each group."""
    for group, group_rows in groupby(rows, key=lambda row: row["group"]):
        if group:
            stdout.print(f"group {group}")
        lines = list(group_rows)
        means = [name for name in MEANS if name in lines[0]["tie_breaks"]]
        table(
            ["#", "agent", "score", "played", *means, "why this place"],
            [
                (
                    *(row["rank"], row["agent_name"], row["score"], row["played"]),
                    *(Decimal(row["tie_breaks"][name]) for name in means),
                    row["explanation"],
                )
                for row in lines
            ],
        )


def show_final_places(entrants: list[Json]) -> None:
    """Prints who has which place over all stages."""
    placed = sorted((row["place"], row["agent_name"]) for row in entrants if row["place"])
    if placed:
        stdout.print("final places over all stages")
        table(["#", "agent"], placed)


def _date_text(tournament: Json) -> str:
    """The next date of a tournament that has not started."""
    if tournament["state"] in BEFORE_LOCK:
        return f"; locks at {timestamp_text(tournament['locks_at'])} UTC"
    if tournament["state"] == "locked":
        return f"; starts at {timestamp_text(tournament['starts_at'])} UTC"
    return ""
