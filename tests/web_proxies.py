"""nginx and Caddy before a site, with the files of ``deploy/`` that operators copy."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.certificates import Authority
from tests.ports import free_port

DEPLOY: Final = Path(__file__).parents[1] / "deploy"
PROGRAMS: Final = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin"
SITE: Final = "127.0.0.1:8000"
"""The address of the site in the files."""
NAME: Final = "peck.example.org"
NGINX: Final = """
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""
CADDY: Final = "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n"


@dataclass(frozen=True)
class WebProxy:
    """A running web server before a site."""

    address: str
    authority: Authority


def edited(file: Path, changes: Mapping[str, str]) -> str:
    """The text of a file with these changes; fails if one changes nothing."""
    text = file.read_text()
    for before, after in changes.items():
        assert before in text, f"{file.name} has no {before!r}"
        text = text.replace(before, after)
    return text


def find_program(name: str) -> str:
    """The path of a program; the test is not run without it."""
    path = shutil.which(name, path=PROGRAMS)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@dataclass(frozen=True)
class Nginx(WebProxy):
    """A running nginx, which can be told to use the site at another port."""

    folder: Path
    changes: Mapping[str, str]

    def use(self, site: str) -> None:
        """Edits the file as an operator does, and loads it again."""
        self.write(site)
        subprocess.run([find_program("nginx"), *self.options, "-s", "reload"], check=True)

    def write(self, site: str) -> None:
        text = edited(DEPLOY / "nginx.conf", {**self.changes, f"server {SITE}": f"server {site}"})
        (self.folder / "site.conf").write_text(text)

    @property
    def options(self) -> tuple[str, ...]:
        return "-c", str(self.folder / "nginx.conf"), "-e", str(self.folder / "error.log")


@contextmanager
def nginx(folder: Path, site: str, changes: Mapping[str, str] | None = None) -> Iterator[Nginx]:
    """nginx with ``deploy/nginx.conf`` before the site at this address."""
    program = find_program("nginx")
    authority = Authority(folder)
    key = authority.sign("IP:127.0.0.1").with_suffix(".key")
    port = free_port()
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, user=user))
    folder_of_certificate = f"/etc/letsencrypt/live/{NAME}"
    proxy = Nginx(
        f"https://127.0.0.1:{port}",
        authority,
        folder,
        {
            "listen 80;": f"listen 127.0.0.1:{free_port()};",
            "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
            f"{folder_of_certificate}/fullchain.pem": str(key.with_suffix(".pem")),
            f"{folder_of_certificate}/privkey.pem": str(key),
            **(changes or {}),
        },
    )
    proxy.write(site)
    with subprocess.Popen([program, *proxy.options]) as running:
        try:
            yield proxy
        finally:
            running.terminate()


@contextmanager
def caddy(folder: Path, site: str, changes: Mapping[str, str] | None = None) -> Iterator[WebProxy]:
    """Caddy with ``deploy/Caddyfile`` before the site at this address."""
    program = find_program("caddy")
    authority = Authority(folder)
    key = authority.sign("IP:127.0.0.1").with_suffix(".key")
    address = f"https://127.0.0.1:{free_port()}"
    head = f"{address} {{\n\ttls {key.with_suffix('.pem')} {key}"
    text = edited(
        DEPLOY / "Caddyfile",
        {f"{NAME} {{": head, f"proxy {SITE}": f"proxy {site}", **(changes or {})},
    )
    (folder / "Caddyfile").write_text(CADDY + text)
    command = [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    homes = {name: str(folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    with subprocess.Popen(
        command, env={**os.environ, **homes}, stderr=subprocess.DEVNULL
    ) as running:
        try:
            yield WebProxy(address, authority)
        finally:
            running.kill()  # it would wait for open connections
