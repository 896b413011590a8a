"""Commands for scrims with other teams: requests, policies and batches."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from services.api_client import Client, Json
from services.cli.display import AsJson, duration_text, print_json, stdout, table, timestamp_text
from services.cli.name_lookup import find_season_id, opponent_id, own_agent, own_agents
from services.cli.saved_login import MissingInput, connect
from services.cli.scrims import interval_text, percent_text, seeds_from_text

scrims = typer.Typer(
    help="Ask other teams for scrims, answer them, and play many at once.", no_args_is_help=True
)
Request = Annotated[str, typer.Argument(help="Id of the request (srq_...).")]
Batch = Annotated[str, typer.Argument(help="Id of the batch (sbt_...).")]
League = Annotated[
    str | None, typer.Option("--league", "--season", help="League or season with the game.")
]
Results = Annotated[str, typer.Option(help="Who sees the results: asker, sides or league.")]
Replays = Annotated[str, typer.Option(help="Who sees the replays: asker, sides or league.")]
Logs = Annotated[str, typer.Option(help="Who reads the output: own, sides or league.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Start without asking you first.")]


@scrims.command("opponents")
def list_opponents(league: League = None, as_json: AsJson = False) -> None:
    """List the agents of a league, and which of them you may play or ask now."""
    with connect() as ladder:
        rows = ladder.scrim_opponents(find_season_id(ladder, league))
    if as_json:
        print_json(rows)
        return
    table(
        ["agent", "team", "may", "why not", "id"],
        [
            (
                *(row["agent_name"], row["team_name"], _may(row)),
                *(row["answer"]["reason"], row["agent_id"]),
            )
            for row in rows
        ],
    )


def _may(row: Json) -> str:
    answer = row["answer"]
    if not answer["is_allowed"]:
        return "no"
    return "play" if answer["is_automatic"] else "ask"


@scrims.command("ask")
def ask(
    agent: Annotated[str, typer.Argument(help="Your agent (name, slug, id) or submission id.")],
    opponents: Annotated[
        list[str], typer.Argument(help="Opponents. They take the other seats in turn.")
    ],
    games: Annotated[int, typer.Option(min=1, max=100, help="Number of games.")] = 10,
    words: Annotated[str, typer.Option(help="Message to the other team.")] = "",
    seed: Annotated[
        str | None, typer.Option(help="Any text; the same text gives the same games.")
    ] = None,
    results: Results = "sides",
    replays: Replays = "sides",
    logs: Logs = "own",
    hours: Annotated[int, typer.Option(min=1, max=336, help="Hours until it expires.")] = 48,
    league: League = None,
    as_json: AsJson = False,
) -> None:
    """Ask another team for a scrim. It begins at once if their agents accept automatically."""
    with connect() as ladder:
        season = ladder.season(find_season_id(ladder, league))
        made = ladder.ask_for_scrim(
            season["id"],
            lineup_of(ladder, season, agent, opponents),
            games=games,
            seeds=seeds_from_text(seed, games) if seed else None,
            words=words,
            privacy={"results": results, "replays": replays, "logs": logs},
            expires_hours=hours,
        )
    show_request(made, as_json)


@scrims.command("inbox")
def show_inbox(as_json: AsJson = False) -> None:
    """List the requests of other teams to yours."""
    list_requests("inbox", as_json)


@scrims.command("outbox")
def show_outbox(as_json: AsJson = False) -> None:
    """List the requests of your teams."""
    list_requests("outbox", as_json)


@scrims.command("show")
def show(request: Request, as_json: AsJson = False) -> None:
    """Show a request, and the versions that play once it is accepted."""
    with connect() as ladder:
        found = ladder.scrim_request(request)
    show_request(found, as_json)


@scrims.command("accept")
def accept(request: Request, as_json: AsJson = False) -> None:
    """Accept a request. The newest active versions are fixed, and the games are queued."""
    answer(request, "accept", "", as_json)


@scrims.command("decline")
def decline(
    request: Request,
    words: Annotated[str, typer.Option(help="Message to the other team.")] = "",
    as_json: AsJson = False,
) -> None:
    """Decline a request."""
    answer(request, "decline", words, as_json)


@scrims.command("withdraw")
def withdraw(request: Request, as_json: AsJson = False) -> None:
    """Withdraw a request of your team."""
    answer(request, "withdraw", "", as_json)


@scrims.command("cancel")
def cancel(
    key: Annotated[str, typer.Argument(help="Id of a scrim (scr_...) or a batch (sbt_...).")],
    as_json: AsJson = False,
) -> None:
    """Stop the unfinished games of a scrim or a batch. The daily limit counts only those that had
    begun."""
    with connect() as ladder:
        found = ladder.cancel_batch(key) if key.startswith("sbt_") else ladder.cancel_scrim(key)
    if as_json:
        print_json(found)
    else:
        stdout.print(f"{key}: {found['finished_games']} of {found['games']} games were played")


@scrims.command("policy")
def policy(
    agent: Annotated[str, typer.Argument(help="Your agent (name, slug, id).")],
    whom: Annotated[
        str | None, typer.Option(help="nobody, league, teams or anyone. Without it: show it.")
    ] = None,
    team: Annotated[list[str] | None, typer.Option(help="A team that may play it.")] = None,
    block: Annotated[list[str] | None, typer.Option(help="A team that may not play it.")] = None,
    games_daily: Annotated[int | None, typer.Option(help="Games a day with all teams.")] = None,
    automatic: Annotated[bool, typer.Option(help="Accept scrims without your answer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show or set whom an agent of yours plays in scrims. Setting replaces the whole policy."""
    with connect() as ladder:
        key = own_agent(ladder, agent)["id"]
        if whom is None:
            found: Json = ladder.scrim_policy(key)["policy"]
        else:
            found = ladder.set_scrim_policy(
                key,
                {
                    "whom": whom,
                    "teams": team or [],
                    "blocked_teams": block or [],
                    "games_daily": games_daily,
                    "accepts_automatically": automatic,
                },
            )
    if as_json:
        print_json(found)
        return
    table(["setting", "value"], [(name, _value_text(value)) for name, value in found.items()])


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return "" if value is None else str(value)


