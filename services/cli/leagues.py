"""Commands that list, show, create, fill and rehearse leagues."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from ladder.sizes import size_text
from services.api_client import Client, Json
from services.cli.display import AsJson, print_json, stderr, stdout, table
from services.cli.leaderboards import MEDALS_HELP, medal_rules_text, parse_medal_rules
from services.cli.saved_login import connect
from services.cli.season_options import (
    Closes,
    Configuration,
    Ends,
    FillsSeason,
    Opens,
    given,
    parse_settings,
)

POLL_SECONDS = 0.5
leagues = typer.Typer(help="List, show, create and run leagues.", no_args_is_help=True)


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
    print_league(found, season)


def print_league(league: Json, season: Json | None) -> None:
    print_league_settings(league)
    if season is None:
        stdout.print("no season yet")
        return
    clock = season["clock"]
    stdout.print(
        f"season {season['number']} {season['state']}: {season['id']}, {season['seats']} seats, "
        f"{season['daily_limit']} uploads a day, {clock['act_seconds']} s a move and "
        f"{clock['bank_seconds']} s in the bank"
    )
    stdout.print(playing_limits_text(season))
    stdout.print(
        f"medals {medal_rules_text(season['medals'])}, "
        f"sealed from {season['medal_confidence']:.0%} on"
        + ("; the season ends once all medals are sealed" if season["stops_when_sealed"] else "")
    )
    if season["speed_class"] != "any":
        stdout.print(f"plays only on machines of speed class {season['speed_class']}")
    if season["remote_agents"]:
        from ladder.leagues import terms  # slow to import

        stdout.print(terms.REMOTE)


def print_league_settings(league: Json) -> None:
    """Prints what a host can change later: title, visibility, replays and state."""
    stdout.print(f"{league['title']} ({league['slug']}), {league['game']}")
    stdout.print(
        f"{league['visibility']}, replays {league['replay_visibility']}, {league['state']}"
    )


def playing_limits_text(season: Json) -> str:
    """The limits that decide which uploads play."""
    limits = [
        f"the newest {count} of {whose} play" if count > 1 else f"only the newest of {whose} plays"
        for count, whose in (
            (season["team_active_limit"], "a team"),
            (season["active_limit"], "an agent"),
        )
        if count is not None
    ]
    largest = f"uploads of at most {size_text(season['max_bundle_bytes'])}"
    return "; ".join([largest, *(limits or ["all of them play"])])


@leagues.command("create")
def create_league(
    slug: Annotated[str, typer.Argument(help="Short name for addresses: a-z, 0-9 and -.")],
    title: Annotated[str | None, typer.Option(help="Title; default: the slug.")] = None,
    game: Annotated[
        str, typer.Option(help="Name of a game; GET /v1/games lists them.")
    ] = "hungry_geese",
    visibility: Annotated[str, typer.Option(help="public, invitation or private.")] = "public",
    private: Annotated[
        bool, typer.Option("--private", help="Short for --visibility private.")
    ] = False,
    replays: Annotated[
        str, typer.Option(help="Who sees replays: public, members, own or after_close.")
    ] = "public",
    description: Annotated[str, typer.Option(help="Description of the league.")] = "",
    seats: Annotated[
        int | None,
        typer.Option(min=1, max=16, help="Seats in a match; default: 4, or the game's number."),
    ] = None,
    daily_limit: Annotated[int, typer.Option(min=0, help="Uploads per team and day.")] = 5,
    scrim_games_daily: Annotated[
        int, typer.Option(min=0, max=10_000, help="Scrim games per team and day.")
    ] = 500,
    active: Annotated[
        int | None, typer.Option(min=1, help="Newest uploads of an agent that play; default: all.")
    ] = None,
    team_active: Annotated[
        int, typer.Option(min=0, max=100, help="Newest uploads of a team that play; 0: all.")
    ] = 3,
    max_bundle_mb: Annotated[
        int, typer.Option(min=1, max=512, help="Largest upload, in MB.")
    ] = 100,
    configuration: Configuration = None,
    act_seconds: Annotated[
        float | None, typer.Option(help="Free seconds for each move; default: the game's.")
    ] = None,
    bank_seconds: Annotated[
        float | None, typer.Option(help="Extra seconds for a whole episode; default: the game's.")
    ] = None,
    opens: Opens = None,
    closes: Closes = None,
    ends: Ends = None,
    medals: Annotated[str, typer.Option(help=MEDALS_HELP)] = "table",
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.99, help="Probability needed to seal a medal.")
    ] = 0.95,
    stop_when_sealed: Annotated[
        bool, typer.Option("--stop-when-sealed", help="End the season once all medals are sealed.")
    ] = False,
    remote_agents: Annotated[
        bool,
        typer.Option(
            "--remote-agents", help="Allow agents at addresses of their owners (Battlesnake)."
        ),
    ] = False,
    speed_class: Annotated[
        str,
        typer.Option(help="Play only on machines of this speed class: see `peck machine list`."),
    ] = "any",
    anchor: Annotated[
        list[str] | None,
        typer.Option(help="Reference agent by name, or one of your submissions by id; repeatable."),
    ] = None,
    fill: FillsSeason = True,
    as_json: AsJson = False,
) -> None:
    """Create a league with its first season. You become its host."""
    season: Json = {
        "seats": seats,
        "daily_limit": daily_limit,
        "scrim_games_daily": scrim_games_daily,
        "active_limit": active,
        "team_active_limit": team_active or None,
        "max_bundle_bytes": max_bundle_mb << 20,
        "configuration": parse_settings(configuration),
        "clock": given({"act_seconds": act_seconds, "bank_seconds": bank_seconds}),
        "medals": parse_medal_rules(medals),
        "medal_confidence": confidence,
        "stops_when_sealed": stop_when_sealed,
        "remote_agents": remote_agents,
        "speed_class": speed_class,
        **given({"opens_at": opens, "closes_at": closes, "ends_at": ends}),
    }
    with connect() as ladder:
        made = ladder.create_league(
            slug,
            title or slug,
            game,
            visibility="private" if private else visibility,
            replay_visibility=replays,
            description=description,
            season=season,
            anchors=anchor or [],
            fill=fill,
        )
    first, entered, lacking = made.pop("season"), made.pop("anchors"), made.pop("lacking")
    if as_json:
        print_json({"league": made, "season": first, "anchors": entered, "lacking": lacking})
        return
    print_league(made, first)
    print_anchors(slug, entered, lacking)


@leagues.command("fill")
def fill_league(
    league: Annotated[str, typer.Argument(help="League slug, or season id.")],
    anchor: Annotated[
        list[str] | None,
        typer.Option(help="Add only this reference agent or submission of yours; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add reference agents to a season until one agent can play."""
    with connect() as ladder:
        made = ladder.add_anchors(league, anchor or [], fill=not anchor)
    if as_json:
        print_json(made)
    else:
        print_anchors(league, made["anchors"], made["lacking"])


