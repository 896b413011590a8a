"""Commands of the operator find the database of a running ``peck up``."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ladder.database import db, migrate
from ladder.people import users
from services.run import embedded_servers
from tests import typed


@pytest.fixture(scope="module")
def state() -> Iterator[Path]:
    """A state folder with a running, migrated Postgres."""
    folder = Path(tempfile.mkdtemp(prefix="peck-local-", dir="/var/tmp"))
    folder.chmod(0o711)
    embedded_servers.write_format_mark(folder)
    (folder / "blobs").mkdir()
    server = embedded_servers.start_postgres(folder, durable=False)
    try:
        migrate.migrate(server.url, after=True)
        yield folder
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_admin_token_is_made_in_the_state_folder(state: Path, tmp_path: Path) -> None:
    done = typed.peck(tmp_path, {}, "admin", "token", "me", "--state", str(state))
    assert done.returncode == 0, done.stderr
    with db.connect(embedded_servers.postgres_url(state, "peck")) as conn:
        found = users.viewer_of_token(conn, done.stdout.strip())
    assert found is not None
    assert found.is_admin


def test_blobs_of_the_state_folder_are_compared(state: Path, tmp_path: Path) -> None:
    done = typed.peck(tmp_path, {"PECK_STATE": str(state)}, "blobs")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0 blobs\n")


def test_admin_token_without_a_database_names_the_remedy(tmp_path: Path) -> None:
    missing = typed.peck(tmp_path, {}, "admin", "token", "me", "--state", "/var/tmp/peck-none")
    assert missing.returncode == 1
    assert missing.stderr.startswith("peck: start `peck up` here")
    assert not Path("/var/tmp/peck-none").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_state_folder_of_another_user_gives_no_admin_token(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="peck-local-", dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        os.chown(folder, 12345, 12345)
        refused = typed.peck(tmp_path, {}, "admin", "token", "me", "--state", str(folder))
        assert refused.returncode == 1
        assert "run this as the user who runs" in refused.stderr
    finally:
        folder.rmdir()
