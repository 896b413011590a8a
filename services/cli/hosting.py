"""Verbs of hosts and owners: league and agent."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.boards import MEDALS_HELP, medal_rules, told_medals
from services.cli.choosing import own_agent
from services.cli.display import AsJson, out, print_json, table
from services.cli.places import connect
from services.client import Json

leagues = typer.Typer(help="List, show and create leagues.", no_args_is_help=True)
agents = typer.Typer(help="List own agents and open them for scrims.", no_args_is_help=True)


@leagues.command("list")
def list_leagues(as_json: AsJson = False) -> None:
    """List the leagues you may see."""
    with connect(needs_token=False) as ladder:
        rows = list(ladder.leagues())
    if as_json:
        print_json(rows)
        return
    table(
        ["slug", "title", "game", "visibility", "state", "your role"],
        [
            (row["slug"], row["title"], row["game"], row["visibility"], row["state"], row["role"])
            for row in rows
        ],
    )


@leagues.command("show")
def show_league(
    league: Annotated[str, typer.Argument(help="Slug or id.")], as_json: AsJson = False
) -> None:
    """Show a league and its current season."""
    with connect(needs_token=False) as ladder:
        found = ladder.league(league)
        season = ladder.season(found["current_season"]) if found["current_season"] else None
    if as_json:
        print_json({"league": found, "season": season})
        return
    show(found, season)


def show(league: Json, season: Json | None) -> None:
    out.print(f"{league['title']} ({league['slug']}), {league['game']}")
    out.print(f"{league['visibility']}, replays {league['replay_visibility']}, {league['state']}")
    if season is None:
        out.print("no season yet")
        return
    clock = season["clock"]
    out.print(
        f"season {season['number']} {season['state']}: {season['id']}, {season['seats']} seats, "
        f"{season['daily_limit']} uploads a day, {clock['act_seconds']} s a move and "
        f"{clock['bank_seconds']} s in the bank"
    )
    out.print(
        f"medals {told_medals(season['medals'])}, sealed from {season['medal_confidence']:.0%} on"
        + (", and the season stops when all are" if season["stops_when_sealed"] else "")
    )


@leagues.command("create")
def create_league(
    slug: Annotated[str, typer.Argument(help="Name in addresses: a-z, 0-9 and -.")],
    title: Annotated[str | None, typer.Option(help="Title; the slug if none.")] = None,
    game: Annotated[str, typer.Option(help="One of the games of GET /v1/games.")] = "hungry_geese",
    private: Annotated[bool, typer.Option("--private", help="Members only.")] = False,
    seats: Annotated[int, typer.Option(min=1, max=16)] = 4,
    daily_limit: Annotated[int, typer.Option(min=0, help="Uploads per team and day.")] = 5,
    medals: Annotated[str, typer.Option(help=MEDALS_HELP)] = "table",
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.99, help="From which on a medal is sealed.")
    ] = 0.95,
    stop_when_sealed: Annotated[
        bool, typer.Option("--stop-when-sealed", help="End the finals once all medals are.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create a league and open its first season. You become its host."""
    visibility = "private" if private else "public"
    terms: Json = {
        "medals": medal_rules(medals),
        "medal_confidence": confidence,
        "stops_when_sealed": stop_when_sealed,
    }
    with connect() as ladder:
        made = ladder.create_league(slug, title or slug, game, visibility=visibility)
        season = ladder.create_season(made["id"], seats=seats, daily_limit=daily_limit, **terms)
        made["current_season"] = season["id"]
    if as_json:
        print_json({"league": made, "season": season})
    else:
        show(made, season)


@agents.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List the agents of your teams."""
    with connect() as ladder:
        rows = [row for team in ladder.me()["teams"] for row in ladder.agents(team["id"])]
    if as_json:
        print_json(rows)
        return
    table(
        ["slug", "name", "team", "scrims", "id"],
        [
            (
                row["slug"],
                row["name"],
                row["team_name"],
                "open" if row["open_for_scrims"] else "own team only",
                row["id"],
            )
            for row in rows
        ],
    )


@agents.command("open")
def open_agent(
    agent: Annotated[str, typer.Argument(help="Name, slug or id.")],
    close: Annotated[bool, typer.Option("--close", help="Close it again.")] = False,
    daily: Annotated[int | None, typer.Option(min=0, help="Games per requester and day.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let other teams scrim against an agent."""
    change: Json = {"open_for_scrims": not close}
    if daily is not None:
        change["scrims_per_requester_daily"] = daily
    with connect() as ladder:
        changed = ladder.change_agent(own_agent(ladder, agent)["id"], **change)
    if as_json:
        print_json(changed)
    else:
        out.print(f"{changed['name']} is {'closed' if close else 'open'} for scrims")


def register(app: typer.Typer) -> None:
    app.add_typer(leagues, name="league")
    app.add_typer(agents, name="agent")
