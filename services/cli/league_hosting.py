"""Commands that run a league: edit, pause, resume, end a season, open a new season."""

from __future__ import annotations

from typing import Annotated

import typer

from ladder.leagues.kept_settings import KEPT_SETTINGS
from services.api_client import Json
from services.cli.confirmation import Yes, confirm
from services.cli.display import AsJson, print_json, stdout
from services.cli.leaderboards import MEDALS_HELP, medal_rules_text, parse_medal_rules
from services.cli.leagues import leagues, print_anchors, print_league, print_league_settings
from services.cli.saved_login import MissingInput, connect
from services.cli.season_options import (
    Closes,
    Configuration,
    Ends,
    FillsSeason,
    Opens,
    given,
    parse_settings,
)

League = Annotated[str, typer.Argument(help="Slug or id of the league.")]


@leagues.command("edit")
def edit_league(
    league: League,
    title: Annotated[str | None, typer.Option(help="New title.")] = None,
    description: Annotated[str | None, typer.Option(help="New description; '' for none.")] = None,
    visibility: Annotated[str | None, typer.Option(help="public, invitation or private.")] = None,
    replays: Annotated[
        str | None,
        typer.Option(help="Who sees replays: public, members, own or after_close."),
    ] = None,
    medals: Annotated[
        str | None,
        typer.Option(help="Other lines of the season, until uploads close: lines:survivor+100,..."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change title, description, visibility, replays or medal lines of a league; hosts only.

    Competitors must agree first if more people would see the league or its replays.
    """
    asked = {
        "title": title,
        "description": description,
        "visibility": visibility,
        "replay_visibility": replays,
    }
    change = given(asked)
    if not change and medals is None:
        raise MissingInput("give --title, --description, --visibility, --replays or --medals")
    rules = None if medals is None else parse_medal_rules(medals)
    with connect() as ladder:
        changed = ladder.change_league(league, **change)
        season = ladder.change_season(league, medals=rules) if rules else None
    if as_json:
        print_json(changed)
        return
    print_league_settings(changed)
    if season is not None:
        stdout.print(f"season {season['number']}: medals {medal_rules_text(season['medals'])}")
    if changed["description"]:
        stdout.print(changed["description"])


@leagues.command("pause")
def pause_league(league: League, as_json: AsJson = False) -> None:
    """Stop pairing rated matches of a league until you resume it; hosts only.

    Queued matches, validations and scrims go on.
    """
    with connect() as ladder:
        changed = ladder.change_league(league, state="paused")
    if as_json:
        print_json(changed)
        return
    stdout.print(f"{changed['slug']} is paused: it pairs no new rated matches")
    stdout.print(f"peck league resume {changed['slug']}")


@leagues.command("resume")
def resume_league(league: League, as_json: AsJson = False) -> None:
    """Let a paused league pair rated matches again; hosts only."""
    with connect() as ladder:
        changed = ladder.change_league(league, state="open")
        current = changed["current_season"]
        season = ladder.season(current) if current else None
    slug = changed["slug"]
    if as_json:
        print_json(changed)
    elif season is None or season["state"] == "finished":
        done = f"season {season['number']} is finished" if season else "no season has opened"
        stdout.print(f"{slug} is open, but {done}")
        stdout.print(f"peck league new-season {slug}")
    else:
        stdout.print(f"{slug} is open: it pairs rated matches again")
        stdout.print(f"peck watch {slug}")


@leagues.command("end")
def end_season(
    league: Annotated[str, typer.Argument(help="League slug, or season id.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Finish the current season of a league for good; hosts only.

    It pairs no more matches and its standing becomes final. Members keep the league.
    """
    with connect() as ladder:
        season = ladder.season(league)
        slug = ladder.league(season["league_id"])["slug"]
        name, was = f"season {season['number']} of {slug}", season["state"]
        if was != "finished":
            confirm(f"end {name}", "a finished season cannot open again", yes, as_json)
            season = ladder.change_season(season["id"], "finished")
    if as_json:
        print_json(season)
        return
    stdout.print(f"{name} {'was finished already' if was == 'finished' else 'is finished'}")
    stdout.print(f"final standing: peck leaderboard {season['id']}")
    stdout.print(f"next season: peck league new-season {slug}")


@leagues.command("new-season")
def add_next_season(
    league: League,
    opens: Opens = None,
    closes: Closes = None,
    ends: Ends = None,
    seats: Annotated[int | None, typer.Option(min=1, max=16, help="Seats in a match.")] = None,
    configuration: Configuration = None,
    act_seconds: Annotated[float | None, typer.Option(help="Free seconds for each move.")] = None,
    bank_seconds: Annotated[
        float | None, typer.Option(help="Extra seconds for a whole episode.")
    ] = None,
    daily_limit: Annotated[
        int | None, typer.Option(min=0, help="Uploads per team and day.")
    ] = None,
    team_active: Annotated[
        int | None,
        typer.Option(min=0, max=100, help="Newest uploads of a team that play; 0: all."),
    ] = None,
    medals: Annotated[str | None, typer.Option(help=MEDALS_HELP)] = None,
    remote_agents: Annotated[
        bool | None,
        typer.Option(help="Allow agents at addresses of their owners (Battlesnake)."),
    ] = None,
    fill: FillsSeason = True,
    as_json: AsJson = False,
) -> None:
    """Create a league's next season; hosts only. Teams upload their agents again.

    All settings except the dates are copied from the newest season, unless an option changes them.
    """
    changes: Json = {
        "seats": seats,
        "daily_limit": daily_limit,
        "team_active_limit": team_active,
        "medals": None if medals is None else parse_medal_rules(medals),
        "remote_agents": remote_agents,
        "opens_at": opens,
        "closes_at": closes,
        "ends_at": ends,
    }
    clock: Json = {"act_seconds": act_seconds, "bank_seconds": bank_seconds}
    settings = parse_settings(configuration)
    with connect() as ladder:
        found = ladder.league(league)
        before = next(iter(ladder.seasons(league)), None)
        asked: Json = {name: before[name] for name in KEPT_SETTINGS} if before else {}
        asked |= given(changes)
        if team_active == 0:
            asked["team_active_limit"] = None
        asked["clock"] = {**asked.get("clock", {}), **given(clock)}
        asked["configuration"] = {**asked.get("configuration", {}), **settings}
        season = ladder.create_season(found["id"], **asked)
        if not as_json:
            print_league(found, season)
        added: Json = {"anchors": [], "lacking": None}
        if fill:
            added = ladder.add_anchors(season["id"], fill=True)
    if as_json:
        print_json({"season": season, **added})
        return
    print_anchors(found["slug"], added["anchors"], added["lacking"])
    if before and before["state"] != "finished":
        stdout.print(f"season {before['number']} is not finished: peck league end {before['id']}")


def register(_: typer.Typer) -> None:
    """The commands of ``peck league`` register when this module is imported."""
