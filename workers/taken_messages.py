"""Celery's consumer of wake-up messages, which takes them and writes nothing to Redis.

Celery marks each message in Redis until it was acknowledged, and puts unacknowledged ones back.
Ours need neither: the scheduler sends a lost message again. So a Redis that refuses writes does not
end a worker, and the login of a machine that joined may only take messages.
"""

from __future__ import annotations

from kombu.entity import Exchange, Queue
from kombu.transport.redis import Channel
from kombu.transport.virtual import base


class _TakenMessages(base.QoS):
    restore_at_shutdown = False

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        self.ack(delivery_tag)  # type: ignore[no-untyped-call]


Channel.QoS = _TakenMessages  # type: ignore[assignment]


def undeclared_queues(names: tuple[str, ...]) -> list[Queue]:
    """Queues that processes use without a declaration in Redis."""
    return [
        Queue(name, Exchange(name), routing_key=name, no_declare=True)  # type: ignore[no-untyped-call]
        for name in names
    ]
