"""Commands on tournaments: make, enter, lock, start, show."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ladder.tournaments.mean_names import MEANS
from ladder.tournaments.plan_choices import FormatChoice, PlanChoice, plan_of_choice
from services.api_client import Json
from services.cli.display import AsJson, print_json, show_list, stdout, table, timestamp_text
from services.cli.name_lookup import agent_id, own_agent
from services.cli.saved_login import MissingInput, connect

tournaments = typer.Typer(help="Make, enter and follow tournaments.", no_args_is_help=True)
Tournament = Annotated[str, typer.Argument(help="Id of the tournament (trn_...).")]
Stage = Annotated[int, typer.Option(min=1, max=4, help="Stage of the plan.")]
OwnAgent = Annotated[str, typer.Argument(help="Your agent (name, slug, id).")]
Reason = Annotated[str, typer.Option(help="One sentence, for the log.")]


@tournaments.command("create")
def create_tournament(
    league: Annotated[str, typer.Argument(help="Slug or id of a league that you host.")],
    title: Annotated[str, typer.Argument(help="Title of the tournament.")],
    format: Annotated[FormatChoice, typer.Option(help="Its format.")] = FormatChoice.SINGLE,
    pairs: Annotated[
        int, typer.Option(min=1, max=32, help="Pairs of games in a series, or games in a heat.")
    ] = 2,
    rounds: Annotated[int, typer.Option(min=1, max=64, help="Rounds of Swiss or heats.")] = 5,
    top: Annotated[int, typer.Option(min=1, max=512, help="How many go on to the finals.")] = 8,
    groups: Annotated[int, typer.Option(min=2, max=64, help="Number of groups.")] = 4,
    reset: Annotated[bool, typer.Option(help="A second final in double elimination.")] = False,
    third_place: Annotated[bool, typer.Option(help="A match for the third place.")] = False,
    plan: Annotated[
        Path | None, typer.Option(help="A file with a plan as JSON, instead of --format.")
    ] = None,
    entry: Annotated[str, typer.Option(help="Who enters: open, invitation or top.")] = "open",
    entrants: Annotated[int, typer.Option(min=2, max=1024, help="The most entrants.")] = 64,
    per_team: Annotated[int, typer.Option(min=1, max=16, help="The most agents of each team.")] = 1,
    embargo: Annotated[
        str, typer.Option(help="Who sees new results: public, participants or hidden.")
    ] = "public",
    locks: Annotated[str | None, typer.Option(help="End of registration.")] = None,
    starts: Annotated[str | None, typer.Option(help="Start; default: at the lock.")] = None,
    draft: Annotated[bool, typer.Option(help="Do not open the registration yet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a tournament in a league that you host."""
    choice = PlanChoice(
        format=format,
        pairs=pairs,
        rounds=rounds,
        top=top,
        groups=groups,
        reset=reset,
        third_place=third_place,
    )
    with connect() as ladder:
        season = ladder.get(f"/v1/seasons/{league}")
        chosen_plan = read_plan(plan) if plan else plan_of_choice(choice, season["seats"])
        tournament = ladder.post(
            f"/v1/leagues/{league}/tournaments",
            {
                "title": title,
                "plan": chosen_plan,
                "entry_rule": entry,
                "most_entrants": entrants,
                "agents_per_team": per_team,
                "embargo": embargo,
                "locks_at": locks,
                "starts_at": starts,
                "is_draft": draft,
            },
        )
    show(tournament, as_json)


def read_plan(path: Path) -> Any:
    """The plan in a file. Raises MissingInput."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise MissingInput(f"give a file that holds JSON: {path}: {error}") from None


@tournaments.command("list")
def list_tournaments(
    league: Annotated[str | None, typer.Option(help="Slug or id of a league.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the tournaments that you may see, newest first."""
    with connect(needs_token=False) as ladder:
        rows = list(ladder.list_items("/v1/tournaments", most=200, league=league))
    show_list(
        rows,
        {
            **{"id": "id", "title": "title", "state": "state", "created (UTC)": "created_at"},
            **{"entrants": "entered", "champion": "champion_name"},
        },
        as_json,
        "peck tournament create LEAGUE TITLE (if you host a league)",
    )


