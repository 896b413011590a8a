"""Plays matches on the local machine with the ladder's referee, clock and boxes, without a ladder.

Seats rotate over the games of a batch. The first game uses the batch's seed itself, so the seed of
a match played elsewhere replays it here. The other games use derived seeds.

``AgentInSeat`` puts an agent into a seat of a recorded episode. The agent gets the recorded
observations and the recorded bank, with the record's clock and the seat's own seed. So an agent
whose moves depend on nothing else repeats its recorded moves.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeVar

from estimates.intervals import wilson_interval
from games.episode import Episode, move_json, to_bytes
from games.forks import Fork
from games.kaggle_formats import GAME_NAMES, episode_json, log_json
from games.protocol import Game, Json, Verdict
from games.recorded_seat import Question
from sandbox.errors import HostFault, SeatRefused
from sandbox.match import match_record, referee
from sandbox.match.bundle_packing import prepare_bundle
from sandbox.match.clock import Clock
from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.loans import Loan, SeatRequest, borrow_seats
from sandbox.match.match_record import EpisodeRecord, PlayedMatch, read_log
from sandbox.match.questions import Question as Asked
from sandbox.match.questions import StopReached, ask_all
from sandbox.match.referee import WAITING_SECONDS, EpisodeRequest
from sandbox.match.seat import MatchTiming, Seat
from sandbox.match.seat_faults import SeatFault
from sandbox.match.seeds import SEED_BYTES, seat_seed

Told = TypeVar("Told")
BORROW_SECONDS: Final = 120.0
"""How long a box may take to come. A cold engine is slow; a warm one needs milliseconds."""


PARALLEL_SEATS: Final = max(1, (os.cpu_count() or 2) - 1)
"""Agents that think at a time, unless somebody chose another number."""


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """A batch of games between the same agents."""

    game: Game[Any]
    configuration: Mapping[str, Json]
    clock: Clock
    agents: tuple[Path, ...]
    games: int
    seed: bytes
    max_parallel_seats: int = PARALLEL_SEATS
    """Most agents that think at a time."""
    profile: str = "numpy"
    memory_mb: int = 1024
    """Memory of each agent's box."""
    fork: Fork | None = None
    """The record that each game continues. Then seats do not rotate, and a game has one episode."""

    @property
    def names(self) -> tuple[str, ...]:
        """A distinct short name for each agent."""
        short = [_short_name(path) for path in self.agents]
        return tuple(
            name if short.count(name) == 1 else f"{name}#{short[: index + 1].count(name)}"
            for index, name in enumerate(short)
        )


@dataclass(frozen=True, slots=True)
class LocalGame:
    number: int
    """Number of the game in the batch, from 1."""
    seed: bytes
    lineup: tuple[int, ...]
    """Index of the agent in each seat."""


@dataclass(frozen=True, slots=True)
class LocalResult:
    number: int
    """Number of the game in the batch, from 1."""
    seed: bytes
    lineup: tuple[int, ...]
    """Index of the agent in each seat."""
    played: PlayedMatch
    wall_seconds: float


@dataclass(frozen=True, slots=True)
class _Callbacks:
    """What hears of one game while it is played."""

    on_step: Callable[[int], None] | None
    on_record: Callable[[EpisodeRecord], None] | None


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """One agent's results over a batch. A shared first place counts as a share of a win."""

    agent: str
    games: int
    wins: float
    win_rate: float
    win_rate_low: float
    """Lower end of Wilson's 95 % interval."""
    win_rate_high: float
    mean_placement: float
    faults: int
    max_move_seconds: float


def prepare_bundles(plan: LocalPlan, scratch: Path) -> list[Path]:
    """Return the file to lend for each agent. A folder's archive is written under ``scratch``.

    Raises BundleError for a path that is no agent.
    """
    return [prepare_bundle(path, scratch) for path in plan.agents]


def play_games(
    plan: LocalPlan,
    bundles: Sequence[Path],
    node_socket: Path,
    on_step: Callable[[int, int], None] | None = None,
    on_record: Callable[[int, EpisodeRecord], None] | None = None,
) -> Iterator[LocalResult]:
    """Play the games of the plan one after another.

    ``on_step`` gets the game's number and the step. ``on_record`` gets the game's number and the
    record of each episode, which grows while the episode is played. ``bundles`` come from
    ``prepare_bundles``. Raises HostFault if the node fails.
    """
    for number in range(1, plan.games + 1):
        lineup = rotated_seats(len(bundles), 1 if plan.fork else number)
        game = LocalGame(number, seed_of_game(plan.seed, number), lineup)
        callbacks = _Callbacks(_numbered(on_step, number), _numbered(on_record, number))
        yield play_game(plan, bundles, node_socket, game, callbacks)


