"""Addresses for machines: only encrypted ways with a checked certificate leave a machine."""

from __future__ import annotations

import pytest

from ladder.errors import Conflict, Invalid
from ladder.machines import connections
from ladder.settings import Settings

DATABASE = "postgresql://db.example.org/peck?sslmode=verify-full"
REDIS = "rediss://redis.example.org:6380/0"


@pytest.mark.parametrize(
    "url",
    [
        DATABASE,
        "postgresql://127.0.0.1:5432/peck",
        "postgresql://localhost/peck",
        "postgresql:///peck?host=/run/postgresql",
    ],
)
def test_an_encrypted_or_local_database_is_accepted(url: str) -> None:
    connections.check_database_address(connections.DATABASE, url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://db.example.org/peck",
        "postgresql://db.example.org/peck?sslmode=require",
        "postgresql://127.0.0.1,db.example.org/peck",
        "postgresql://localhost/peck?hostaddr=10.0.0.1",
        "postgresql:///peck",
        "postgresql:///?service=peck&host=localhost",
        "mysql://db.example.org/peck?sslmode=verify-full",
        "postgresql://[",
        "",
    ],
)
def test_an_unencrypted_database_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="PECK_MACHINE_DATABASE_URL"):
        connections.check_database_address(connections.DATABASE, url)


@pytest.mark.parametrize("url", [REDIS, "redis://127.0.0.1:6379/0", "unix:///run/redis.sock?db=0"])
def test_an_encrypted_or_local_redis_is_accepted(url: str) -> None:
    connections.check_redis_address(connections.REDIS, url)


@pytest.mark.parametrize(
    "url",
    [
        "redis://redis.example.org:6379/0",
        f"{REDIS}?ssl_cert_reqs=none",
        f"{REDIS}?ssl_check_hostname=false",
        "rediss://",
        "unix://relative",
        "",
    ],
)
def test_an_unencrypted_redis_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="PECK_MACHINE_REDIS_URL"):
        connections.check_redis_address(connections.REDIS, url)


@pytest.mark.parametrize("url", ["https://peck.example.org/", "http://127.0.0.1:8000"])
def test_the_address_of_a_site_ends_without_a_slash(url: str) -> None:
    assert connections.check_web_address("PECK_BLOBS_URL", url) == url.rstrip("/")


@pytest.mark.parametrize("url", ["http://peck.example.org", "peck.example.org", "https://", ""])
def test_an_unencrypted_site_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="https://"):
        connections.check_web_address("PECK_BLOBS_URL", url)


def test_missing_addresses_are_named() -> None:
    with pytest.raises(Conflict, match="PECK_MACHINE_DATABASE_URL and PECK_MACHINE_REDIS_URL"):
        connections.machine_addresses(Settings())
    with pytest.raises(Conflict, match="set PECK_MACHINE_REDIS_URL"):
        connections.machine_addresses(Settings(machine_database_url=DATABASE))


@pytest.mark.parametrize(
    "given",
    [
        {"machine_database_url": "postgresql://peck:x@localhost/peck"},
        {"machine_database_url": "postgresql://localhost/peck?password=x"},
        {"machine_redis_url": "redis://:x@localhost:6379/0"},
    ],
)
def test_an_address_with_a_login_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(Invalid, match="user and password"):
        connections.check_addresses(Settings.model_validate(given))


def test_the_login_of_a_machine_joins_the_address() -> None:
    assert connections.with_login(DATABASE, "m", "s").startswith("postgresql://m:s@db.example.org/")
    assert connections.with_login("unix:///a?db=0", "m", "s") == "unix://m:s@/a?db=0"
    local = connections.with_login("postgresql:///peck?host=/run", "m", "s")
    assert local == "postgresql://m:s@/peck?host=/run"
