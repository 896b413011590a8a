"""Commands of hosts on the people of a league: members and their roles."""

from __future__ import annotations

from typing import Annotated

import typer

from services.api_client import Client
from services.cli.display import AsJson, print_json, stdout, table
from services.cli.leagues_and_agents import leagues
from services.cli.saved_login import MissingInput, connect

League = Annotated[str, typer.Argument(help="Slug or id of the league.")]
Person = Annotated[str, typer.Argument(help="Name of a member, or a user id (usr_...).")]


def list_members(league: League, as_json: AsJson = False) -> None:
    """List the members of a league and their roles; hosts only."""
    with connect() as ladder:
        rows = ladder.members(league)
    if as_json:
        print_json(rows)
        return
    table(["id", "name", "role"], [(row["user_id"], row["name"], row["role"]) for row in rows])


def give_role(
    league: League,
    person: Person,
    role: Annotated[
        str,
        typer.Argument(
            help="host, co-host, grader, commentator, competitor or viewer; none takes the role."
        ),
    ],
) -> None:
    """Give a person a role in a league, or take it with `none`; hosts only.

    Co-hosts give the roles competitor and viewer. Graders and commentators see only teams of which
    all people agreed.
    """
    with connect() as ladder:
        user = person_id(ladder, league, person)
        if role == "none":
            ladder.remove_member(league, user)
        else:
            ladder.put_member(league, user, role)
    stdout.print(f"{person} has no role now" if role == "none" else f"{person} is now {role}")


def person_id(ladder: Client, league: str, person: str) -> str:
    """The id of the member with this name; an id stays as it is. Raises MissingInput."""
    if person.startswith("usr_"):
        return person
    for row in ladder.members(league):
        if row["name"].lower() == person.lower():
            return str(row["user_id"])
    raise MissingInput(f"give a name from `peck league members {league}`, or an id (usr_...)")


def register(_: typer.Typer) -> None:
    """Adds the commands to ``peck league``."""
    leagues.command("members")(list_members)
    leagues.command("role")(give_role)
