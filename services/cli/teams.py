"""Commands on teams: make, rename, invite, join, leave, hand over, merge, dissolve."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from ladder.slugs import name_key
from services.api_client import ApiError, Client, Json
from services.cli.confirmation import Yes, confirm
from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.saved_login import MissingInput, connect

teams = typer.Typer(help="Make and manage teams, and join them.", no_args_is_help=True)
Team = Annotated[str, typer.Argument(help="Slug or id of the team.")]


@teams.command("create")
def create_team(
    name: Annotated[str, typer.Argument(help="Name of the team, which everybody sees.")],
    as_json: AsJson = False,
) -> None:
    """Make a team. You become its owner."""
    with connect() as ladder:
        made = ladder.create_team(name)
    show_done(made, f"made {made['name']} ({made['slug']})", as_json)


@teams.command("list")
def list_teams(as_json: AsJson = False) -> None:
    """List your teams, and the invitations that wait for your answer."""
    with connect() as ladder:
        mine, asked = ladder.me()["teams"], ladder.invitations_to_me()
    if as_json:
        print_json({"teams": mine, "invitations": asked})
        return
    table(["team", "name", "id"], [(row["slug"], row["name"], row["id"]) for row in mine])
    for row in asked:
        stdout.print(
            f"{row['by_name']} invites you to {row['team_name']}:"
            f" peck team accept {row['id']} (or decline)"
        )


@teams.command("show")
def show_team(team: Team, as_json: AsJson = False) -> None:
    """Show a team, and its members to those who may see them."""
    with connect(needs_token=False) as ladder:
        found = ladder.team(team)
        try:
            members = ladder.team_members(team)
        except ApiError as error:
            if error.status not in (401, 403):
                raise
            members = []
    if as_json:
        print_json({**found, "members": members})
        return
    state = "" if found["ended_at"] is None else ", ended"
    stdout.print(f"{found['name']} ({found['slug']}){state}")
    if not members:
        return
    table(
        ["member", "role", "id"],
        [(row["name"], "owner" if row["is_owner"] else "", row["id"]) for row in members],
    )


@teams.command("rename")
def rename_team(
    team: Team,
    name: Annotated[str, typer.Argument(help="The new name.")],
    as_json: AsJson = False,
) -> None:
    """Give a team another name. Its slug changes too; its id stays."""
    with connect() as ladder:
        made = ladder.patch(f"/v1/teams/{team}", {"name": name})
    show_done(made, f"the team is now {made['name']} ({made['slug']})", as_json)


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
        made = ladder.invite_to_team(team, person=person, max_uses=uses, expires_at=expires)
        address = ladder.address
    show_done(made, f"{address}{made['path']}", as_json)


@teams.command("invitations")
def list_invitations(team: Team, as_json: AsJson = False) -> None:
    """List a team's invitations."""
    with connect() as ladder:
        rows = list(ladder.list_items(f"/v1/teams/{team}/invitations", limit=200))
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "for", "used", "of", "expires", "state"],
        [
            (
                row["id"],
                row["user_name"] or "anybody",
                row["uses"],
                row["max_uses"],
                timestamp_text(row["expires_at"]),
                row["state"],
            )
            for row in rows
        ],
    )


@teams.command("revoke")
def revoke_invitation(
    team: Team,
    invitation: Annotated[str, typer.Argument(help="Id from `peck team invitations`.")],
    as_json: AsJson = False,
) -> None:
    """Revoke an invitation for good. People who joined by it stay."""
    with connect() as ladder:
        done: Json = ladder.send("DELETE", f"/v1/teams/{team}/invitations/{invitation}").json()
    show_done(done, f"revoked {invitation}", as_json)


@teams.command("join")
def join_team(
    link: Annotated[str, typer.Argument(help="The link, or its code: team_...")],
    as_json: AsJson = False,
) -> None:
    """Join a team by its link."""
    found = re.search(r"team_\w+$", link.strip())
    with connect() as ladder:
        joined = ladder.join_team(found.group() if found else link)
    show_done(joined, f"you are a member of {joined['name']} ({joined['slug']})", as_json)


@teams.command("accept")
def accept_invitation(
    invitation: Annotated[str, typer.Argument(help="Id from `peck team list`.")],
    as_json: AsJson = False,
) -> None:
    """Accept an invitation to you."""
    with connect() as ladder:
        joined = ladder.answer_team_invitation(invitation, "accept")
    show_done(joined, f"you are a member of {joined['name']} ({joined['slug']})", as_json)


@teams.command("decline")
def decline_invitation(
    invitation: Annotated[str, typer.Argument(help="Id from `peck team list`.")],
    as_json: AsJson = False,
) -> None:
    """Decline an invitation to you, for good."""
    with connect() as ladder:
        done = ladder.answer_team_invitation(invitation, "decline")
    show_done(done, f"declined the invitation to {done['team_name']}", as_json)


