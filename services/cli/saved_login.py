"""Finds the service and the login: environment, `peck login`, or a running `peck up`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import typer

from services.api_client import ApiError, Client
from services.cli.display import stderr
from services.environment_variables import CHECKOUT, Environment

DEFAULT_ADDRESS: Final = "http://127.0.0.1:8000"


class MissingInput(Exception):
    """The command needs an input that is missing. The message says how to give it.

    ``next_step`` is the command to type first, if the message does not name it.
    """

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step


@dataclass(frozen=True, slots=True)
class Login:
    """An address and a token, and their source."""

    address: str
    token: str | None
    source: str
    unused: str | None = None
    """Address of a running `peck up` of this checkout, if the login names another service."""


def config_file() -> Path:
    """The file where `peck login` saves the login."""
    return Path(typer.get_app_dir("peck")) / "login.json"


def state_dir() -> Path:
    """The folder where `peck up` of this checkout writes its address and token."""
    return Path(Environment.read().state or CHECKOUT / ".state")


def find_login() -> Login:
    """The first that exists of PECK_URL, `peck login` and a running `peck up`.

    PECK_TOKEN replaces the token found there. With PECK_URL, the token saved for that address is
    used, if any.
    """
    environment = Environment.read()
    address, token = environment.url, environment.token or None
    logins = [
        login for login in (read_saved_login(), running_instance_login()) if login is not None
    ]
    if address:
        kept = [login.token for login in logins if login.address == address.rstrip("/")]
        return Login(address, token or next(iter(kept), None), "PECK_URL")
    if not logins:
        return Login(DEFAULT_ADDRESS, token, "default")
    chosen, *others = logins
    unused = [login.address for login in others if login.address != chosen.address]
    return replace(chosen, token=token or chosen.token, unused=next(iter(unused), None))


def read_saved_login() -> Login | None:
    """The login that `peck login` saved. Raises MissingInput for a damaged file."""
    file = config_file()
    if not file.is_file():
        return None
    try:
        kept = json.loads(file.read_text())
        return Login(kept["address"].rstrip("/"), kept.get("token"), str(file))
    except (ValueError, LookupError, TypeError, AttributeError):
        raise MissingInput(f"delete {file}: it holds no login", "peck login ADDRESS") from None


def running_instance_login() -> Login | None:
    """The login of a running `peck up` of this checkout."""
    address = first_line(state_dir() / "address")
    if address is None:
        return None
    return Login(address.rstrip("/"), first_line(state_dir() / "token"), str(state_dir()))


def first_line(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def connect(*, needs_token: bool = True) -> Client:
    """A client for the service. Raises MissingInput if a token is needed and missing.

    If `peck login` and a running `peck up` name different services, the client prints the account
    and the address on stderr before the first request that changes something.
    """
    login = find_login()
    if needs_token and not login.token:
        raise missing_token(login.address)
    client = Client(login.address, login.token)
    if login.unused is not None:
        client.before_change = partial(_announce_login, login)
    return client


def missing_token(address: str) -> MissingInput:
    return MissingInput(
        "run 'peck login', set PECK_TOKEN, or start 'peck up' here: there is no token for"
        f" {address}"
    )


def _announce_login(login: Login, client: Client) -> None:
    try:
        name = client.get("/v1/me")["user"]["name"]
    except ApiError:
        name = "an unknown user"
    stderr.print(f"as {name} at {login.address} (peck login); {use_running_instance_hint(login)}")


def use_running_instance_hint(login: Login) -> str:
    """How to use the running `peck up` instead of the login."""
    return (
        f"set PECK_URL={login.unused} or run `peck logout` to use the peck up of this "
        f"checkout at {login.unused}"
    )


def renew_login_hint(login: Login) -> str:
    """The command to type if the service does not accept the login's token."""
    if Environment.read().token:
        return f"set PECK_TOKEN to a token of {login.address}, or unset it"
    here = running_instance_login()
    if here is not None and here.address == login.address.rstrip("/") and here.token != login.token:
        command = _login_command(login)
        return f"peck logout (to use the token of the running peck up), or {command}"
    return _login_command(login)


def _login_command(login: Login) -> str:
    return f"peck login {login.address}"


def save_login(address: str, token: str) -> Path:
    """Saves a login in the user's configuration. Only the user can read it."""
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump({"address": address, "token": token}, file)
    path.chmod(0o600)
    return path


def delete_saved_login() -> bool:
    """Deletes the login that `peck login` saved. Returns whether there was one."""
    there = config_file().is_file()
    config_file().unlink(missing_ok=True)
    return there
