"""Which authorities a machine checks each way against."""

from __future__ import annotations

from pathlib import Path

import pytest

from ladder.errors import Conflict, Invalid
from ladder.machines import connections
from ladder.machines.connections import public_authorities, with_authorities

DATABASE = "postgresql://db.example.org/peck?sslmode=verify-full"
REDIS = "rediss://redis.example.org:6380/0"
OWN = Path("/var/lib/peck own/certificates.pem")


def roots(database_url: str, file: Path | None) -> str:
    """What the address of Postgres names as its authorities."""
    found = with_authorities(database_url, REDIS, file)[0]
    return found.partition("sslrootcert=")[2].replace("%2F", "/").replace("%20", " ")


def test_each_way_gets_the_authorities_of_the_site() -> None:
    assert roots(DATABASE, OWN) == str(OWN)
    assert roots(DATABASE, None) == public_authorities()
    assert roots(f"{DATABASE}&sslrootcert=system", OWN) == public_authorities()
    assert roots(f"{DATABASE}&sslrootcert=/etc/own.pem", OWN) == "/etc/own.pem"
    assert with_authorities(DATABASE, REDIS, None)[1] == REDIS
    assert with_authorities(DATABASE, REDIS, OWN)[1].endswith("peck%20own%2Fcertificates.pem")


def test_ways_inside_a_machine_stay_as_they_are() -> None:
    local = ("postgresql:///peck?host=/run/postgresql", "unix:///run/redis.sock?db=0")
    assert with_authorities(*local, OWN) == local


def test_a_code_carries_its_fingerprint_behind_its_secret() -> None:
    assert connections.split_code(connections.code_text("secret", "print")) == ("secret", "print")
    assert connections.split_code(connections.code_text("secret", "")) == ("secret", "")


def test_an_address_that_machines_may_not_use_makes_no_code() -> None:
    with pytest.raises(Conflict, match="PECK_BASE_URL"):
        connections.site_fingerprint("http://peck.example.org", "")
    assert connections.site_fingerprint("http://127.0.0.1:8000", "") == ""


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "empty.pem"
    file.write_text("no certificate")
    for name in (str(file), str(tmp_path / "missing.pem")):
        with pytest.raises(Invalid, match="PECK_MACHINE_CERTIFICATES"):
            connections.read_certificates(name)
    assert connections.read_certificates("") == ""