@scrims.command("gauntlet")
def gauntlet(
    agent: Annotated[str, typer.Argument(help="Your agent (name, slug, id) or submission id.")],
    opponents: Annotated[
        list[str] | None, typer.Argument(help="Up to 50 agents; default: all that accept.")
    ] = None,
    games: Annotated[int, typer.Option(min=1, max=20, help="Games with each.")] = 10,
    results: Results = "asker",
    replays: Replays = "asker",
    league: League = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Play one agent of yours against many."""
    with connect() as ladder:
        season = find_season_id(ladder, league)
        mine = own_agents(ladder)
        first = opponent_id(ladder, season, mine, agent)
        others = [opponent_id(ladder, season, mine, name) for name in opponents or ()]
        if not others:
            own = {row["team_id"] for row in mine}
            others = [
                row["agent_id"]
                for row in ladder.scrim_opponents(season)
                if row["answer"]["is_automatic"] and row["team_id"] not in own
            ][:50]
        body: Json = {"season": season, "kind": "gauntlet", "agents": [first, *others]}
        body |= {"games": games, "privacy": {"results": results, "replays": replays}}
        start_batch(ladder, body, yes=yes, as_json=as_json)


@scrims.command("versions")
def versions(
    submissions: Annotated[
        list[str], typer.Argument(help="2 to 10 submissions (sub_...) or agents of yours.")
    ],
    games: Annotated[int, typer.Option(min=1, max=20, help="Games of each pairing.")] = 10,
    league: League = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Play versions of yours against each other."""
    with connect() as ladder:
        season = find_season_id(ladder, league)
        mine = own_agents(ladder)
        keys = [opponent_id(ladder, season, mine, name) for name in submissions]
        body: Json = {"season": season, "kind": "versions", "agents": keys, "games": games}
        start_batch(ladder, body, yes=yes, as_json=as_json)


@scrims.command("batches")
def list_batches(as_json: AsJson = False) -> None:
    """List the batches of your teams."""
    with connect() as ladder:
        rows = list(ladder.batches(most=50))
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "kind", "games each", "started", "ended"],
        [
            (
                *(row["id"], row["kind"], row["games_each"]),
                *(timestamp_text(row["created_at"]), timestamp_text(row["ended_at"])),
            )
            for row in rows
        ],
        "peck scrims gauntlet AGENT",
    )


