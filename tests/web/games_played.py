"""Real matches for the pages: reference agents play in this process; results go to the database.

There is no box and no referee, because only the pages matter here.
"""

from __future__ import annotations

import gzip
import json
import random
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from games import GAMES
from games.episode import Episode, Step, to_bytes
from games.protocol import Verdict
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.ids import MatchId
from ladder.matches import lease, workers
from ladder.matches.records import EpisodeResult, MatchOrder, SeatResult

Agent = Callable[[dict[str, Any], dict[str, Any]], str]
AGENTS = Path(__file__).parents[2] / "agents" / "hungry_geese"
WORKER = workers.WorkerHello(
    id="wrk_pages",
    host="here",
    node="here",
    queues=("play.cpu", "scrim", "validate"),
    slots=1,
    profiles=("numpy",),
)


class Observation(dict[str, Any]):
    """Attribute access, as agents expect."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


@dataclass
class Play:
    """One seat during a match."""

    agent: Agent
    bank: float
    moves: list[dict[str, Any]] = field(default_factory=list)
    verdict: Verdict = Verdict.DONE
    reason: str | None = None
    failed_step: int | None = None
    trace: str | None = None


def reference(name: str) -> Agent:
    """A fresh copy of a reference agent: the last callable of its file, as on Kaggle."""
    source = (AGENTS / name / "main.py").read_text()
    space: dict[str, Any] = {"__name__": "agent"}
    exec(compile(source, f"{name}/main.py", "exec"), space)
    found: Agent = [value for value in space.values() if callable(value)][-1]
    return found


def crashing(step: int, name: str = "greedy") -> Agent:
    """An agent like a reference agent that prints script tags and raises at a step."""
    inner = reference(name)

    def agent(observation: dict[str, Any], configuration: dict[str, Any]) -> str:
        if observation["step"] + 1 >= step:
            raise ValueError("plan <b>not</b> found & lost")
        return inner(observation, configuration)

    return agent


def play_order(
    conn: Connection, blobs: Blobs, order: MatchOrder, agents: Sequence[Agent]
) -> Episode:
    """Play the attempt, store replay and logs, and report the result."""
    game = GAMES[order.game]
    chance_of = random.Random(order.seed)
    bank = float(order.clock["bank_seconds"])
    seats = [Play(agent, bank) for agent in agents]
    random.seed(order.seed)
    state, first = game.reset(order.configuration, len(seats), chance_of)
    steps: list[Step] = []
    while asked := game.to_move(state):
        number = len(steps) + 1
        given: dict[int, Any] = {}
        moves: list[Any] = [None] * len(seats)
        charged: list[float | None] = [None] * len(seats)
        banks: list[float | None] = [None] * len(seats)
        for index in asked:
            seat = seats[index]
            raw, seconds = ask(seat, game.observe(state, index), order.configuration, number)
            over = max(0.0, seconds - float(order.clock["act_seconds"]))
            seat.bank -= over
            charged[index], banks[index] = round(seconds, 6), round(seat.bank, 6)
            given[index] = seat.verdict if seat.failed_step else game.parse(state, index, raw)
            moves[index] = {"fault": str(seat.verdict)} if seat.failed_step else given[index]
        state, chance = game.step(state, given, chance_of)
        steps.append(Step(tuple(moves), chance, tuple(charged), tuple(banks)))
    outcome = game.outcome(state)
    assert outcome is not None
    episode = Episode(
        game=order.game,
        version=game.version,
        configuration=order.configuration,
        clock=order.clock,
        seats=len(seats),
        chance=first,
        steps=tuple(steps),
        placements=outcome.placements,
        rewards=outcome.rewards,
        verdicts=tuple(str(verdict) for verdict in outcome.verdicts),
    )
    replay = blobs.put_bytes(to_bytes(episode))
    results = []
    for index, seat in enumerate(seats):
        spent = [move["charged_seconds"] for move in seat.moves]
        results.append(
            SeatResult(
                seat=index,
                placement=outcome.placements[index],
                reward=outcome.rewards[index],
                verdict=str(outcome.verdicts[index]),
                reason=seat.reason,
                failed_step=seat.failed_step,
                charged_seconds=sum(spent),
                max_move_seconds=max(spent, default=0.0),
                log_digest=blobs.put_bytes(log_of(seat)).digest,
            )
        )
    lease.finish_match(
        conn,
        order.match_id,
        order.attempt,
        WORKER.id,
        results,
        [EpisodeResult(len(steps), replay.digest)],
        node=WORKER.node,
        image_digest="",
        rules_digest="",
    )
    conn.commit()
    return episode


def ask(
    seat: Play, observation: dict[str, Any], configuration: dict[str, Any], step: int
) -> tuple[Any, float]:
    """One move of a seat and its cost; the seat records a failure."""
    seen = Observation(observation, remainingOverageTime=seat.bank)
    began = time.perf_counter()
    raw, stderr = None, ""
    try:
        raw = seat.agent(seen, Observation(configuration))
    except Exception as error:
        seat.verdict, seat.failed_step = Verdict.ERROR, step
        seat.reason = f"raised {type(error).__name__}: {error}"
        seat.trace = stderr = traceback.format_exc()
    seconds = time.perf_counter() - began
    said = f"step {step}: <script>alert('log')</script> {raw}\n" if step % 5 == 1 else ""
    seat.moves.append(
        {
            "step": step,
            "charged_seconds": seconds,
            "wall_seconds": seconds * 1.02,
            "cpu_seconds": seconds * 0.97,
            "pressure_seconds": seconds * 0.02,
            "off_turn_seconds": 0.0,
            "bank_seconds": seat.bank,
            "stdout": said,
            "stderr": stderr,
        }
    )
    return raw, seconds


def log_of(seat: Play) -> bytes:
    """The seat's log blob."""
    document = {
        "format": "peck-log/1",
        "moves": seat.moves,
        "verdict": str(seat.verdict),
        "reason": seat.reason,
        "failed_step": seat.failed_step,
        "traceback": seat.trace,
        "pardoned": {"TIMEOUT": {"times": 3, "step": 2, "reason": "Step 2 took 0.7 s & more"}},
    }
    return gzip.compress(json.dumps(document).encode(), mtime=0)


def play_queued(
    conn: Connection, blobs: Blobs, match_id: MatchId, agents: Sequence[Agent]
) -> Episode:
    """Claim and play one waiting match."""
    workers.register_worker(conn, WORKER)
    workers.record_heartbeat(conn, WORKER.id)
    # Else another validation with a lower turn may be claimed.
    conn.execute("update matches set turn = 0 where id = %s", (match_id,))
    order = lease.claim_match(conn, match_id, WORKER.id)
    # Its last heartbeat stays recent for as long as the tests take.
    conn.execute("update workers set live_until = now() + interval '1 hour'")
    conn.commit()
    assert order is not None, f"{match_id} could not be claimed"
    return play_order(conn, blobs, order, agents)
