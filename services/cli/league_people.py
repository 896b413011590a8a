"""Commands on the people of a league: members, roles, requests to join, blocks."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from ladder.slugs import name_key
from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.leagues import leagues
from services.cli.membership import Yes, ask_for_agreement
from services.cli.saved_login import MissingInput, connect

League = Annotated[str, typer.Argument(help="Slug or id of the league.")]
Person = Annotated[str, typer.Argument(help="Exact name of a person, or a user id (usr_...).")]


def list_members(league: League, as_json: AsJson = False) -> None:
    """List the members of a league and their roles; hosts only."""
    with connect() as ladder:
        rows = list(ladder.members(league))
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
    all people agreed to the terms.
    """
    with connect() as ladder:
        if role == "none":
            ladder.remove_member(league, path_part(person))
        else:
            ladder.put_member(league, path_part(person), role)
    stdout.print(f"{person} has no role now" if role == "none" else f"{person} is now {role}")


def path_part(person: str) -> str:
    """The name or id as a part of an address. Raises MissingInput for a name that cannot be one."""
    if "/" in person or not person.strip("."):
        raise MissingInput(f"give an id (usr_...): the name {person!r} cannot be in an address")
    return quote(person, safe="")


def ask_to_join(
    league: League,
    words: Annotated[str, typer.Option(help="A word to the hosts.")] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Ask the hosts of a league to let you in, after reading the terms."""
    with connect() as ladder:
        found = ladder.league_to_join(league)
        ask_for_agreement(found["terms"], yes, quiet=as_json)
        made = ladder.request_to_join(league, found["terms"]["digest"], words)
    if as_json:
        print_json(made)
    else:
        stdout.print(f"you asked to join {league}; see the answer with: peck league asked")


def list_own_requests(as_json: AsJson = False) -> None:
    """List the leagues that you asked to join, and the answers."""
    with connect() as ladder:
        rows = ladder.own_requests()
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "league", "state", "answer"],
        [(row["id"], row["slug"], row["state"], row["answer"]) for row in rows],
    )


def withdraw_request(
    request: Annotated[str, typer.Argument(help="Id (jrq_...) from `peck league asked`.")],
) -> None:
    """Withdraw a request to join a league."""
    with connect() as ladder:
        done = ladder.withdraw_request(request)
    stdout.print(f"withdrew the request to join {done['title']}")


def list_requests(league: League, as_json: AsJson = False) -> None:
    """List the people who ask to join a league; hosts only."""
    with connect() as ladder:
        rows = list(ladder.join_requests(league))
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "name", "words", "asked"],
        [(row["id"], row["name"], row["words"], timestamp_text(row["created_at"])) for row in rows],
    )


def answer_requests(
    league: League,
    act: Annotated[str, typer.Argument(help="approve or decline.")],
    requests: Annotated[
        list[str] | None, typer.Argument(help="Ids from `peck league requests`.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All requests that wait.")] = False,
    role: Annotated[str, typer.Option(help="competitor or viewer.")] = "competitor",
    words: Annotated[str, typer.Option(help="A word to the people.")] = "",
    as_json: AsJson = False,
) -> None:
    """Approve or decline requests to join a league; hosts only."""
    if every == bool(requests):
        raise MissingInput("name requests from `peck league requests`, or add --all")
    with connect() as ladder:
        rows = ladder.answer_requests(
            league, act, requests=requests, all=every, role=role, words=words
        )
    if as_json:
        print_json(rows)
        return
    for row in rows:
        why = f", {row['answer']}" if row["state"] == "expired" else ""
        stdout.print(f"{row['name']}: {row['state']}{why}")
    if not rows:
        stdout.print("none of these requests waits")


def take_requests(
    league: League,
    takes: Annotated[bool, typer.Option("--yes/--no", help="Whether people may ask.")] = True,
) -> None:
    """Let people ask to join a league, or stop that; hosts only.

    Everybody who knows the league's name may then read its title and its terms.
    """
    with connect() as ladder:
        changed = ladder.patch(f"/v1/leagues/{league}", {"takes_requests": takes})
    some = "" if changed["takes_requests"] else "no "
    stdout.print(f"{changed['slug']} takes {some}requests to join")


def delay_live(
    league: League,
    seconds: Annotated[int, typer.Argument(min=0, max=3600, help="Delay; 0: none.")],
) -> None:
    """Set the delay with which a league shows running matches; hosts only."""
    with connect() as ladder:
        changed = ladder.patch(f"/v1/leagues/{league}", {"live_delay_seconds": seconds})
    late = changed["live_delay_seconds"]
    when = f"{late} s late" if late else "at once"
    stdout.print(f"{changed['slug']} shows running matches {when}")


def list_blocks(league: League, as_json: AsJson = False) -> None:
    """List the people whom hosts blocked from a league; hosts only."""
    with connect() as ladder:
        rows = list(ladder.league_blocks(league))
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "name", "reason", "since"],
        [
            (row["user_id"], row["name"], row["reason"], timestamp_text(row["created_at"]))
            for row in rows
        ],
    )


def block(
    league: League,
    person: Person,
    reason: Annotated[str, typer.Option(help="One sentence; the person reads it.")],
) -> None:
    """Block a person from a league; hosts only. Their agents play on until you disqualify them."""
    with connect() as ladder:
        ladder.block_from_league(league, path_part(person), reason)
    stdout.print(f"{person} is blocked from {league}")


def unblock(league: League, person: Person) -> None:
    """Unblock a person; hosts only. The person gets no role by this."""
    with connect() as ladder:
        rows = {name_key(row["name"]): row["user_id"] for row in ladder.league_blocks(league)}
        ladder.unblock_from_league(league, rows.get(name_key(person), person))
    stdout.print(f"{person} may join {league} again")


def register(_: typer.Typer) -> None:
    """Adds the commands to ``peck league``."""
    for name, command in (
        ("members", list_members),
        ("role", give_role),
        ("ask", ask_to_join),
        ("asked", list_own_requests),
        ("withdraw", withdraw_request),
        ("requests", list_requests),
        ("answer", answer_requests),
        ("take-requests", take_requests),
        ("live-delay", delay_live),
        ("blocks", list_blocks),
        ("block", block),
        ("unblock", unblock),
    ):
        leagues.command(name)(command)
