"""Commands on notices: the list, channels, deliveries and choices."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from services.cli.display import AsJson, print_json, print_nothing, stdout, table, timestamp_text
from services.cli.name_lookup import own_agent
from services.cli.saved_login import connect

notices = typer.Typer(help="Read your notices, and choose where they go.", no_args_is_help=True)
ChannelId = Annotated[str, typer.Argument(help="Id from `peck notices channels`.")]


class ChannelForm(StrEnum):
    WEBHOOK = "webhook"
    DISCORD = "discord"
    SLACK = "slack"
    MAIL = "mail"


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


class Level(StrEnum):
    OFF = "off"
    USUAL = "usual"
    ALL = "all"


@notices.command("list")
def list_notices(
    unread: Annotated[bool, typer.Option("--unread", help="Only unread ones.")] = False,
    read: Annotated[bool, typer.Option("--read", help="Mark all as read.")] = False,
    show: Annotated[int, typer.Option("-n", "--show", min=1, help="Notices to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show your notices, newest last."""
    with connect() as ladder:
        rows = list(ladder.notices(unread=unread, most=show))
        if read and rows:
            ladder.mark_notices_read(rows[0]["id"])
    rows.reverse()
    if as_json:
        print_json(rows)
        return
    for row in rows:
        mark = " " if row["read_at"] else "*"
        stdout.print(f"{mark} {timestamp_text(row['created_at'])}  {row['title']}: {row['text']}")
    if not rows:
        print_nothing("peck notices choose (shows which notices you get)")


@notices.command("requests")
def list_open_requests(as_json: AsJson = False) -> None:
    """List the requests of others that wait for your answer, newest last."""
    with connect() as ladder:
        rows, address = list(ladder.open_requests())[::-1], ladder.address
    if as_json:
        print_json(rows)
        return
    for row in rows:
        until = timestamp_text(row["expires_at"])
        stdout.print(f"until {until}  {row['title']}: {address}{row['path']}")
    if not rows:
        print_nothing("peck notices list")


@notices.command("channels")
def list_channels(as_json: AsJson = False) -> None:
    """List your channels."""
    with connect() as ladder:
        rows = ladder.notice_channels()
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "form", "address", "state", "failures", "waiting", "last sent"],
        [
            (
                *(row["id"], row["form"], f"{row['host']} …{row['address_end']}"),
                row["off_reason"] or row["state"],
                *(row["failures"], row["waiting"], timestamp_text(row["last_sent_at"])),
            )
            for row in rows
        ],
        "peck notices add ADDRESS",
    )


@notices.command("add")
def add_channel(
    address: Annotated[
        str, typer.Argument(help="Public address that gets the notices; none for mail.")
    ] = "",
    form: Annotated[
        ChannelForm, typer.Option(help="What the receiver understands.")
    ] = ChannelForm.WEBHOOK,
    as_json: AsJson = False,
) -> None:
    """Add a channel and send a test to it. A webhook's secret is shown only once."""
    with connect() as ladder:
        made = ladder.create_notice_channel(address, form.value)
    if as_json:
        print_json(made)
        return
    stdout.print(made["id"])
    if made["secret"]:
        stdout.print(f"secret: {made['secret']}")
    stdout.print(f"a test is on its way: peck notices deliveries {made['id']}")


@notices.command("deliveries")
def list_deliveries(
    channel: ChannelId,
    show: Annotated[int, typer.Option("-n", "--show", min=1, help="Deliveries to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List what was sent to a channel and what failed, newest first."""
    with connect() as ladder:
        rows = list(ladder.notice_deliveries(channel, most=show))
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "kind", "state", "attempts", "status", "made", "problem"],
        [
            (
                *(row["id"], row["kind"] or "test", row["state"], row["attempts"], row["status"]),
                *(timestamp_text(row["created_at"]), row["problem"]),
            )
            for row in rows
        ],
    )


@notices.command("test")
def send_test(channel: ChannelId) -> None:
    """Send a test to a channel."""
    with connect() as ladder:
        ladder.post(f"/v1/me/notices/channels/{channel}/tests")
    stdout.print(f"a test is on its way: peck notices deliveries {channel}")


@notices.command("switch")
def switch_channel(
    channel: ChannelId, state: Annotated[Switch, typer.Argument(help="on or off")]
) -> None:
    """Switch a channel on or off."""
    with connect() as ladder:
        ladder.patch(f"/v1/me/notices/channels/{channel}", {"state": state.value})
    stdout.print(f"{channel} is {state.value}")


@notices.command("remove")
def remove_channel(channel: ChannelId) -> None:
    """Delete a channel with its deliveries."""
    with connect() as ladder:
        ladder.send("DELETE", f"/v1/me/notices/channels/{channel}")
    stdout.print(f"deleted {channel}")


@notices.command("choose")
def choose_notices(
    topic: Annotated[str | None, typer.Argument(help="Topic of notices; none: show all.")] = None,
    form: Annotated[
        str | None, typer.Argument(help="page, mail, webhook, discord or slack")
    ] = None,
    level: Annotated[Level, typer.Argument(help="Which notices of the topic.")] = Level.USUAL,
    as_json: AsJson = False,
) -> None:
    """Choose which notices you get, or show the choices."""
    with connect() as ladder:
        if topic is None or form is None:
            rows: Any = ladder.get("/v1/me/notices/preferences")
        else:
            choice = {"topic": topic, "form": form, "level": level.value}
            rows = ladder.patch("/v1/me/notices/preferences", {"choices": [choice]})
    if as_json:
        print_json(rows)
        return
    forms = list(rows[0]["forms"])
    table(
        ["topic", *forms],
        [(row["topic"], *(row["forms"][form] for form in forms)) for row in rows],
    )


@notices.command("feed")
def create_feed(
    agent: Annotated[str | None, typer.Option(help="Only notices about this agent.")] = None,
    league: Annotated[str | None, typer.Option(help="Only notices about this league.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a private Atom feed and print its secret address, which is shown only once."""
    with connect() as ladder:
        found = own_agent(ladder, agent)["id"] if agent else None
        made = ladder.create_notice_feed(agent=found, league=league)
    if as_json:
        print_json(made)
    else:
        stdout.print(made["address"])


@notices.command("feeds")
def list_feeds(as_json: AsJson = False) -> None:
    """List your private Atom feeds."""
    with connect() as ladder:
        rows = ladder.notice_feeds()
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "about", "made"],
        [
            (
                row["id"],
                row["agent_name"] or row["league_title"] or "everything",
                timestamp_text(row["created_at"]),
            )
            for row in rows
        ],
    )


@notices.command("revoke")
def revoke_feed(
    feed: Annotated[str, typer.Argument(help="Id from `peck notices feeds`.")],
) -> None:
    """Revoke a private Atom feed for good."""
    with connect() as ladder:
        ladder.send("DELETE", f"/v1/me/notices/feeds/{feed}")
    stdout.print(f"revoked {feed}")


def register(app: typer.Typer) -> None:
    app.add_typer(notices, name="notices")
