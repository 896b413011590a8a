"""The site hands out `peck`: one archive, and a quick start with the site's own address."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from ladder.entries import reference_agents
from services.web import client_download, documents
from tests.web.conftest import Site, served
from tests.web.seeding import Contest

CHECKOUT = Path(__file__).resolve().parents[2]


def members(archive: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as packed:
        return {member.name: member for member in packed.getmembers()}


def test_quick_start_shows_the_address_of_the_site(site: Site) -> None:
    text = site.get("/docs/quick-start").text
    assert f"curl -fsSL {site.address}/peck.tar.gz | tar -xz" in text
    assert f"./peck login {site.address}" in text
    assert documents.EXAMPLE_ADDRESS not in text


def test_league_page_says_how_to_get_the_command_line(site: Site) -> None:
    text = site.get("/leagues/hungry-geese").text
    assert f"curl -fsSL {site.address}/peck.tar.gz | tar -xz" in text


def test_pages_show_the_configured_address_behind_a_proxy(
    seeded_database: tuple[str, str, Contest], tmp_path: Path
) -> None:
    address = "https://peck.example.org"
    with served(seeded_database, tmp_path / "log", PECK_BASE_URL=address) as site:
        quick_start = site.get("/docs/quick-start").text
        league = site.get("/leagues/hungry-geese").text
        for text in (quick_start, league):
            assert f"curl -fsSL {address}/peck.tar.gz | tar -xz" in text
            assert f"./peck login {address}" in text
            assert site.address not in text
        assert f'property="og:url" content="{address}/leagues/hungry-geese"' in league
        assert address in site.get("/docs/api/leagues").text


def test_downloaded_command_line_starts(site: Site, tmp_path: Path) -> None:
    answer = site.get("/peck.tar.gz")
    assert answer.headers["content-type"] == "application/gzip"
    with tarfile.open(fileobj=io.BytesIO(answer.content), mode="r:gz") as packed:
        packed.extractall(tmp_path, filter="data")
    folder = tmp_path / "pecking-order"
    (folder / ".venv").symlink_to(CHECKOUT / ".venv")  # a first start would install it
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PECK_URL": site.address}
    command = ["./peck", "leaderboard", "hungry-geese"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "score" in done.stdout


def test_archive_holds_no_file_that_git_ignores(site: Site) -> None:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no clone")
    known = {f"pecking-order/{name}" for name in listed.stdout.splitlines()}
    assert set(members(site.get("/peck.tar.gz").content)) <= known


def test_archive_leaves_out_what_the_operator_added(tmp_path: Path) -> None:
    for name in client_download.FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    secrets = [".env", ".state/token", "services/.env", "games/__pycache__/x.pyc", "notes/x.py"]
    secrets += ["agents/hungry_geese/secret/main.py", "services/web/key.pem", "ladder/dump.sql.gz"]
    shared = ["services/cli/run.py", "agents/hungry_geese/greedy/main.py", "deploy/images/x.py"]
    for name in [*secrets, *shared]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "services" / "linked.py").symlink_to(tmp_path / ".env")
    names = members(client_download.pack_client(tmp_path))
    assert set(names) == {f"pecking-order/{name}" for name in [*client_download.FILES, *shared]}
    assert names["pecking-order/peck"].mode == 0o755
    assert {(member.uid, member.uname, member.mtime) for member in names.values()} == {(0, "", 0)}


def test_archive_holds_the_reference_agents_that_the_project_names(site: Site) -> None:
    names = members(site.get("/peck.tar.gz").content)
    for game, agents in reference_agents.FIRST.items():
        for agent in agents:
            folder = f"pecking-order/agents/{game}/{reference_agents.folder_of(agent)}/"
            assert any(name.startswith(folder) for name in names), folder


def test_archive_holds_every_file_of_the_images(site: Site) -> None:
    names = members(site.get("/peck.tar.gz").content)
    folder = CHECKOUT / "deploy" / "images"
    images = [file.name for file in folder.iterdir() if file.is_file()]
    assert {f"pecking-order/deploy/images/{name}" for name in images} <= set(names)


def test_compose_image_holds_the_files_of_the_archive() -> None:
    kept = {line[1:] for line in (CHECKOUT / ".dockerignore").read_text().splitlines()}
    assert {*client_download.FILES, *client_download.PACKAGES, "agents"} <= kept
