"""The data of a new Postgres server, which runs of the tests copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests import servers


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of prepared data that a first run filled; before, it held data of another schema."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "data-of-another-schema").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(servers.GIVEN, raising=False)
        patch.setattr(servers, "PREPARED", folder)
        with servers.postgres():
            pass
        yield folder


def test_a_later_server_starts_with_the_template(prepared: Path) -> None:
    with servers.postgres() as url, psycopg.connect(url) as conn:
        names = {name for (name,) in conn.execute("select datname from pg_database")}
    assert servers.template_name() in names


def test_only_the_data_of_this_schema_is_kept(prepared: Path) -> None:
    kept = [one.name for one in prepared.iterdir() if one.is_dir()]
    assert kept == [servers.prepared_name()]
