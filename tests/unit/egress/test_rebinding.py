"""The guard with real machines, names and servers: see ``apart``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from egress.guarded_connections import REMEDY
from tests.certificates import Authority
from tests.unit.egress import apart
from tests.unit.egress.apart import FAR

ROOT = Path(__file__).parents[3]

NOWHERE = "DNS has no permitted address for {}; " + REMEDY


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    for program in ("unshare", "ip", "mount"):
        if shutil.which(program) is None:
            pytest.skip(f"not run: the {program} command is missing")
    own = ["unshare", "--net", "--mount", "--propagation", "private"]
    if os.geteuid() != 0:
        own += ["--user", "--map-root-user"]
    may = subprocess.run([*own, "true"], capture_output=True, text=True, check=False)
    if may.returncode != 0:
        pytest.skip(f"not run: no namespaces of our own here: {may.stderr.strip()}")
    folder = tmp_path_factory.mktemp("apart")
    Authority(folder).sign("DNS:snake.example.org")
    command = [*own, sys.executable, "-m", apart.__name__, "near", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_name_rebinding_to_loopback_is_refused(
    results: dict[str, Any],
) -> None:
    first, second = results["rebinding"]
    assert first == ["far", FAR]
    assert second[0] == "Forbidden"
    assert second[1] == NOWHERE.format("rebinds.example.org")
    assert results["asked"] == 2, "a name is asked for once in a connection"


def test_a_name_rebinding_to_our_public_address_is_refused(results: dict[str, Any]) -> None:
    first, second = results["rebinding home"]
    assert first == ["far", FAR]
    assert second == ["Forbidden", NOWHERE.format("rebinds-home.example.org")]


def test_every_address_of_our_host_is_refused(results: dict[str, Any]) -> None:
    for kind, sentence in results["own"]:
        assert kind == "Forbidden"
        assert "own machine" in sentence


def test_a_network_on_a_local_route_is_refused(results: dict[str, Any]) -> None:
    kind, sentence = results["own by a route"]
    assert kind == "Forbidden"
    assert "own machine" in sentence


def test_one_forbidden_address_refuses_the_name(results: dict[str, Any]) -> None:
    (kind4, why4), (kind6, why6) = results["mixed"]
    assert kind4 == kind6 == "Forbidden"
    assert "is private" in why4
    assert "is loopback" in why6


def test_no_internal_server_receives_a_call(results: dict[str, Any]) -> None:
    assert results["inside"] == 0


def test_the_operator_can_allow_an_address_of_our_host(
    results: dict[str, Any],
) -> None:
    first, second = results["allowed"]
    assert first[0] == "inside"
    assert second[0] == "Forbidden"
    assert "denies" in second[1]


def test_a_name_with_too_many_addresses_is_refused(results: dict[str, Any]) -> None:
    kind, sentence = results["crowd"]
    assert kind == "Forbidden"
    assert sentence == "crowd.example.org has 65 addresses; give it at most 64"


def test_an_unreachable_address_leaves_time_for_the_next_address(results: dict[str, Any]) -> None:
    assert results["half dead"] == ["far", FAR]


def test_only_complete_public_names_resolve(results: dict[str, Any]) -> None:
    for name in ("unknown", "searched", "hosted"):
        assert results[name][0] == "OSError"
        assert results[name][1].startswith("DNS has no permitted address for")
    # An internal name gives the same answer, so submitters cannot learn internal names.
    assert results["unknown"][1] == NOWHERE.format("unknown.example.org")


def test_the_error_for_a_closed_port_gives_the_host_name(results: dict[str, Any]) -> None:
    kind, sentence = results["silent port"]
    assert kind == "ConnectionRefusedError"
    assert sentence == "nothing listens at snake.example.org:8000 (connection refused)"


def test_tls_verifies_the_host_name(results: dict[str, Any]) -> None:
    assert results["named"] == ["far, asked for snake.example.org", FAR]
    assert results["misnamed"][0] == "OSError"
    assert "certificate of other.example.org:443 is not accepted" in results["misnamed"][1]


def test_a_hanging_resolver_meets_the_deadline(results: dict[str, Any]) -> None:
    for kind, sentence in results["deaf"]:
        assert kind == "TimeoutError"
        assert sentence == "DNS did not answer for deaf.example.org in time"
    assert results["deaf seconds"] < 40


def test_abandoned_lookups_are_limited(results: dict[str, Any]) -> None:
    assert results["too many"][0] == "TimeoutError"
    assert results["all seconds"] < 40


def test_without_known_local_addresses_no_call_is_made(results: dict[str, Any]) -> None:
    kind, sentence = results["blind"]
    assert kind == "OSError"
    assert "net.ipv4.ip_nonlocal_bind is 1" in sentence


def test_a_call_works_inside_the_seccomp_filter(
    results: dict[str, Any],
) -> None:
    plain, secured, own = results["confined"]
    assert plain == ["far", FAR]
    assert secured == results["named"]
    assert own == results["own by a route"]