def play_game(
    plan: LocalPlan,
    bundles: Sequence[Path],
    node_socket: Path,
    game: LocalGame,
    callbacks: _Callbacks | None = None,
) -> LocalResult:
    """Play one game, which may use any seed and lineup. Raises HostFault if the node fails."""
    requests = [SeatRequest(plan.profile, bundles[agent], plan.memory_mb) for agent in game.lineup]
    started = monotonic()
    episode = _episode_player(
        plan, requests, game.seed, node_socket, callbacks or _Callbacks(None, None)
    )
    played = (
        match_record.play_match(plan.game, len(game.lineup), episode)
        if plan.fork is None
        else episode(game.lineup)
    )
    return LocalResult(game.number, game.seed, game.lineup, played, monotonic() - started)


def _episode_player(
    plan: LocalPlan,
    requests: Sequence[SeatRequest],
    seed: bytes,
    node_socket: Path,
    callbacks: _Callbacks,
) -> Callable[[tuple[int, ...]], PlayedMatch]:
    """Return a function that plays one episode; the ``requests`` it gets fill the seats."""

    def play(seated: tuple[int, ...]) -> PlayedMatch:
        seat_requests = [requests[member] for member in seated]
        with borrow_seats(node_socket, seat_requests, BORROW_SECONDS) as loans:
            parallel = referee.parallel_seats(loans, plan.max_parallel_seats)
            stop_after_seconds = longest_episode_seconds(plan, len(seat_requests), parallel)
            request = EpisodeRequest(
                plan.game,
                plan.configuration,
                plan.clock,
                seed,
                loans,
                max_parallel_seats=parallel,
                stop_after_seconds=stop_after_seconds,
                on_step=callbacks.on_step,
                on_record=callbacks.on_record,
                fork=plan.fork,
            )
            return referee.play_episode(request)

    return play


def seed_of_game(seed: bytes, number: int) -> bytes:
    """The seed of a game: the batch's seed for the first game, derived seeds for the others."""
    if number == 1:
        return seed
    return hmac.new(seed, b"episode%d" % number, hashlib.sha256).digest()[:SEED_BYTES]


def rotated_seats(agents: int, number: int) -> tuple[int, ...]:
    """The agent of each seat: in order of the command line first, then shifted by one per game."""
    return tuple((seat + number - 1) % agents for seat in range(agents))


def longest_episode_seconds(plan: LocalPlan, seats: int, parallel_seats: int) -> float:
    """An episode that lasts longer hangs, and no agent is to blame."""
    steps = plan.game.longest(plan.configuration)
    waiting = seats * WAITING_SECONDS
    return plan.clock.longest_seconds(steps, seats, parallel_seats) + waiting


def save_files(result: LocalResult, plan: LocalPlan, folder: Path) -> dict[str, Any]:
    """Write the replay and logs, in our format and in Kaggle's. Returns the paths by kind.

    Adds the game to ``games.jsonl``, which names the agents.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"episode-{result.number:04d}"
    replay = folder / f"{stem}.peck-replay.gz"
    replay.write_bytes(to_bytes(result.played.episode))
    files: dict[str, Any] = {"replay": str(replay)}
    if result.played.mirror is not None:
        mirror = folder / f"{stem}-mirrored.peck-replay.gz"
        mirror.write_bytes(to_bytes(result.played.mirror))
        files["mirrored_replay"] = str(mirror)
    if plan.game.name in GAME_NAMES:
        names = [plan.names[agent] for agent in result.lineup]
        document = episode_json(result.played.episode, episode_id=result.number, team_names=names)
        kaggle = folder / f"{stem}-replay.json"
        kaggle.write_text(json.dumps(document))
        files["kaggle_replay"] = str(kaggle)
    logs, kaggle_logs = [], []
    for seat, report in enumerate(result.played.seats):
        log = folder / f"{stem}-agent-{seat}.peck-log.gz"
        log.write_bytes(report.log)
        kaggle_log = folder / f"{stem}-agent-{seat}-logs.json"
        kaggle_log.write_text(json.dumps(log_json(read_log(report.log)["moves"])))
        logs.append(str(log))
        kaggle_logs.append(str(kaggle_log))
    files |= {"logs": logs, "kaggle_logs": kaggle_logs}
    with (folder / "games.jsonl").open("a") as games:
        games.write(json.dumps(result_json(result, plan, files)) + "\n")
    return files


def result_json(result: LocalResult, plan: LocalPlan, files: Mapping[str, Any]) -> dict[str, Any]:
    """One game as ``peck run --json`` prints it, seats in order."""
    return {
        "kind": "game",
        "game": plan.game.name,
        "number": result.number,
        "seed": result.seed.hex(),
        "steps": sum(len(episode.steps) for episode in result.played.episodes),
        "wall_seconds": round(result.wall_seconds, 3),
        "seats": [
            {
                "agent": plan.names[agent],
                "placement": report.placement,
                "verdict": str(report.verdict),
                "reason": report.reason,
                "failed_step": report.failed_step,
                "reward": report.reward,
                "charged_seconds": report.charged_seconds,
                "max_move_seconds": report.max_move_seconds,
            }
            for agent, report in zip(result.lineup, result.played.seats, strict=True)
        ],
        "files": dict(files),
    }


def summarize_agents(plan: LocalPlan, results: Sequence[LocalResult]) -> tuple[AgentSummary, ...]:
    return tuple(_summarize_agent(name, agent, results) for agent, name in enumerate(plan.names))


def summary_json(summaries: Sequence[AgentSummary]) -> dict[str, Any]:
    """The last line of ``peck run --json`` for a batch."""
    return {"kind": "summary", "agents": [asdict(summary) for summary in summaries]}


def _summarize_agent(name: str, agent: int, results: Sequence[LocalResult]) -> AgentSummary:
    wins, places, faults, longest = 0.0, 0, 0, 0.0
    for result in results:
        placements = [seat.placement for seat in result.played.seats]
        report = result.played.seats[result.lineup.index(agent)]
        places += report.placement
        faults += report.verdict.is_fault
        longest = max(longest, report.max_move_seconds)
        if report.placement == 1:
            wins += 1 / placements.count(1)
    games = len(results)
    low, high = wilson_interval(wins, games)
    return AgentSummary(
        agent=name,
        games=games,
        wins=round(wins, 3),
        win_rate=round(wins / games, 4) if games else 0.0,
        win_rate_low=round(low, 4),
        win_rate_high=round(high, 4),
        mean_placement=round(places / games, 3) if games else 0.0,
        faults=faults,
        max_move_seconds=longest,
    )


def _numbered(
    call: Callable[[int, Told], None] | None, number: int
) -> Callable[[Told], None] | None:
    """The callback, which then gets the game's number first."""
    return None if call is None else lambda value: call(number, value)


