"""Commands about machines that join and play matches."""

from __future__ import annotations

import re
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Annotated, Final

import httpx
import typer

from ladder.enums import MachineTier
from ladder.errors import LadderError
from ladder.machines import connections
from ladder.machines.connections import WrongCertificate
from sandbox.doctor import examine_machine
from sandbox.settings import LauncherName
from services.api_client import TIMEOUT_SECONDS, Client, Json, Unreachable
from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.saved_login import MissingInput, connect
from services.cli.up import interrupt, print_line
from services.run.joined_machine import (
    CREDENTIALS,
    Credentials,
    JoinedMachine,
    find_node,
    machine_folder,
    read_credentials,
    write_credentials,
)
from services.run.process_supervisor import StartError, UpOptions

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


NAME_CHARS: Final = 60
UNSAFE: Final = "the site gave an unsafe address"
UNPINNED: Final = (
    "this code names no certificate: the site's PECK_BASE_URL must be its https address; then ask"
    " for a new code"
)


@machine.command("join")
def join_machine(
    address: Annotated[str | None, typer.Argument(help="Address of the site.")] = None,
    code: Annotated[str | None, typer.Argument(help="Code from `peck machine invite`.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of this machine at the site; default: its host name.")
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(min=1, help="Matches at a time; default: cores minus one, at least 2."),
    ] = None,
    launcher: Annotated[LauncherName, typer.Option(help="Program that creates sandboxes.")] = (
        LauncherName.AUTO
    ),
    state: Annotated[
        Path | None, typer.Option(help="Folder for all data; default: ./.state.")
    ] = None,
    install: Annotated[
        bool, typer.Option(help="Install bubblewrap if there is no sandbox.")
    ] = True,
    node: Annotated[
        Path | None, typer.Option(help="Socket of a node that runs already; default: start one.")
    ] = None,
    play: Annotated[
        bool, typer.Option(help="With --no-play only get the credentials, and end.")
    ] = True,
) -> None:
    """Play matches of a site on this machine until Ctrl-C. Without a code, continue as before."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        if node is not None:
            find_node(node)
        folder = machine_folder(state)
        credentials = find_credentials(folder, address, code, name, has_node=node is not None)
        if not play:
            print_line(f"joined as {credentials.name}; the credentials are in {folder}")
            return
        options = UpOptions(state=state, install=install, launcher=launcher.value, slots=slots)
        joined = JoinedMachine(options, print_line, credentials=credentials, node=node)
        try:
            joined.start()
            print_line(f"{credentials.name} plays matches of {credentials.address}; Ctrl-C stops")
            joined.watch()
        finally:
            if joined.parts:
                print_line("stopping; running matches get a moment to end")
            joined.stop()
    except StartError as error:
        print(f"peck: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print_line("stopped; run ./peck machine join to continue")


def find_credentials(
    folder: Path,
    address: str | None,
    code: str | None,
    name: str | None,
    *,
    has_node: bool = False,
) -> Credentials:
    """The stored credentials, or new ones for the code. Without a node that runs already it first
    checks whether this machine can isolate agents. Raises MissingInput, ApiError."""
    kept = read_credentials(folder)
    if kept is not None:
        if code is not None:
            raise MissingInput(
                f"this machine joined {kept.address} already: run ./peck machine join without a"
                f" code, or remove {folder / CREDENTIALS}"
            )
        return kept
    if address is None or code is None:
        raise MissingInput("give the address and the code that `peck machine invite` printed")
    try:
        site = connections.check_web_address("the address of the site", address)
    except LadderError as error:
        raise MissingInput(str(error)) from None
    report = None if has_node else examine_machine()
    if report is not None and report.launcher is None:
        raise MissingInput(f"{report.verdict}; run ./peck doctor. The code was not used")
    credentials = request_credentials(site, code, name or own_name())
    write_credentials(folder, credentials)
    return credentials


def request_credentials(site: str, code: str, name: str) -> Credentials:
    """Joins the site with the code. Raises ApiError, Unreachable, and MissingInput for addresses
    without TLS and for a site with another certificate than the code names."""
    secret, fingerprint = connections.split_code(code)
    with Client(site, http=pinned_client(site, fingerprint)) as ladder:
        # Sent once: a code acts once, so a second request could only fail.
        got = ladder.send("POST", "/v1/machines/join", json={"code": secret, "name": name}).json()
    try:
        connections.check_database_address("database_url", got["database_url"])
        connections.check_redis_address("redis_url", got["redis_url"])
    except LadderError as error:
        raise MissingInput(f"{UNSAFE}: {error}") from None
    return Credentials(
        address=site,
        machine=got["machine"]["id"],
        name=got["machine"]["name"],
        database_url=got["database_url"],
        redis_url=got["redis_url"],
        secret=got["secret"],
        queues=tuple(got["queues"]),
        certificates=got["certificates"],
    )


def pinned_client(site: str, fingerprint: str) -> httpx.Client | None:
    """A client that speaks to the certificate with this fingerprint alone. None for a site without
    TLS on this machine. Raises MissingInput, Unreachable."""
    if not site.startswith("https://"):
        return None
    if not fingerprint:
        raise MissingInput(UNPINNED)
    try:
        context = connections.pinned_context(site, fingerprint)
    except WrongCertificate as error:
        raise MissingInput(f"{error}. The code was not used") from None
    except OSError as error:
        raise Unreachable(f"no answer from {site}: {error}") from error
    return httpx.Client(base_url=site, timeout=TIMEOUT_SECONDS, verify=context)


def own_name() -> str:
    """The host name, with other characters replaced."""
    name = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname()).lstrip(".-")
    return name[:NAME_CHARS] or "machine"


def register(app: typer.Typer) -> None:
    app.add_typer(machine, name="machine")
