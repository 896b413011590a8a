"""Commands on tournaments: make, enter, lock, start, show, export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ladder.tournaments.plan_choices import FormatChoice, PlanChoice, plan_of_choice
from services.api_client import Json
from services.cli.confirmation import Yes, confirm
from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.name_lookup import agent_to_enter, entered_agent, own_agent
from services.cli.saved_login import MissingInput, connect
from services.cli.tournament_output import (
    show,
    show_final_places,
    show_rejudgements,
    show_tables,
)

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
        season = ladder.season(league)
        wanted = read_plan(plan) if plan else plan_of_choice(choice, season["seats"])
        made = ladder.post(
            f"/v1/leagues/{league}/tournaments",
            {
                "title": title,
                "plan": wanted,
                "entry_rule": entry,
                "most_entrants": entrants,
                "agents_per_team": per_team,
                "embargo": embargo,
                "locks_at": locks,
                "starts_at": starts,
                "is_draft": draft,
            },
        )
    show(made, as_json)


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
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "title", "state", "created (UTC)", "entrants", "champion"],
        [
            (
                *(row["id"], row["title"], row["state"], timestamp_text(row["created_at"])),
                *(row["entered"], row["champion_name"]),
            )
            for row in rows
        ],
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
        found = ladder.get(f"/v1/tournaments/{tournament}")
        stage = stage or int(found["position"].partition(".")[0])
        path = f"/v1/tournaments/{tournament}/standings"
        rows = list(ladder.list_items(path, stage=stage, limit=200))
        stages = len(found["plan"]["stages"])
        entrants: list[Json] = []
        if stages > 1 and not as_json and found["champion_name"]:
            entrants = list(ladder.list_items(f"/v1/tournaments/{tournament}/entrants", limit=200))
    if as_json:
        print_json({**found, "standings": rows})
        return
    show(found, False)
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
    if as_json:
        print_json(rows)
        return
    table(
        ["pairing", "round", "agents", "result"],
        [
            (row["key"], row["title"], " - ".join(row["names"]), row["outcome"] or row["state"])
            for row in rows
        ],
    )


@tournaments.command("export")
def export_tournament(
    tournament: Tournament,
    form: Annotated[str, typer.Option(help="json, csv or trf.")] = "json",
    stage: Stage = 1,
    path: Annotated[
        Path | None, typer.Option("--path", "-p", help="File to write; default: print it.")
    ] = None,
) -> None:
    """Export a tournament: everything (json), a table (csv) or a Swiss stage (trf)."""
    with connect(needs_token=False) as ladder:
        answer = ladder.send(
            "GET",
            f"/v1/tournaments/{tournament}/export",
            params={"form": form, "stage": stage},
        )
    if path is None:
        stdout.print(answer.text, end="")
        return
    path.write_bytes(answer.content)
    stdout.print(f"wrote {path}")


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
        key = agent_to_enter(ladder, tournament, agent)
        made = ladder.post(f"/v1/tournaments/{tournament}/entrants", {"agent": key})
    if as_json:
        print_json(made)
    else:
        stdout.print(f"{made['agent_name']} is {made['state']}")


@tournaments.command("check-in")
def check_in(tournament: Tournament, agent: OwnAgent) -> None:
    """Say that your agent takes part, during the check-in."""
    act_on_entrant(tournament, agent, "check-in")


@tournaments.command("withdraw")
def withdraw(tournament: Tournament, agent: OwnAgent) -> None:
    """Withdraw your agent. After the lock its opponents win its open pairings."""
    act_on_entrant(tournament, agent, "withdraw")


@tournaments.command("disqualify")
def disqualify(
    tournament: Tournament,
    agent: Annotated[str, typer.Argument(help="Name or id of the agent.")],
    reason: Annotated[str, typer.Option(help="One sentence that the entrants read.")],
) -> None:
    """Disqualify an agent, also after the end; hosts only.

    It then stands behind all that stayed.
    """
    with connect() as ladder:
        key = entered_agent(ladder, tournament, agent)
        ladder.post(
            f"/v1/tournaments/{tournament}/entrants/{key}/disqualification", {"reason": reason}
        )
        found = ladder.get(f"/v1/tournaments/{tournament}")
    stdout.print("disqualified; it stands behind all that stayed, and loses its open pairings")
    show(found, as_json=False)


@tournaments.command("open")
def open_registration(tournament: Tournament, as_json: AsJson = False) -> None:
    """Open the registration of a draft; hosts only."""
    act(tournament, "open", "", as_json)


@tournaments.command("lock")
def lock(tournament: Tournament, as_json: AsJson = False) -> None:
    """End the registration and freeze all submissions; hosts only.

    The tournament then starts, unless a later start was chosen.
    """
    act(tournament, "lock", "", as_json)


@tournaments.command("start")
def start(tournament: Tournament, as_json: AsJson = False) -> None:
    """Start a locked tournament; hosts only."""
    act(tournament, "start", "", as_json)


@tournaments.command("pause")
def pause(tournament: Tournament, reason: Reason = "", as_json: AsJson = False) -> None:
    """Start no new games for now; hosts only."""
    act(tournament, "pause", reason, as_json)


@tournaments.command("resume")
def resume(tournament: Tournament, as_json: AsJson = False) -> None:
    """Go on after a pause; hosts only."""
    act(tournament, "resume", "", as_json)


@tournaments.command("cancel")
def cancel(
    tournament: Tournament,
    reason: Annotated[str, typer.Option(help="One sentence that everybody reads.")] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """End a tournament for good, without a champion; hosts only."""
    with connect() as ladder:
        title = ladder.get(f"/v1/tournaments/{tournament}")["title"]
    confirm(f"cancel {title}", "a cancelled tournament cannot go on", yes, as_json)
    act(tournament, "cancel", reason, as_json)


@tournaments.command("reveal")
def reveal(
    tournament: Tournament,
    pairing: Annotated[
        str | None, typer.Option(help="A pairing, as in 1.2.3; default: all so far.")
    ] = None,
    to: Annotated[str, typer.Option(help="public or participants.")] = "public",
    as_json: AsJson = False,
) -> None:
    """Show hidden results; hosts only."""
    with connect() as ladder:
        found = ladder.post(
            f"/v1/tournaments/{tournament}/reveals", {"embargo": to, "pairing": pairing}
        )
    show(found, as_json)


@tournaments.command("present")
def present(
    tournament: Tournament,
    hours: Annotated[float, typer.Option(help="How long the address works.")] = 12.0,
    seconds: Annotated[
        float | None, typer.Option(help="The page goes on by itself after this time.")
    ] = None,
    revoke: Annotated[
        str | None, typer.Option(help="End the show with this id (tsh_...) instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a page for a screen, at a secret address; hosts only."""
    path = f"/v1/tournaments/{tournament}/shows"
    with connect() as ladder:
        if revoke is not None:
            ladder.send("DELETE", f"{path}/{revoke}")
            stdout.print(f"{revoke} has ended")
            return
        made = ladder.post(path, {"hours": hours, "scene_seconds": seconds})
    if as_json:
        print_json(made)
        return
    stdout.print(f"{made['id']}, until {timestamp_text(made['expires_at'])} UTC:")
    stdout.print(str(made["address"]))


