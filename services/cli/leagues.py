"""Commands of leagues and their seasons: list, show, create, set, fill, rehearse, end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ladder.sizes import size_text
from services.api_client import Client, Json
from services.cli.api import Yes, confirm, print_field
from services.cli.display import AsJson, ProgressLine, print_json, show_list, stdout, table
from services.cli.operations import Document, Field, Request, read_document, read_values
from services.cli.saved_login import MissingInput, connect

POLL_SECONDS = 0.5
leagues = typer.Typer(help="List, show, create and run leagues.", no_args_is_help=True)
seasons = typer.Typer(help="Create, change and end seasons.", no_args_is_help=True)
League = Annotated[str, typer.Argument(help="Slug or id of the league.")]
Season = Annotated[str, typer.Argument(help="League slug, or season id.")]
Settings = Annotated[
    list[str] | None,
    typer.Argument(help="NAME=VALUE; `peck season settings` lists the settings of a season."),
]


@leagues.command("list")
def list_leagues(as_json: AsJson = False) -> None:
    """List the leagues you may see."""
    with connect(needs_token=False) as ladder:
        rows = list(ladder.list_items("/v1/leagues", limit=200))
    columns = ("slug", "title", "game", "visibility", "state")
    show_list(rows, {**{name: name for name in columns}, "your role": "role"}, as_json)


@leagues.command("show")
def show_league(league: League, as_json: AsJson = False) -> None:
    """Show a league and its current season."""
    with connect(needs_token=False) as ladder:
        found = ladder.get(f"/v1/leagues/{league}")
        key = found["current_season"]
        season = ladder.get(f"/v1/seasons/{key}") if key else None
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
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Create a league with its first season. You become its host.

    `peck api create-league --help` lists the settings of a league, such as title, game, visibility
    and anchors. Without game= the league plays Hungry Geese.
    """
    with connect() as ladder:
        body = read_settings(ladder, "create-league", settings, {"slug": slug})
        defaults: Json = {"title": slug, "game": "hungry_geese", "season": {}}
        created = ladder.post("/v1/leagues", defaults | body)
    season, entered, lacking = created.pop("season"), created.pop("anchors"), created.pop("lacking")
    if as_json:
        print_json({"league": created, "season": season, "anchors": entered, "lacking": lacking})
        return
    print_league(created, season)
    print_anchors(slug, entered, lacking)


@leagues.command("set")
def set_league(league: League, settings: Settings, as_json: AsJson = False) -> None:
    """Change a league, such as title=, visibility= or state=; hosts only.

    With state=paused it pairs no rated matches until state=open. Competitors must agree first if
    more people would see the league or its replays.
    """
    with connect() as ladder:
        change = read_settings(ladder, "change-league", settings)
        changed = ladder.patch(f"/v1/leagues/{league}", change)
    if as_json:
        print_json(changed)
        return
    print_league_settings(changed)
    if changed["description"]:
        stdout.print(changed["description"])