@tournaments.command("show")
def show_tournament(
    tournament: Tournament,
    stage: Annotated[
        int | None, typer.Option(min=1, max=4, help="Stage of the plan; default: the newest.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a tournament with the table of a stage, and at the end the places over all stages."""
    with connect(needs_token=False) as ladder:
        shown = ladder.get(f"/v1/tournaments/{tournament}")
        stage = stage or int(shown["position"].partition(".")[0])
        path = f"/v1/tournaments/{tournament}/standings"
        rows = list(ladder.list_items(path, stage=stage, limit=200))
        stages = len(shown["plan"]["stages"])
        entrants: list[Json] = []
        if stages > 1 and not as_json and shown["champion_name"]:
            entrants = list(ladder.list_items(f"/v1/tournaments/{tournament}/entrants", limit=200))
    if as_json:
        print_json({**shown, "standings": rows})
        return
    show(shown, False)
    if rows and stages > 1:
        stdout.print(f"stage {stage} of {stages}")
    show_tables(rows)
    show_final_places(entrants)


@tournaments.command("bracket")
def show_bracket(tournament: Tournament, stage: Stage = 1, as_json: AsJson = False) -> None:
    """Show the pairings of a stage, round by round."""
    with connect(needs_token=False) as ladder:
        path = f"/v1/tournaments/{tournament}/pairings"
        rows = list(ladder.list_items(path, stage=stage, limit=200))
    show_list(
        rows,
        {
            **{"pairing": "key", "round": "title"},
            "agents": lambda row: " - ".join(row["names"]),
            "result": lambda row: row["outcome"] or row["state"],
        },
        as_json,
    )


@tournaments.command("enter")
def enter_tournament(
    tournament: Tournament,
    agent: Annotated[
        str, typer.Argument(help="Your agent; a host also names one on the leaderboard.")
    ],
    as_json: AsJson = False,
) -> None:
    """Enter an agent. A host enters reference agents and invites others, by name or id."""
    with connect() as ladder:
        key = agent_id(ladder, agent, {"tournament": tournament})
        entrant = ladder.post(f"/v1/tournaments/{tournament}/entrants", {"agent": key})
    if as_json:
        print_json(entrant)
    else:
        stdout.print(f"{entrant['agent_name']} is {entrant['state']}")


def host_act(name: str) -> Callable[..., None]:
    """The command of a host that does this act and shows the tournament."""

    def act(tournament: Tournament, as_json: AsJson = False) -> None:
        do(tournament, {"act": name}, as_json)

    return act


def do(tournament: str, act: Json, as_json: bool) -> None:
    """Does an act of a host and shows the tournament."""
    with connect() as ladder:
        changed = ladder.post(f"/v1/tournaments/{tournament}/acts", act)
    show(changed, as_json)


@tournaments.command("pause")
def pause(tournament: Tournament, reason: Reason = "", as_json: AsJson = False) -> None:
    """Start no new games for now; hosts only."""
    do(tournament, {"act": "pause", "reason": reason}, as_json)


def entrant_act(name: str, done: str) -> Callable[..., None]:
    """The command that does this act for an own agent."""

    def act(tournament: Tournament, agent: OwnAgent) -> None:
        with connect() as ladder:
            key = own_agent(ladder, agent)["id"]
            ladder.post(f"/v1/tournaments/{tournament}/entrants/{key}/acts", {"act": name})
        stdout.print(done)

    return act


for _name, _help in (
    ("lock", "End the registration and freeze all submissions; then it starts, unless later."),
    ("start", "Start a locked tournament."),
    ("resume", "Go on after a pause."),
):
    tournaments.command(_name, help=f"{_help} Hosts only.")(host_act(_name))
for _name, _done, _help in (
    ("check-in", "checked in", "Say that your agent takes part, during the check-in."),
    ("withdraw", "withdrawn", "Withdraw your agent. After the lock its opponents win by that."),
):
    tournaments.command(_name, help=_help)(entrant_act(_name, _done))


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


def register(app: typer.Typer) -> None:
    app.add_typer(tournaments, name="tournament")