@tournaments.command("rejudge")
def rejudge(
    tournament: Tournament,
    pairing: Annotated[str, typer.Argument(help="Pairing, as in 1.2.3.")],
    reason: Annotated[str, typer.Option(help="One sentence, for the audit log.")],
    game: Annotated[int | None, typer.Option(help="One game; default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Play the games of a pairing again, beside the old ones; hosts only."""
    with connect() as ladder:
        body = {"pairing": pairing, "game": game, "reason": reason}
        rows = ladder.post(f"/v1/tournaments/{tournament}/rejudgements", body)["items"]
    show_rejudgements(rows, as_json)


@tournaments.command("rejudgements")
def rejudgements(tournament: Tournament, as_json: AsJson = False) -> None:
    """Show which later pairings new results change; hosts only."""
    with connect() as ladder:
        rows = ladder.get(f"/v1/tournaments/{tournament}/rejudgements")["items"]
    show_rejudgements(rows, as_json)


@tournaments.command("decide")
def decide(
    tournament: Tournament,
    pairing: Annotated[str, typer.Argument(help="Pairing, as in 1.2.3.")],
    act: Annotated[str, typer.Argument(help="apply: the new results count. drop: the old ones.")],
    as_json: AsJson = False,
) -> None:
    """Apply or drop the new results of a pairing; hosts only."""
    with connect() as ladder:
        found = ladder.post(
            f"/v1/tournaments/{tournament}/rejudgements/decisions",
            {"pairing": pairing, "act": act},
        )
    show(found, as_json)


def act(tournament: str, name: str, reason: str, as_json: bool) -> None:
    """Does an act of a host and shows the tournament."""
    with connect() as ladder:
        found = ladder.post(f"/v1/tournaments/{tournament}/acts", {"act": name, "reason": reason})
    show(found, as_json)


def act_on_entrant(tournament: str, agent: str, name: str) -> None:
    """Checks an own agent in, or withdraws it."""
    with connect() as ladder:
        key = own_agent(ladder, agent)["id"]
        ladder.post(f"/v1/tournaments/{tournament}/entrants/{key}/acts", {"act": name})
    stdout.print("checked in" if name == "check-in" else "withdrawn")


def register(app: typer.Typer) -> None:
    app.add_typer(tournaments, name="tournament")
