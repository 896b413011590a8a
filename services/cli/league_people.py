"""Commands on the people of a league: join, invite, members, roles, the roster and its results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from services.api_client import Json
from services.cli.display import (
    AsJson,
    print_json,
    show_done,
    show_list,
    stderr,
    stdout,
    timestamp_text,
)
from services.cli.leagues import League, Season, leagues
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


@leagues.command("members")
def list_members(league: League, as_json: AsJson = False) -> None:
    """List the members of a league and their roles; hosts only."""
    with connect() as ladder:
        rows = list(ladder.list_items(f"/v1/leagues/{league}/members", limit=200))
    show_list(rows, {"id": "user_id", "name": "name", "role": "role"}, as_json)


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


@leagues.command("import")
def import_roster(
    league: League,
    roster: Annotated[
        Path, typer.Argument(help="CSV with the header name,team,role,external_id.", dir_okay=False)
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the effect, change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import a league's roster from a CSV file. The code of each new person is shown only once."""
    text = roster.read_text(encoding="utf-8", errors="replace")
    with connect() as ladder:
        imported = ladder.post(f"/v1/leagues/{league}/roster", {"csv": text, "dry_run": dry_run})
    if as_json:
        print_json(imported)
        return
    change = "would be" if dry_run else "is"
    show_list(
        imported["items"],
        {**ROSTER, change: "change", "code": "code"},
        as_json,
    )


ROSTER = {"external id": "external_id", "name": "name", "team": "team", "role": "role"}


@leagues.command("roster")
def read_roster(league: League, as_json: AsJson = False) -> None:
    """Show the people on a league's roster, and who of them joined."""
    with connect() as ladder:
        rows = ladder.get(f"/v1/leagues/{league}/roster")["items"]
    show_list(
        rows,
        {
            **ROSTER,
            "joined as": "user_name",
            "invitation": lambda row: "revoked" if row["is_revoked"] else row["invitation_id"],
        },
        as_json,
    )


@leagues.command("export")
def export_standings(
    league: Season,
    path: Annotated[
        Path | None, typer.Option("--path", "-p", help="File to write; default: stdout.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export the standings as CSV, or as JSON. Hosts also get the external ids."""
    form = "json" if as_json else "csv"
    with connect(needs_token=False) as ladder:
        text = ladder.send("GET", f"/v1/seasons/{league}/standings", params={"format": form}).text
    if path is None:
        stdout.print(text, end="" if text.endswith("\n") else "\n")
        return
    path.write_text(text, encoding="utf-8", newline="")
    stdout.print(f"wrote {path}")


@leagues.command("extend")
def extend(
    league: Season,
    team: Annotated[str, typer.Argument(help="Slug or id of the team.")],
    until: Annotated[
        str, typer.Argument(help="New deadline with a time zone: 2026-12-03T18:00+01:00.")
    ],
    reason: Annotated[str, typer.Option(help="One sentence for the audit log.")],
    as_json: AsJson = False,
) -> None:
    """Give one team a later upload deadline."""
    with connect() as ladder:
        path = f"/v1/seasons/{league}/extensions/{team}"
        extension = ladder.put(path, {"closes_at": until, "reason": reason})
    moment = timestamp_text(extension["closes_at"])
    show_done(extension, f"{extension['team_name']} may upload until {moment} UTC", as_json)


def register(app: typer.Typer) -> None:
    """Adds ``peck join``; the others belong to ``peck league``."""
    app.command()(join)
