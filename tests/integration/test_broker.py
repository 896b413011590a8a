"""Wake-up messages through Redis, and its address in the form of Celery."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.run import embedded_servers
from workers import broker
from workers.broker import WakeError

pytestmark = pytest.mark.bubblewrap


@pytest.mark.parametrize(
    ("given", "celery"),
    [
        ("redis://redis:6379/0", "redis://redis:6379/0"),
        ("unix:///run/redis.sock?db=2", "redis+socket:///run/redis.sock?virtual_host=2"),
        ("unix:///run/redis.sock", "redis+socket:///run/redis.sock?virtual_host=0"),
        ("unix://:x@/run/redis.sock", "redis+socket://:x@/run/redis.sock?virtual_host=0"),
    ],
)
def test_redis_addresses_are_converted_for_celery(given: str, celery: str) -> None:
    assert broker.broker_url(given) == celery


def test_a_wake_up_message_for_an_unknown_queue_is_refused() -> None:
    with pytest.raises(ValueError, match="no queue"):
        broker.send_wake_up("play.quantum", "play", "mat_x")


def test_waking_raises_an_error_while_redis_is_away(
    server_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = server_state / "wake-up messages"
    folder.mkdir(mode=0o711)
    server = embedded_servers.start_redis(folder)
    monkeypatch.setattr(broker, "app", broker.make_celery_app(server.url))
    broker.send_wake_up("play.cpu", "play", "mat_x")
    server.stop()
    for _ in range(3):
        with pytest.raises(WakeError):
            broker.send_wake_up("play.cpu", "play", "mat_x")
    server = embedded_servers.start_redis(folder)
    broker.send_wake_up("play.cpu", "play", "mat_x")
    server.stop()
