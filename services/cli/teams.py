"""Commands on teams: make, list, show, invite, join."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from services.api_client import ApiError
from services.cli.display import AsJson, print_json, show_done, stdout, table
from services.cli.saved_login import connect

teams = typer.Typer(help="Make teams, and join them.", no_args_is_help=True)
Team = Annotated[str, typer.Argument(help="Slug or id of the team.")]


@teams.command("create")
def create_team(
    name: Annotated[str, typer.Argument(help="Name of the team, which everybody sees.")],
    as_json: AsJson = False,
) -> None:
    """Make a team. You become its owner."""
    with connect() as ladder:
        team = ladder.post("/v1/teams", {"name": name})
    show_done(team, f"made {team['name']} ({team['slug']})", as_json)


@teams.command("list")
def list_teams(as_json: AsJson = False) -> None:
    """List your teams, and the invitations that wait for your answer."""
    with connect() as ladder:
        mine = ladder.get("/v1/me")["teams"]
        invitations = list(ladder.list_items("/v1/users/me/team-invitations", limit=200))
    if as_json:
        print_json({"teams": mine, "invitations": invitations})
        return
    table(["team", "name", "id"], [(row["slug"], row["name"], row["id"]) for row in mine])
    for row in invitations:
        stdout.print(
            f"{row['by_name']} invites you to {row['team_name']}:"
            f" peck api accept-team-invitation {row['id']} (or decline-team-invitation)"
        )


@teams.command("show")
def show_team(team: Team, as_json: AsJson = False) -> None:
    """Show a team, and its members to those who may see them."""
    with connect(needs_token=False) as ladder:
        shown = ladder.get(f"/v1/teams/{team}")
        try:
            members = ladder.get(f"/v1/teams/{team}/members")["items"]
        except ApiError as error:
            if error.status not in (401, 403):
                raise
            members = []
    if as_json:
        print_json({**shown, "members": members})
        return
    state = "" if shown["ended_at"] is None else ", ended"
    stdout.print(f"{shown['name']} ({shown['slug']}){state}")
    if not members:
        return
    table(
        ["member", "role", "id"],
        [(row["name"], "owner" if row["is_owner"] else "", row["id"]) for row in members],
    )


@teams.command("invite")
def invite(
    team: Team,
    person: Annotated[
        str | None, typer.Argument(help="Name of the only person who may join; default: anybody.")
    ] = None,
    uses: Annotated[int, typer.Option(min=1, max=100, help="People who may use the link.")] = 1,
    expires: Annotated[
        str | None,
        typer.Option(help="When it ends, with a time zone: 2026-12-01T12:00+01:00."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Invite people. Prints a link, which is shown only once and lasts a week."""
    with connect() as ladder:
        terms = {"person": person, "max_uses": uses, "expires_at": expires}
        invitation = ladder.post(f"/v1/teams/{team}/invitations", terms)
        address = ladder.address
    show_done(invitation, f"{address}{invitation['path']}", as_json)


@teams.command("join")
def join_team(
    link: Annotated[str, typer.Argument(help="The link, or its code: team_...")],
    as_json: AsJson = False,
) -> None:
    """Join a team by its link."""
    code_match = re.search(r"team_\w+$", link.strip())
    with connect() as ladder:
        joined = ladder.post("/v1/join-team", {"code": code_match.group() if code_match else link})
    show_done(joined, f"you are a member of {joined['name']} ({joined['slug']})", as_json)


def register(app: typer.Typer) -> None:
    app.add_typer(teams, name="team")