@scrims.command("batch")
def show_batch(
    batch: Batch,
    csv: Annotated[Path | None, typer.Option(help="Write the results to this CSV file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the results of a batch so far."""
    with connect() as ladder:
        if csv is not None:
            csv.write_text(ladder.batch_csv(batch))
            stdout.print(f"wrote {csv}")
            return
        found = ladder.batch(batch)
    if as_json:
        print_json(found)
        return
    left = "" if found["seconds_left"] is None else f", {duration_text(found['seconds_left'])} left"
    stdout.print(f"{batch}: {found['finished_games']} of {found['games']} games{left}")
    table(
        ["first", "second", "games", "faults", "score", "95 %", "state"],
        [
            (
                f"{cell['first_name']}, version {cell['first_version']}",
                f"{cell['second_name']}, version {cell['second_version']}",
                cell["finished_games"],
                f"{cell['first_faults']} and {cell['second_faults']}",
                percent_text(cell["score"]),
                interval_text(*cell["interval"]) if cell["finished_games"] else None,
                cell["state"],
            )
            for cell in found["cells"]
        ],
    )


def lineup_of(ladder: Client, season: Json, agent: str, opponents: list[str]) -> list[str]:
    """The lineup by seat: the agent, then the opponents again and again."""
    mine = own_agents(ladder)
    first, *others = (opponent_id(ladder, season["id"], mine, name) for name in (agent, *opponents))
    return [first, *(others[seat % len(others)] for seat in range(season["seats"] - 1))]


def list_requests(box: str, as_json: bool) -> None:
    with connect() as ladder:
        rows = list(ladder.scrim_requests(box=box, most=50))
    if as_json:
        print_json(rows)
        return
    other = "team_name" if box == "inbox" else "asked_team_name"
    table(
        ["id", "team", "league", "games", "state", "words", "expires"],
        [
            (
                *(row["id"], row[other], row["league_slug"], row["games"], row["state"]),
                *(row["words"], timestamp_text(row["expires_at"])),
            )
            for row in rows
        ],
        "peck scrims opponents (whom you may ask)",
    )


def answer(request: str, act: str, words: str, as_json: bool) -> None:
    with connect() as ladder:
        found = ladder.answer_scrim_request(request, act, words)
    show_request(found, as_json)


def show_request(found: Json, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    stdout.print(
        f"{found['id']}: {found['team_name']} asks {found['asked_team_name']} for"
        f" {found['games']} games, {found['state']}"
    )
    for seat in found["seats"]:
        version = seat["version"]
        pinned = "newest version when accepted" if version is None else f"version {version}"
        stdout.print(f"  {seat['agent_name']}, {pinned}")
    if found["answer"]:
        stdout.print(f"answer: {found['answer']}")
    if found["scrim_id"]:
        stdout.print(f"scrim: {found['scrim_id']}")


def start_batch(ladder: Client, body: Json, *, yes: bool, as_json: bool) -> None:
    """Says what the batch takes of the daily limit, asks, and starts it."""
    plan = ladder.plan_batch(body)
    if not as_json:
        for pair in plan["pairings"]:
            if pair["refusal"]:
                stdout.print(f"{pair['second']['agent_name']} cannot play: {pair['refusal']}")
        today = plan["today"]
        stdout.print(
            f"{len(plan['pairings'])} pairings, {plan['games']} games; today {today['used']} of"
            f" {today['allowed']} are used, {today['left']} left"
        )
    if not yes:
        if as_json or not sys.stdin.isatty():
            raise MissingInput("add --yes to start the batch without a question")
        typer.confirm("Start it?", abort=True)
    made = ladder.start_batch(body)
    if as_json:
        print_json(made)
    else:
        stdout.print(f"started {made['id']}; see it with: peck scrims batch {made['id']}")


def register(app: typer.Typer) -> None:
    app.add_typer(scrims, name="scrims")