@leagues.command("rehearse")
def rehearse_league(
    league: Annotated[str, typer.Argument(help="Slug or id.")],
    wait: Annotated[bool, typer.Option(help="Wait for the result.")] = True,
    as_json: AsJson = False,
) -> None:
    """Play one match of reference agents, to see that your league works, also before it opens."""
    with connect() as ladder:
        made = ladder.rehearse(league)
        match = ladder.match(made["match_id"])
        if wait:
            match = wait_for_match(ladder, match)
    if as_json:
        print_json(match)
    else:
        print_rehearsal(match)
    if wait and (match["state"] == "void" or any(s["verdict"] != "DONE" for s in match["seats"])):
        raise typer.Exit(1)


def wait_for_match(ladder: Client, match: Json) -> Json:
    """Waits for the end of the match, with its state on stderr. Returns the match."""
    with stderr.status("waiting for a worker") as status:
        while match["state"] not in ("finished", "void"):
            status.update("playing" if match["state"] == "running" else "waiting for a worker")
            time.sleep(POLL_SECONDS)
            match = ladder.match(match["id"])
    return match


def print_rehearsal(match: Json) -> None:
    """Prints the result by place, or why there is none yet."""
    stdout.print(f"{match['id']}: {match['state']}")
    if match["void_reason"]:
        stdout.print(f"nobody could play it: {match['void_reason']}")
    table(
        ["place", "agent", "seat", "verdict"],
        [
            (seat["placement"], seat["agent_name"], seat["seat"] + 1, seat["verdict"])
            for seat in sorted(match["seats"], key=lambda s: (s["placement"] or 99, s["seat"]))
        ],
    )


def print_anchors(league: str, entered: list[Json], lacking: str | None) -> None:
    """Prints the new anchors. If the season cannot play yet, prints why and what to do."""
    if entered:
        stdout.print(f"anchors: {', '.join(row['agent_name'] for row in entered)}")
    if lacking:
        stdout.print(f"cannot play yet: {lacking}")
        stdout.print(f"peck submit main.py --agent NAME --league {league}")


def register(app: typer.Typer) -> None:
    app.add_typer(leagues, name="league")
