"""Celery's consumer for machines that joined, whose login of Redis may only take messages.

Celery marks each message in Redis until it was acknowledged, and puts unacknowledged ones back. A
machine does neither: the scheduler sends a lost message again.
"""

from __future__ import annotations

from typing import Any, Final

from kombu.entity import Exchange, Queue
from kombu.transport.redis import Channel, QoS
from kombu.transport.virtual import base

OPTION: Final = "only_takes"
"""Option of Celery's transport for the login of a machine."""


class _TakenMessages(base.QoS):
    restore_at_shutdown = False

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        self.ack(delivery_tag)  # type: ignore[no-untyped-call]


def _make_qos(channel: Any) -> Any:
    options = channel.connection.client.transport_options
    return (_TakenMessages if options.get(OPTION) else QoS)(channel)


Channel.QoS = staticmethod(_make_qos)  # type: ignore[assignment]


def undeclared_queues(names: tuple[str, ...]) -> list[Queue]:
    """Queues that a worker reads without a write to Redis."""
    return [
        Queue(name, Exchange(name), routing_key=name, no_declare=True)  # type: ignore[no-untyped-call]
        for name in names
    ]
