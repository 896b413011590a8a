"""Commands about machines that join and play matches."""

from __future__ import annotations

import time
from typing import Annotated, Final

import typer

from ladder.enums import MachineTier
from services.api_client import Json
from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.saved_login import connect

WAIT_SECONDS: Final = 1.0
machine = typer.Typer(help="Machines that join and play matches.", no_args_is_help=True)
Machine = Annotated[str, typer.Argument(help="Name of a machine, or its id (mch_...).")]


Owner = Annotated[
    str | None,
    typer.Option(
        help="Person whose machine it is; it plays in no season in which this person competes."
        " Default: a trusted machine is the site's own, another one is yours."
    ),
]


@machine.command("invite")
def invite_machine(
    tier: Annotated[
        MachineTier, typer.Option(help="How far the machine is trusted.")
    ] = MachineTier.CHECKED,
    owner: Owner = None,
    as_json: AsJson = False,
) -> None:
    """Make a code with which one machine joins, in the next 24 hours."""
    with connect() as ladder:
        invitation = ladder.post("/v1/machines/invitations", {"tier": tier.value, "owner": owner})
    if as_json:
        print_json(invitation)
        return
    stdout.print("run this on the other machine, in a checkout of the same version:")
    stdout.print(f"./peck machine join {invitation['address']} {invitation['code']}")
    if tier is not MachineTier.TRUSTED:
        stdout.print(
            "it joins as a checked machine, so it plays only agents that any machine may run;"
            " --tier trusted lets it play all"
        )


@machine.command("list")
def list_machines(as_json: AsJson = False) -> None:
    """List the machines that joined: what they play, and what they lack."""
    with connect() as ladder:
        rows = list(ladder.list_items("/v1/machines"))
    if as_json:
        print_json(rows)
        return
    table(
        ["name", "tier", "state", "slots", "running", "speed", "seen", "lacks"],
        [
            (
                row["name"],
                row["tier"],
                state_text(row),
                row["slots"],
                row["running"],
                ", ".join(row["speed_classes"]),
                timestamp_text(row["seen_at"]),
                "; ".join(row["lacks"]),
            )
            for row in rows
        ],
    )


@machine.command("drain")
def drain_machine(
    name: Machine,
    wait: Annotated[bool, typer.Option(help="Wait until it plays nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let a machine claim no more matches; running ones end. Says when it is empty."""
    with connect() as ladder:
        drained = ladder.send("PUT", f"/v1/machines/{name}/drain").json()
        while wait and drained["running"]:
            time.sleep(WAIT_SECONDS)
            drained = ladder.get(f"/v1/machines/{drained['id']}")
    if as_json:
        print_json(drained)
        return
    left = f"plays {drained['running']} now" if drained["running"] else "is empty"
    stdout.print(f"{drained['name']} claims no more matches; it {left}")


@machine.command("resume")
def resume_machine(name: Machine, as_json: AsJson = False) -> None:
    """Let a drained machine claim matches again."""
    with connect() as ladder:
        resumed = ladder.send("DELETE", f"/v1/machines/{name}/drain").json()
    if as_json:
        print_json(resumed)
        return
    stdout.print(f"{resumed['name']} claims matches")


@machine.command("revoke")
def revoke_machine(name: Machine, as_json: AsJson = False) -> None:
    """End the credentials of a machine at once; its matches are queued again."""
    with connect() as ladder:
        revoked = ladder.send("DELETE", f"/v1/machines/{name}").json()
    if as_json:
        print_json(revoked)
        return
    count = len(revoked["matches"])
    stdout.print(f"revoked {revoked['machine']['name']}; matches queued again: {count}")


def state_text(row: Json) -> str:
    """One word about a machine."""
    if row["revoked_at"]:
        return "revoked"
    if row["quarantined_at"]:
        return "quarantine"
    if row["drained_at"]:
        return "draining" if row["running"] else "drained"
    return "on" if row["slots"] else "off"


def register(app: typer.Typer) -> None:
    app.add_typer(machine, name="machine")
