"""The update in ``deploy/runbook.md`` names every service of Compose, in a safe order.

``scripts/drill compose-update`` runs the same steps under load.
"""

from __future__ import annotations

import re

from tests.compose_project import CHECKOUT
from tests.update_steps import COMPOSE, update_steps

STEPS = update_steps()
ONE_SHOTS = {"secrets", "migrate"}
SERVERS = {"postgres", "redis"}
"""Keep their containers in an update."""
GPU = {"worker-gpu", "node-gpu"}


def services() -> dict[str, str]:
    """The text of each service."""
    text = (CHECKOUT / "docker-compose.yml").read_text()
    section = text[text.index("\nservices:\n") : text.index("\nnetworks:\n")]
    parts = re.split(r"^  ([\w-]+):", section, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def place(*words: str) -> int:
    """The place of the only step with these words."""
    places = [n for n, step in enumerate(STEPS) if set(words) <= set(step)]
    assert len(places) == 1, (words, places)
    return places[0]


def test_update_replaces_every_service_once() -> None:
    replaced = [word for step in STEPS if "up" in step for word in step if word in services()]
    assert sorted(replaced) == sorted(services().keys() - ONE_SHOTS - SERVERS - GPU)


def test_update_touches_no_other_service() -> None:
    begun = [step for step in STEPS if step[:2] == COMPOSE and {"up", "run"} & set(step)]
    assert [step for step in begun if "--no-deps" not in step] == []


def test_set_up_comes_before_every_replaced_service() -> None:
    first = min(n for n, step in enumerate(STEPS) if "up" in step)
    assert place("build", "secrets") < place("run", "migrate") < first


def test_earlier_image_is_kept_before_the_new_one_is_made() -> None:
    assert place("docker", "tag", "pecking-order:before") < place("build", "secrets")


def test_a_second_site_serves_while_the_site_is_replaced() -> None:
    order = [
        place("up", "--wait", "api-next"),
        place("proxy", "8001"),
        place("up", "--wait", "api"),
        place("proxy", "8000"),
        place("rm", "--stop", "api-next"),
    ]
    assert order == sorted(order)


def test_worker_ends_its_matches_before_its_node_is_replaced() -> None:
    order = [place("stop", "worker"), place("up", "--wait", "node"), place("up", "worker")]
    assert order == sorted(order)


def test_second_site_starts_only_during_an_update() -> None:
    assert "profiles: [update]" in services()["api-next"]


def test_postgres_names_its_release_of_debian() -> None:
    assert re.findall(r"image: (postgres:\S+)", services()["postgres"]) == ["postgres:16-bookworm"]


def test_redis_of_machines_has_the_options_of_redis() -> None:
    """The file for machines replaces the whole command."""
    chosen = (CHECKOUT / "deploy" / "machines.compose.yml").read_text()
    command = re.search(r"^    command: \[(.*)\]", services()["redis"], re.MULTILINE)
    words = re.findall(r'[\w-]+|""', command.group(1)) if command is not None else []
    given = re.findall(r'^      - (?:"(?=\w))?([\w-]+|"")"?$', chosen, re.MULTILINE)
    assert [word for word in words if word not in given] == []
