"""Reads the settings of the ladder's processes from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ladder.field_types import SPEED_CLASS

NO_ROOT: Final = (
    "write scheme and host alone, as https://peck.example.org: the site works only at the root of a"
    " host, without a path"
)


class Settings(BaseSettings):
    """Settings read when a process starts; ``PECK_<NAME>`` sets each field."""

    model_config = SettingsConfigDict(env_prefix="PECK_", extra="ignore")

    database_url: str = Field(default="", description="Postgres for api, scheduler and rater")
    worker_database_url: str = Field(
        default="", description="Postgres as the role that may only lease"
    )
    notifier_database_url: str = Field(
        default="", description="Postgres as the role that may only send notices"
    )
    redis_url: str = Field(
        default="",
        description="Redis for wake-up messages and running matches; may be lost at any time",
    )
    blobs_url: str = Field(
        default="",
        description="file:///folder or s3://bucket/prefix; for a machine that joined, the site",
    )
    machine_database_url: str = Field(
        default="", description="Postgres as machines that join reach it, without a login"
    )
    machine_redis_url: str = Field(
        default="", description="Redis as machines that join reach it, without a login"
    )
    machine_blobs_endpoint: str = Field(
        default="",
        description="S3 as machines that join reach it; empty: they read bundles through the site",
    )
    machine_certificates: str = Field(
        default="",
        description="file (PEM) with certificates that machines trust besides public authorities",
    )
    machine_secret: str = Field(
        default="", description="secret of this machine, if it joined; its token at the site"
    )
    run_dir: Path = Field(default=Path(".state/run"), description="sockets and locks of this host")
    node_socket: Path = Field(
        default=Path(".state/run/node.sock"), description="where the node listens"
    )
    remote_socket: Path | None = Field(
        default=None, description="where the remote daemon listens; empty: no remote agents here"
    )
    port: int = Field(default=8000, description="port of the site; `peck up` sets it from --port")
    base_url: str = Field(
        default="http://127.0.0.1:8000", description="address of the site, for links"
    )
    session_secret: str = Field(
        default="", description="protects forms of the site; drawn at start when empty"
    )
    sign_up: Literal["open", "domain", "invitation", "local", "closed"] = Field(
        default="closed",
        description="who may make an account: everybody, people of a mail domain or with a code of"
        " a league, people with a code alone, people on this machine, or nobody",
    )
    sign_up_domains: str = Field(
        default="", description="mail domains of the mode domain, separated by commas"
    )
    identity_providers: str = Field(
        default="", description="JSON list of identity providers, or the path of a file with it"
    )
    smtp_url: str = Field(
        default="",
        description="mail server, as smtp://user:password@host:587; empty: the site sends no mail",
    )
    smtp_from: str = Field(default="", description="address from which the site sends mail")
    egress_allow: str = Field(
        default="", description="networks that may be called although they are not public"
    )
    egress_deny: str = Field(default="", description="networks that are never called")
    egress_ports: str = Field(default="80,443,8000-8999", description="ports that may be called")
    worker_slots: int = Field(default=1, description="matches a worker plays at a time", ge=1)
    max_parallel_seats: int = Field(
        default=0, description="seats that play at a time; 0 means cores - 1, at least 1"
    )
    queues: str = Field(default="play.cpu,scrim,validate", description="queues a worker serves")
    live_streams: int = Field(
        default=1500,
        description="streams of running matches at a process; then pages ask again and again",
        ge=0,
    )
    games: str = Field(default="", description="files of external games, separated by commas")
    speed_class: str = Field(
        default="",
        description="speed class of this machine; empty: the worker measures it",
        pattern=f"^$|{SPEED_CLASS}",
    )

    @field_validator("base_url")
    @classmethod
    def _require_root_of_host(cls, value: str) -> str:
        parts = urlsplit(value)
        try:
            is_root = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:  # no number, or too large
            is_root = False
        more = (parts.path.strip("/"), parts.query, parts.fragment, parts.username or "")
        if parts.scheme not in ("http", "https") or not is_root or any(more):
            raise ValueError(NO_ROOT)
        return f"{parts.scheme}://{parts.netloc}"

    @field_validator("remote_socket", mode="before")
    @classmethod
    def _empty_to_none(cls, value: object) -> object:
        return value or None


class SetupSettings(Settings):
    """Settings of ``services.run.setup`` and ``services.run.passwords``, which run once."""

    worker_password: str = Field(default="", description="password of the workers' role")
    notifier_password: str = Field(default="", description="password of the notifier's role")
    demo_leagues: str = Field(
        default="",
        description="slugs of the demo leagues to create, separated by commas; empty: all",
    )
    postgres_password: str = Field(
        default="",
        validation_alias="POSTGRES_PASSWORD",
        description="password of the server's first role; the server's image defines this variable",
    )
