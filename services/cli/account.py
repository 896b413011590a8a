"""Commands on the user's account: sign-up, login, logout, whoami."""

from __future__ import annotations

import socket
import time
import webbrowser
from typing import Annotated
from urllib.parse import urlencode

import typer

from services.api_client import ApiError, Client, Unreachable
from services.cli.display import AsJson, print_json, stdout
from services.cli.saved_login import (
    DEFAULT_ADDRESS,
    MissingInput,
    connect,
    delete_saved_login,
    find_login,
    read_saved_login,
    save_login,
    use_running_instance_hint,
)
from services.environment_variables import Environment

MADE_HERE = ("peck login on ", "peck sign-up")
"""Starts of the labels of tokens that nobody else has."""


def login(
    address: Annotated[str, typer.Argument(help="Address of the service.")] = DEFAULT_ADDRESS,
    token: Annotated[
        str,
        typer.Option(help="Use this token and open no browser.", envvar="PECK_TOKEN"),
    ] = "",
    paste: Annotated[
        bool, typer.Option("--paste", help="Ask for a token here and open no browser.")
    ] = False,
) -> None:
    """Sign in: confirm a code in your browser. Saves address and token for this user."""
    address = address.rstrip("/")
    if paste:
        token = typer.prompt("Token", hide_input=True)
    text = token.strip() or wait_for_confirmation(address)
    with Client(address, text) as ladder:
        me = ladder.get("/v1/me")
    path = save_login(address, text)
    stdout.print(f"Logged in as {me['user']['name']} at {address}; saved in {path}")


def wait_for_confirmation(address: str) -> str:
    """The token of a login that the user confirms in a browser. Raises MissingInput without one."""
    with Client(address) as ladder:
        login = ladder.post(
            "/v1/device-logins", {"device": socket.gethostname()[:60] or "a device"}
        )
        page = f"{address}/device?{urlencode({'code': login['code']})}"
        stdout.print(f"Open {page}")
        stdout.print(f"and confirm the code {login['code']}")
        if address.startswith(("http://", "https://")):
            webbrowser.open(page)
        while True:
            time.sleep(login["poll_seconds"])
            answer = ladder.post("/v1/device-logins/token", {"secret": login["secret"]})
            if answer["state"] == "confirmed":
                return str(answer["token"])
            if answer["state"] != "waiting":
                raise MissingInput(f"the login is {answer['state']}; run `peck login` again")


def sign_up(
    name: Annotated[str, typer.Argument(help="Your name, which everybody sees.")],
    address: Annotated[str, typer.Argument(help="Address of the service.")] = DEFAULT_ADDRESS,
    code: Annotated[str, typer.Option(help="Invitation code, if the site needs one.")] = "",
) -> None:
    """Make an account with a password, and sign in here. Asks for the password."""
    address = address.rstrip("/")
    password = Environment.read().password or str(
        typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    )
    with Client(address) as ladder:
        account = ladder.post("/v1/sign-up", {"name": name, "password": password, "code": code})
    path = save_login(address, account["token"])
    stdout.print(f"Welcome, {account['user']['name']}.")
    if account["team"] is not None:
        stdout.print(f"Your team is {account['team']['slug']}.")
    if code:
        stdout.print(f"Read the terms and join the league: peck join {code}")
    stdout.print(f"Logged in at {address}; saved in {path}")


def logout() -> None:
    """Forget the saved login and revoke its token. A pasted token stays valid."""
    login = read_saved_login()
    if login is None:
        stdout.print("there was no login")
        return
    try:
        is_revoked = login.token is not None and revoke_own_token(login.address, login.token)
        outcome = "and its token is revoked" if is_revoked else "its token stays valid"
    except (ApiError, Unreachable) as error:
        outcome = f"its token may stay valid ({error}); revoke it on {login.address}/me/account"
    delete_saved_login()
    stdout.print(f"the login is deleted; {outcome}")


def revoke_own_token(address: str, token: str) -> bool:
    """Revokes a token that `peck login` or `peck sign-up` made. Returns whether it is revoked."""
    with Client(address, token) as ladder:
        own_token = ladder.get("/v1/me")["token"]
        if not own_token["label"].startswith(MADE_HERE):
            return False
        ladder.send("DELETE", f"/v1/users/me/tokens/{own_token['id']}")
    return True


def whoami(as_json: AsJson = False) -> None:
    """Show the user, teams and scopes of the present token."""
    saved = find_login()
    with connect() as ladder:
        me = ladder.get("/v1/me")
    if as_json:
        print_json(me)
        return
    teams = ", ".join(f"{team['name']} ({team['slug']})" for team in me["teams"]) or "no team"
    stdout.print(f"{me['user']['name']}, {teams}, at {saved.address} (from {saved.source})")
    stdout.print(f"scopes: {', '.join(me['scopes'])}")
    if saved.unused is not None:
        stdout.print(use_running_instance_hint(saved))


def register(app: typer.Typer) -> None:
    app.command("sign-up")(sign_up)
    app.command()(login)
    app.command()(logout)
    app.command()(whoami)