@leagues.command("fill")
def fill_league(
    league: Season,
    anchor: Annotated[
        list[str] | None,
        typer.Option(help="Add only this reference agent or submission of yours; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add reference agents to a season until one agent can play."""
    with connect() as ladder:
        created = add_anchors(ladder, league, anchor)
    if as_json:
        print_json(created)
    else:
        print_anchors(league, created["anchors"], created["lacking"])


def add_anchors(ladder: Client, season: str, names: list[str] | None = None) -> Json:
    """Adds the named reference agents; without names, until one agent can play."""
    body = {"anchors": names or [], "fill": not names}
    return ladder.post(f"/v1/seasons/{season}/anchors", body)


@leagues.command("rehearse")
def rehearse_league(
    league: League,
    wait: Annotated[bool, typer.Option(help="Wait for the result.")] = True,
    as_json: AsJson = False,
) -> None:
    """Play one match of reference agents, to see that your league works, also before it opens."""
    with connect() as ladder:
        created = ladder.post(f"/v1/leagues/{league}/rehearsals")
        match = ladder.get(f"/v1/matches/{created['match_id']}")
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
    with ProgressLine() as line:
        while match["state"] not in ("finished", "void"):
            line.show("playing" if match["state"] == "running" else "waiting for a worker")
            time.sleep(POLL_SECONDS)
            match = ladder.get(f"/v1/matches/{match['id']}")
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


@seasons.command("settings")
def list_settings(as_json: AsJson = False) -> None:
    """List the settings of a season: values, defaults, and which ones can change later."""
    with connect(needs_token=False) as ladder:
        document = read_document(ladder)
    fields = body_fields(document, "create-season")
    fields = [item for item in fields if not item.schema.get("properties")]
    later = [item.name for item in body_fields(document, "change-season") if "." not in item.name]
    if as_json:
        print_json(
            [
                {
                    "name": item.name,
                    "values": item.bounds(),
                    "default": item.default() or None,
                    "text": item.schema.get("description"),
                    "changes_later": item.name in later,
                }
                for item in fields
            ]
        )
        return
    width = max(len(item.name) for item in fields)
    for item in fields:
        print_field(item, width)
    stdout.print("medals also take a short form: table, lines:survivor+100,survivor,500 (least")
    stdout.print("scores of gold, silver, bronze), counts:1,2,3 or shares:0.1,0.1,0.2")
    stdout.print("configuration.NAME=VALUE sets one value of the game's configuration")
    stdout.print(f"`peck season set` changes these later: {', '.join(later)}")


@seasons.command("create")
def create_season(
    league: League,
    settings: Settings = None,
    fill: Annotated[bool, typer.Option(help="Add reference agents until one can play.")] = True,
    as_json: AsJson = False,
) -> None:
    """Create a league's next season; hosts only. Teams upload their agents again.

    All settings except the dates are copied from the newest season, unless you give them.
    """
    with connect() as ladder:
        found = ladder.get(f"/v1/leagues/{league}")
        before = next(iter(ladder.get(f"/v1/leagues/{league}/seasons")["items"]), None)
        body = read_settings(ladder, "create-season", settings, kept_settings(ladder, before))
        season = ladder.post(f"/v1/leagues/{found['id']}/seasons", body)
        if not as_json:
            print_league(found, season)
        added: Json = {"anchors": [], "lacking": None}
        if fill:
            added = add_anchors(ladder, season["id"])
    if as_json:
        print_json({"season": season, **added})
        return
    print_anchors(found["slug"], added["anchors"], added["lacking"])
    if before and before["state"] != "finished":
        stdout.print(f"season {before['number']} is not finished: peck season end {before['id']}")


def kept_settings(ladder: Client, before: Json | None) -> Json:
    """The settings that the next season copies from the newest one: all except the dates."""
    fields = body_fields(read_document(ladder), "create-season")
    names = {item.name for item in fields if item.schema.get("format") != "date-time"}
    return {name: value for name, value in (before or {}).items() if name in names}


@seasons.command("set")
def set_season(season: Season, settings: Settings, as_json: AsJson = False) -> None:
    """Change a season: state=locked, or its medal lines until uploads close; hosts only."""
    with connect() as ladder:
        change = read_settings(ladder, "change-season", settings)
        changed = ladder.patch(f"/v1/seasons/{season}", change)
        league = ladder.get(f"/v1/leagues/{changed['league_id']}")
    if as_json:
        print_json(changed)
    else:
        print_league(league, changed)


@seasons.command("end")
def end_season(season: Season, yes: Yes = False, as_json: AsJson = False) -> None:
    """Finish a season for good, such as the current one of a league; hosts only.

    It pairs no more matches and its standing becomes final. Members keep the league.
    """
    with connect() as ladder:
        found = ladder.get(f"/v1/seasons/{season}")
        slug = ladder.get(f"/v1/leagues/{found['league_id']}")["slug"]
        name, was = f"season {found['number']} of {slug}", found["state"]
        if was != "finished":
            confirm(f"End {name}", "A finished season cannot open again.", yes, as_json)
            found = ladder.patch(f"/v1/seasons/{found['id']}", {"state": "finished"})
    if as_json:
        print_json(found)
        return
    stdout.print(f"{name} {'was finished already' if was == 'finished' else 'is finished'}")
    stdout.print(f"final standing: peck leaderboard {found['id']}")
    stdout.print(f"next season: peck season create {slug}")


def read_settings(
    ladder: Client, operation: str, texts: list[str] | None, above: Json | None = None
) -> Json:
    """The body of an operation from NAME=VALUE. Raises MissingInput.

    ``above`` has values that the texts replace.
    """
    fields = body_fields(read_document(ladder), operation)
    request = Request(body=dict(above or {}))
    try:
        if not texts and above is None:
            names = ", ".join(item.name for item in fields if "." not in item.name)
            raise MissingInput(f"give at least one NAME=VALUE; names: {names}")
        read_values(fields, texts or [], request, {"medals": parse_medal_rules})
    except MissingInput as error:
        is_new = operation == "create-season"
        help_of = "peck season settings" if is_new else f"peck api {operation} --help"
        raise MissingInput(str(error), help_of) from None
    return request.body


def body_fields(document: Document, operation: str) -> list[Field]:
    return [item for item in document.operation(operation).fields() if item.place == "body"]


def parse_medal_rules(text: str) -> Json:
    """The API's form of medal rules. Raises MissingInput if the text has another form."""
    kind, _, numbers = text.partition(":")
    if text == "table":
        return {"kind": kind}
    try:
        gold, silver, bronze = (
            number.strip() if kind == "lines" and number.strip()[:1].isalpha() else float(number)
            for number in numbers.split(",")
        )
    except ValueError:
        raise MissingInput(
            f"medals={text}: write table, or lines, counts or shares with three "
            "numbers, for example medals=lines:survivor+100,survivor,500"
        ) from None
    return {"kind": kind, "gold": gold, "silver": silver, "bronze": bronze}


def medal_rules_text(rules: Mapping[str, Any]) -> str:
    """The text form of medal rules, which ``parse_medal_rules`` reads."""
    if rules["kind"] == "table":
        return "table"
    numbers = ",".join(
        f"{number:g}" if isinstance(number := rules[name], float | int) else number
        for name in ("gold", "silver", "bronze")
    )
    return f"{rules['kind']}:{numbers}"


def register(app: typer.Typer) -> None:
    app.add_typer(leagues, name="league")
    app.add_typer(seasons, name="season")
