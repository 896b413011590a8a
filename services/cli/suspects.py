"""Commands of hosts about copies and thrown games: suspects, share-place, separate."""

from __future__ import annotations

from typing import Annotated

import typer

from estimates.intervals import half_width
from services.api_client import Json
from services.cli.display import AsJson, print_json, stdout, table
from services.cli.moderation import League, Reason
from services.cli.name_lookup import find_season_id
from services.cli.saved_login import connect


def suspects(
    league: Annotated[str | None, typer.Argument(help="League slug, or season id.")] = None,
    as_json: AsJson = False,
) -> None:
    """List entries whose results look like copies or like games lost on purpose; hosts only.

    The list follows from results alone and proves nothing. No score, rank or medal changes without
    an act of a host.
    """
    with connect() as ladder:
        found = ladder.suspects(find_season_id(ladder, league))
    if as_json:
        print_json(found)
        return
    if found["version"] is None:
        stdout.print("There is no official standing with scores yet.")
        return
    print_groups(found)
    print_throwers(found)
    for place in found["shared_places"]:
        teams = len(place["teams"])
        stdout.print(f"{place['id']}: {teams} teams share one place: {place['reason']}")


def share_place(
    teams: Annotated[list[str], typer.Argument(help="Ids of two or more teams (tea_...).")],
    reason: Reason,
    league: League = None,
    as_json: AsJson = False,
) -> None:
    """Let teams of equal entries share one score, rank and medal in a season.

    They count as one team. All sealed medals of the season are decided again. `peck separate`
    undoes it.
    """
    with connect() as ladder:
        made = ladder.share_place(find_season_id(ladder, league), teams, reason)
    print_place(made, "share one place", as_json)


def separate(
    place: Annotated[str, typer.Argument(help="Id (aud_...) of the shared place.")],
    reason: Reason,
    league: League = None,
    as_json: AsJson = False,
) -> None:
    """Give teams that share a place their own places again."""
    with connect() as ladder:
        ended = ladder.separate(find_season_id(ladder, league), place, reason)
    print_place(ended, "have their own places again", as_json)


def print_groups(found: Json) -> None:
    if not found["groups"]:
        stdout.print("No group of entries is suspiciously equal.")
    for group in found["groups"]:
        stdout.print(
            f"{len(group['members'])} entries near {group['score']:.0f} points;"
            f" by the spread of the other scores {group['expected']:.0f} would be usual"
        )
        table(
            ["team", "agent", "score", "95 % interval", "games", "team id"],
            [
                (
                    row["team_name"],
                    row["agent_name"],
                    f"{row['score']:.0f}",
                    _score_interval(row),
                    row["games"],
                    row["team_id"],
                )
                for row in group["members"]
            ],
        )


def _score_interval(row: Json) -> str:
    margin = half_width(row["sigma"])
    return f"{row['score'] - margin:.0f} to {row['score'] + margin:.0f}"


def print_throwers(found: Json) -> None:
    if not found["favourites"]:
        stdout.print("No entry loses to another, or ties with it, far more often than expected.")
    for favourite in found["favourites"]:
        entry = favourite["entry"]
        stdout.print(
            f"Entries lose to {entry['agent_name']} of {entry['team_name']}, or tie with it,"
            " against expectation"
            f" (by chance in at most {favourite['chance']:.1g} of such seasons)"
        )
        table(
            [
                *("team", "agent", "met", "lost", "expected", "last", "expected last"),
                *("tied", "expected tied", "chance"),
            ],
            [
                (
                    row["entry"]["team_name"],
                    row["entry"]["agent_name"],
                    row["meetings"],
                    row["lost"],
                    f"{row['expected']:.1f}",
                    row["last"] or "",
                    f"{row['expected_last']:.1f}" if row["expected_last"] else "",
                    row["tied"] or "",
                    f"{row['expected_tied']:.1f}" if row["tied"] else "",
                    f"{row['chance']:.1g}",
                )
                for row in favourite["throwers"]
            ],
        )


def print_place(found: Json, what: str, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    stdout.print(f"{found['id']}: {len(found['teams'])} teams {what}")
    stdout.print("The official standing changes within seconds.")


def register(app: typer.Typer) -> None:
    for verb in (suspects, share_place, separate):
        app.command()(verb)