@teams.command("leave")
def leave_team(team: Team, yes: Yes = False) -> None:
    """Leave a team. In its present seasons you can compete for no other team."""
    consequence = "you can compete for no other team in its present seasons"
    confirm(f"leave {team}", consequence, yes, as_json=False)
    with connect() as ladder:
        ladder.send("DELETE", f"/v1/teams/{team}/members/me")
    stdout.print(f"you left {team}")


@teams.command("remove")
def remove_member(
    team: Team,
    member: Annotated[str, typer.Argument(help="Name or id of the member.")],
) -> None:
    """Remove a member, as an owner. It also revokes the team's links."""
    with connect() as ladder:
        found = find_member(ladder, team, member)
        ladder.send("DELETE", f"/v1/teams/{team}/members/{found['id']}")
    stdout.print(f"removed {found['name']} from {team}")


@teams.command("hand-over")
def hand_over(
    team: Team,
    member: Annotated[str, typer.Argument(help="Name or id of the new owner.")],
) -> None:
    """Make a member the owner. You become an ordinary member."""
    with connect() as ladder:
        found = find_member(ladder, team, member)
        ladder.send("PUT", f"/v1/teams/{team}/owner", json={"user": found["id"]})
    stdout.print(f"{found['name']} owns {team} now")


@teams.command("dissolve")
def dissolve_team(team: Team, yes: Yes = False) -> None:
    """End a team for good: its entries of unfinished seasons retire, finished results stay."""
    consequence = "it ends for good, and its entries of unfinished seasons retire"
    confirm(f"dissolve {team}", consequence, yes, as_json=False)
    with connect() as ladder:
        ladder.send("DELETE", f"/v1/teams/{team}")
    stdout.print(f"{team} is dissolved")


@teams.command("merge")
def ask_for_merge(
    team: Team,
    into: Annotated[str, typer.Argument(help="Slug or id of the team that remains.")],
    as_json: AsJson = False,
) -> None:
    """Ask another team to take this one in. Its owner has a week to agree."""
    with connect() as ladder:
        asked = ladder.post(f"/v1/teams/{team}/merges", {"into": into})
    show_done(asked, f"asked {asked['into_team_name']}; the request is {asked['id']}", as_json)


@teams.command("merges")
def list_merges(team: Team, as_json: AsJson = False) -> None:
    """List the open requests for a merge, from and to a team."""
    with connect() as ladder:
        rows = ladder.get(f"/v1/teams/{team}/merges")["items"]
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "team", "wants to join", "expires"],
        [
            (row["id"], row["team_name"], row["into_team_name"], timestamp_text(row["expires_at"]))
            for row in rows
        ],
    )


@teams.command("accept-merge")
def accept_merge(
    request: Annotated[str, typer.Argument(help="Id from `peck team merges`.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Agree to a merge, for good: the other team becomes part of yours."""
    consequence = "its people, agents and entries join yours for good"
    confirm("take the other team in", consequence, yes, as_json)
    with connect() as ladder:
        merged = ladder.post(f"/v1/team-merges/{request}/accept")
    show_done(merged, f"merged into {merged['name']} ({merged['slug']})", as_json)


@teams.command("end-merge")
def end_merge(
    request: Annotated[str, typer.Argument(help="Id from `peck team merges`.")],
) -> None:
    """Decline or withdraw a request for a merge."""
    with connect() as ladder:
        ladder.send("DELETE", f"/v1/team-merges/{request}")
    stdout.print(f"the request {request} is closed")


@teams.command("acts")
def list_acts(team: Team, as_json: AsJson = False) -> None:
    """Show what people did with a team; for its members."""
    with connect() as ladder:
        rows = list(ladder.list_items(f"/v1/teams/{team}/acts", most=100, limit=100))
    if as_json:
        print_json(rows)
        return
    table(
        ["when", "who", "did", "to"],
        [
            (
                timestamp_text(row["created_at"]),
                row["by_name"],
                row["act"],
                row["subject_name"] or row["subject"],
            )
            for row in rows
        ],
    )


def show_done(answer: Json, sentence: str, as_json: bool) -> None:
    """Prints the API's answer, or a sentence."""
    if as_json:
        print_json(answer)
    else:
        stdout.print(sentence)


def find_member(ladder: Client, team: str, name: str) -> Json:
    """The member with this name or id. Raises MissingInput with the existing names."""
    members = ladder.team_members(team)
    for row in members:
        if name == row["id"] or name_key(name) == name_key(row["name"]):
            return row
    names = ", ".join(row["name"] for row in members)
    raise MissingInput(f"choose a member of {team}: {names}; {name!r} is not one")


def register(app: typer.Typer) -> None:
    app.add_typer(teams, name="team")
