"""The command to try ideas in private: scrim."""

from __future__ import annotations

import hashlib
import time
from typing import Annotated

import typer

from services.api_client import Client, Json
from services.cli.display import AsJson, ProgressLine, print_json, stdout, table
from services.cli.name_lookup import agent_id, find_season_id, matches_of, own_agents
from services.cli.saved_login import connect

POLL_SECONDS = 1.0


def scrim(
    agent: Annotated[str, typer.Argument(help="Your agent (name, slug, id) or submission id.")],
    opponents: Annotated[
        list[str],
        typer.Argument(
            help="Your agents, or agents that accept automatically. They take seats in turn."
        ),
    ],
    games: Annotated[int, typer.Option(min=1, max=100)] = 10,
    seed: Annotated[
        str | None,
        typer.Option(help="Any text; the same text gives the same games. Default: random."),
    ] = None,
    league: Annotated[
        str | None,
        typer.Option(
            "--league", "--season", help="League or season with the game and clock to use."
        ),
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait for the result.")] = True,
    as_json: AsJson = False,
) -> None:
    """Play unrated matches in private and show the win rates."""
    with connect() as ladder:
        season = ladder.get(f"/v1/seasons/{find_season_id(ladder, league)}")
        mine = own_agents(ladder)
        keys = [
            agent_id(ladder, name, {"season": season["id"]}, mine) for name in (agent, *opponents)
        ]
        rest = [keys[1 + place % (len(keys) - 1)] for place in range(season["seats"] - 1)]
        lineup = [keys[0], *rest] if len(keys) <= season["seats"] else keys
        scrim = ladder.post(
            "/v1/scrims",
            {
                "season": season["id"],
                "lineup": lineup,
                "games": games,
                "seeds": seeds_from_text(seed, games) if seed else None,
            },
        )
        report = wait_for_scrim(ladder, scrim["id"], wait)
        played = matches_of(ladder, games, scrim=report["id"])
    if as_json:
        print_json(report)
        return
    stdout.print(f"{report['id']}: {report['finished_games']} of {report['games']} games")
    table(
        ["agent", "submission", "games", "faults", "wins", "win rate", "95 %", "mean place"],
        [
            (
                score["agent_name"],
                score["submission_id"],
                score["games"],
                score["faults"],
                score["wins"],
                percent_text(score["win_rate"]),
                interval_text(score["low"], score["high"]) if score["games"] else None,
                score["mean_placement"],
            )
            for score in sorted(
                report["summary"], key=lambda score: report["lineup"].index(score["submission_id"])
            )
        ],
    )
    for line in fault_lines(report["summary"], played):
        stdout.print(line)


def fault_lines(summary: list[Json], played: list[Json]) -> list[str]:
    """One sentence for each agent with faults, with the newest of them."""
    lines = []
    for score in summary:
        faults = (
            (match, seat)
            for match in played
            for seat in match["seats"]
            if seat["submission_id"] == score["submission_id"]
            and seat["verdict"] not in (None, "DONE")
        )
        match, seat = next(faults, (None, None))
        if match is None or seat is None:
            continue
        why = f": {seat['reason']}; see peck logs {match['id']} {seat['seat'] + 1}"
        lines.append(
            f"{score['agent_name']} had faults in {score['faults']} of {score['games']} games;"
            f" the newest is {seat['verdict']}{why if seat['reason'] else ''}"
        )
    return lines


def seeds_from_text(text: str, games: int) -> list[str]:
    """One seed for each game, computed from a text. The same text gives the same seeds."""
    return [hashlib.sha256(f"{text}:{game}".encode()).hexdigest()[:32] for game in range(games)]


def wait_for_scrim(ladder: Client, scrim_id: str, wait: bool) -> Json:
    """Waits for the end of the scrim, with progress on stderr. Returns the scrim."""
    if not wait:
        return ladder.get(f"/v1/scrims/{scrim_id}")
    with ProgressLine("waiting for the first game") as line:
        while True:
            report = ladder.get(f"/v1/scrims/{scrim_id}")
            if report["state"] != "running":
                return report
            done = report["finished_games"] + report["void_games"]
            line.show(f"{done} of {report['games']} games played")
            time.sleep(POLL_SECONDS)


def percent_text(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def interval_text(low: float, high: float) -> str:
    return f"{percent_text(low)} to {percent_text(high)}"


def register(app: typer.Typer) -> None:
    app.command()(scrim)