def _short_name(path: Path) -> str:
    name = path.resolve()
    if name.name == "main.py":
        return name.parent.name or name.name
    return re.sub(r"\.(tar\.gz|tar|zip|py)$", "", name.name)


OWN_SECONDS: Final = 60.0


class AgentInSeat:
    """An agent in a recorded seat. Use it as a context; the process ends with the context."""

    def __init__(
        self, game: Game[Any], episode: Episode, seat: int, loan: Loan | SeatRefused, seed: bytes
    ) -> None:
        """``seed`` is the seed of the match; the agent gets its seat's part of it."""
        clock = Clock.from_json(episode.clock)
        self._game, self._configuration = game, episode.configuration
        self._own = OwnRunQueue()
        self._seat = Seat(
            seat, loan, MatchTiming(clock, self._own, WAITING_SECONDS), (), game.lenient
        )
        self._seed = seat_seed(seed, seat)
        longest = clock.longest_seconds(len(episode.steps), 1, 1)
        self._stop_at = monotonic() + longest + WAITING_SECONDS + OWN_SECONDS

    def __enter__(self) -> AgentInSeat:
        if self._seat.fault is None:
            question = self._seat.build_start_question(self._configuration, self._seed)
            self._ask(question)
            self._seat.accept_start_answer(question)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(HostFault):
            self._seat.end()
        self._own.close()

    @property
    def fault(self) -> SeatFault | None:
        return self._seat.fault

    def answer(self, question: Question) -> Json:
        """The agent's move in its canonical form, or its fault, such as ``{"fault": "ERROR"}``.

        An agent that has ended gives its fault again. Raises HostFault if the node failed.
        """
        if self._seat.fault is not None:
            return move_json(self._seat.fault.verdict)
        self._seat.bank.left_seconds = question.bank_seconds
        asked = self._seat.build_move_question(question.step, dict(question.observation))
        if isinstance(asked, Verdict):
            return move_json(asked)
        self._ask(asked)
        move = self._seat.judge_answer(question.step, asked, self._parser(question.state))
        return move_json(move)

    def printed(self) -> Mapping[int, Mapping[str, str]]:
        """What the agent printed, as ``stdout`` and ``stderr`` by step. Ends the agent."""
        self._seat.end()
        verdict = self._seat.fault.verdict if self._seat.fault else Verdict.DONE
        log = read_log(self._seat.log_blob(verdict))
        return {move["step"]: move for move in log["moves"]}

    def _parser(self, state: Any) -> Callable[[Json], Json]:
        return lambda raw: self._game.parse(state, self._seat.index, raw)

    def _ask(self, question: Asked) -> None:
        try:
            ask_all([question], self._own, self._stop_at)
        except StopReached:
            raise HostFault("the agent and this machine took too long together") from None
