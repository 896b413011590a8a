"""Commands on the people of a league: join, consent, invitations and roles."""

from __future__ import annotations

import sys
from typing import Annotated
from urllib.parse import quote

import typer

from services.api_client import Json
from services.cli.display import (
    AsJson,
    print_json,
    show_done,
    stderr,
    stdout,
    timestamp_text,
)
from services.cli.leagues import League, leagues
from services.cli.saved_login import MissingInput, connect

Person = Annotated[str, typer.Argument(help="Exact name of a person, or a user id (usr_...).")]

Agree = Annotated[bool, typer.Option("--yes", "-y", help="Agree to the terms without a question.")]


def join(
    code: Annotated[str, typer.Argument(help="The invitation code, join_...")],
    yes: Agree = False,
    as_json: AsJson = False,
) -> None:
    """Join a league with its invitation code, after reading the terms."""
    with connect() as ladder:
        invited = ladder.post("/v1/join/terms", {"code": code})
        if not as_json:
            stdout.print(f"{invited['title']} ({invited['slug']}), as {invited['role']}")
        ask_for_agreement(invited["terms"], yes, quiet=as_json)
        joined = ladder.post("/v1/join", {"code": code, "terms": invited["terms"]["digest"]})
    if as_json:
        print_json(joined)
        return
    stdout.print(f"you are {joined['role']} of {joined['title']}")
    if joined["role"] != "viewer":
        stdout.print(f"peck submit main.py --agent NAME --league {joined['slug']}")


def ask_for_agreement(terms: Json, yes: bool, *, quiet: bool) -> None:
    """Shows the terms and asks for agreement. Raises if the answer is no."""
    if not quiet:
        stdout.print(terms["text"])
    if yes:
        return
    if quiet:
        raise MissingInput("run without --json to read the terms, or add --yes to agree")
    if not sys.stdin.isatty():
        raise MissingInput("add --yes to agree to these terms, or run it in a terminal")
    typer.confirm("Do you agree?", abort=True)


@leagues.command("consent")
def consent(
    league: League,
    visibility: Annotated[
        str | None, typer.Option(help="Visibility that a host asks for; default: the present one.")
    ] = None,
    replays: Annotated[
        str | None,
        typer.Option(help="Replay visibility that a host asks for; default: the present one."),
    ] = None,
    remote_agents: Annotated[
        bool, typer.Option("--remote-agents", help="Also agree to seasons with remote agents.")
    ] = False,
    yes: Agree = False,
    as_json: AsJson = False,
) -> None:
    """Agree to a league's terms, or to wider terms that its host asks for."""
    wider = {"visibility": visibility, "replay_visibility": replays}
    with connect() as ladder:
        remote = "true" if remote_agents else None
        terms = ladder.get(f"/v1/leagues/{league}/terms", **wider, remote_agents=remote)
        ask_for_agreement(terms, yes, quiet=as_json)
        agreed = ladder.put(f"/v1/leagues/{league}/consent", {"terms": terms["digest"]})
    show_done(agreed, f"agreed on {timestamp_text(agreed['agreed_at'])}", as_json)


@leagues.command("invite")
def create_invitation(
    league: League,
    role: Annotated[str, typer.Option(help="competitor or viewer.")] = "competitor",
    uses: Annotated[
        int | None, typer.Option(min=1, help="Number of people who may use it; default: no limit.")
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(help="When the code expires, with a time zone: 2026-12-01T12:00+01:00."),
    ] = None,
    label: Annotated[str, typer.Option(help="Purpose of the code; only hosts see it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Create an invitation code, and a link for it. Both are shown only once."""
    with connect() as ladder:
        terms = {"role": role, "max_uses": uses, "expires_at": expires, "label": label}
        invitation = ladder.post(f"/v1/leagues/{league}/invitations", terms)
    if as_json:
        print_json(invitation)
        return
    stdout.print(invitation["code"])
    stderr.print(f"people join at {ladder.address}/join?code={invitation['code']}")
    stderr.print(f"with a QR code: {ladder.address}/leagues/{league}/invitations")


@leagues.command("role")
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
    if "/" in person or not person.strip("."):
        raise MissingInput(f"give an id (usr_...): the name {person!r} cannot be in an address")
    path = f"/v1/leagues/{league}/members/{quote(person, safe='')}"
    with connect() as ladder:
        if role == "none":
            ladder.delete(path)
        else:
            ladder.put(path, {"role": role})
    stdout.print(f"{person} has no role now" if role == "none" else f"{person} is now {role}")


def register(app: typer.Typer) -> None:
    """Adds ``peck join``; the others belong to ``peck league``."""
    app.command()(join)
