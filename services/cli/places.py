"""Which service to speak to and as whom: options, environment, a running `peck up`, the login."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from services.client import Client

CHECKOUT: Final = Path(__file__).resolve().parents[2]
DEFAULT_ADDRESS: Final = "http://127.0.0.1:8000"


class Unset(Exception):
    """Something the command needs was not given; the message says how to give it."""


@dataclass(frozen=True, slots=True)
class Login:
    """An address, the token to use there, and where both were found."""

    address: str
    token: str | None
    source: str


def config_file() -> Path:
    """Where `peck login` keeps what it was given."""
    return Path(typer.get_app_dir("peck")) / "login.json"


def state_dir() -> Path:
    """Where a `peck up` of this checkout leaves its address and token."""
    return Path(os.environ.get("PECK_STATE") or CHECKOUT / ".state")


def find_login() -> Login:
    """The first that is there: PECK_URL and PECK_TOKEN, a running `peck up`, `peck login`."""
    address, token = os.environ.get("PECK_URL"), os.environ.get("PECK_TOKEN")
    if address:
        return Login(address, token, "PECK_URL")
    local = line_of(state_dir() / "address")
    if local:
        return Login(local, token or line_of(state_dir() / "token"), str(state_dir()))
    saved = config_file()
    if saved.is_file():
        kept = json.loads(saved.read_text())
        return Login(kept["address"], token or kept.get("token"), str(saved))
    return Login(DEFAULT_ADDRESS, token, "default")


def line_of(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def connect(*, needs_token: bool = True) -> Client:
    """A client for the service found. Raises Unset when a token is needed and there is none."""
    login = find_login()
    if needs_token and not login.token:
        raise Unset(
            f"no token for {login.address}: run 'peck login', set PECK_TOKEN, or start 'peck up' "
            "here"
        )
    return Client(login.address, login.token)


def save(address: str, token: str) -> Path:
    """Keeps a login in the user's own configuration, readable by nobody else."""
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump({"address": address, "token": token}, file)
    path.chmod(0o600)
    return path
