"""Commands of membership: join and agree; for hosts the invitation codes of a league."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from services.api_client import Json
from services.cli.display import AsJson, print_json, stderr, stdout, table, timestamp_text
from services.cli.leagues import leagues
from services.cli.saved_login import MissingInput, connect

League = Annotated[str, typer.Argument(help="Slug or id of the league.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Agree to the terms without a question.")]


def join(
    code: Annotated[str, typer.Argument(help="The invitation code, join_...")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Join a league with its invitation code, after reading the terms."""
    with connect() as ladder:
        invited = ladder.invitation_terms(code)
        if not as_json:
            stdout.print(f"{invited['title']} ({invited['slug']}), as {invited['role']}")
        ask_for_agreement(invited["terms"], yes, quiet=as_json)
        joined = ladder.join(code, invited["terms"]["digest"])
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
        made = ladder.invite(league, role=role, max_uses=uses, expires_at=expires, label=label)
    if as_json:
        print_json(made)
        return
    stdout.print(made["code"])
    stderr.print(f"people join at {ladder.address}/join?code={made['code']}")
    stderr.print(f"with a QR code: {ladder.address}/leagues/{league}/invitations")


@leagues.command("invitations")
def list_invitations(league: League, as_json: AsJson = False) -> None:
    """List a league's invitation codes; hosts only."""
    with connect() as ladder:
        rows = list(ladder.invitations(league))
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "label", "role", "used", "of", "expires", "revoked"],
        [
            (
                row["id"],
                row["label"],
                row["role"],
                row["uses"],
                row["max_uses"],
                timestamp_text(row["expires_at"]),
                timestamp_text(row["revoked_at"]),
            )
            for row in rows
        ],
    )


@leagues.command("revoke")
def revoke_invitation(
    league: League,
    invitation: Annotated[str, typer.Argument(help="Id from `peck league invitations`.")],
    as_json: AsJson = False,
) -> None:
    """Revoke an invitation code for good. People who joined with it stay members."""
    with connect() as ladder:
        revoked = ladder.revoke_invitation(league, invitation)
    if as_json:
        print_json(revoked)
    else:
        stdout.print(f"revoked {invitation}; joined with it: {revoked['uses']}")


@leagues.command("terms")
def read_terms(league: League, as_json: AsJson = False) -> None:
    """Show what joining a league means, and whether you agreed."""
    with connect(needs_token=False) as ladder:
        terms = ladder.terms(league)
    if as_json:
        print_json(terms)
        return
    stdout.print(terms["text"])
    if terms["agreed"]:
        stdout.print(f"you agreed to this on {timestamp_text(terms['agreed_at'])}")


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
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Agree to a league's terms, or to wider terms that its host asks for."""
    with connect() as ladder:
        terms = ladder.terms(
            league,
            visibility=visibility,
            replay_visibility=replays,
            remote_agents="true" if remote_agents else None,
        )
        ask_for_agreement(terms, yes, quiet=as_json)
        agreed = ladder.consent(league, terms["digest"])
    if as_json:
        print_json(agreed)
    else:
        stdout.print(f"agreed on {timestamp_text(agreed['agreed_at'])}")


def register(app: typer.Typer) -> None:
    app.command()(join)
