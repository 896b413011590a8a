"""Checks machines that are not trusted, by their replays and by second plays of their matches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import SystemRandom
from typing import Any, Final

import psycopg

from games import GAMES
from games.episode import Episode, EpisodeError, check_episode, from_bytes
from games.protocol import Game, Json, Outcome, placements_from_scores, with_clock
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.errors import NotFound
from ladder.ids import MatchId
from ladder.machines import checks
from ladder.machines.checks import PlayedAgain, Report
from ladder.matches import history
from ladder.telemetry import log_event
from sandbox.match.clock import Clock
from sandbox.match.match_record import episodes_per_match, seat_order, sum_rewards
from sandbox.match.seeds import game_random

CHANCE: Final = SystemRandom()
MOST_BYTES: Final = 16 << 20
"""Largest replay that is checked, unpacked."""
TOLERANCE_SECONDS: Final = 0.001
"""Sums of times that were rounded for the replay."""


def check_waiting_reports(
    conn: Connection, blobs: Blobs, until: Callable[[], bool], on_report: Callable[[], None]
) -> int:
    """Checks all results that wait. Returns how many. Raises BlobsUnavailable."""
    count = 0
    while not until():
        with conn.transaction():
            waiting = checks.waiting_reports(conn, [*GAMES])
        if not waiting:
            break
        for report in waiting:
            on_report()
            check_report(conn, blobs, report)
            count += 1
            if until():
                break
    return count


def check_report(conn: Connection, blobs: Blobs, report: Report) -> None:
    """Lets a result count, or refuses it. Raises BlobsUnavailable."""
    mismatch = find_mismatch(GAMES[report.game], report, blobs)
    try:
        with conn.transaction():
            counts = checks.judge_report(conn, report, mismatch)
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.RaiseException) as error:
        mismatch = _wrong_form(error)
        with conn.transaction():
            counts = checks.judge_report(conn, report, mismatch)
    if counts and mismatch is None:
        with conn.transaction():
            checks.choose_second_plays(conn, report.match_id, CHANCE)
    elif counts:
        _judge_machines(conn)
    if mismatch is not None:
        log_event(
            "result_refused",
            level="warning",
            machine=report.machine_id,
            match=report.match_id,
            reason=mismatch,
        )


def compare_second_plays(
    conn: Connection, blobs: Blobs, until: Callable[[], bool], on_match: Callable[[], None]
) -> int:
    """Compares all matches whose second plays have ended, and judges the machines if there are any.
    Returns how many. Raises BlobsUnavailable."""
    with conn.transaction():
        waiting = checks.list_played_again(conn)
    count = 0
    for match in waiting:
        if until():
            break
        on_match()
        is_different = _is_different(conn, blobs, match)
        with conn.transaction():
            checks.store_comparison(conn, match, is_different)
        count += 1
    if count:
        _judge_machines(conn)
    return count


def _is_different(conn: Connection, blobs: Blobs, match: PlayedAgain) -> bool | None:
    """Whether the machine made other moves than both second plays. None: these differ, or a replay
    cannot be read."""
    try:
        own, first, second = (
            _moves_of(conn, blobs, match_id)
            for match_id in (match.match_id, match.first_match_id, match.second_match_id)
        )
    except (EpisodeError, NotFound) as error:
        log_event("match_not_compared", level="warning", match=match.match_id, error=str(error))
        return None
    return own != first if first and first == second else None


def _moves_of(conn: Connection, blobs: Blobs, match_id: MatchId) -> list[object]:
    """What a play has in common with an equal one: everything but times. Raises EpisodeError,
    NotFound, BlobsUnavailable."""
    digests = history.replay_digests(conn, [match_id]).get(match_id, [])
    episodes = [from_bytes(b"".join(blobs.open(digest))) for digest in digests]
    return [[(step.moves, step.chance) for step in episode.steps] for episode in episodes]


def _judge_machines(conn: Connection) -> None:
    with conn.transaction():
        for machine in checks.judge_machines(conn):
            log_event("machine_quarantined", level="warning", machine=machine)


def find_mismatch(game: Game[Any], report: Report, blobs: Blobs) -> str | None:
    """Why the result is not what its replay gives; None if it is. Raises BlobsUnavailable."""
    try:
        if len(report.episodes) != episodes_per_match(game):
            raise EpisodeError("another number of episodes")
        episodes = [_read(blobs, reported["replay_digest"]) for reported in report.episodes]
        outcomes = []
        for episode, reported in zip(episodes, report.episodes, strict=True):
            _check_start(game, report, episode)
            if len(episode.steps) != reported["steps"]:
                raise EpisodeError("another number of steps")
            outcomes.append(check_episode(game, episode, game_random(report.seed)))
        _check_seats(report.seats, episodes, outcomes)
    except EpisodeError as error:
        return str(error)
    except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        return _wrong_form(error)
    return None


def _wrong_form(error: Exception) -> str:
    return f"the report has a wrong form: {type(error).__name__}"


def _read(blobs: Blobs, digest: str) -> Episode:
    try:
        content = bytearray()
        for chunk in blobs.open(digest):
            content += chunk
            if len(content) > MOST_BYTES:
                raise EpisodeError(f"replay: more than {MOST_BYTES} bytes")
    except NotFound:
        raise EpisodeError("replay: missing") from None
    return from_bytes(bytes(content), MOST_BYTES)


def _check_start(game: Game[Any], report: Report, episode: Episode) -> None:
    clock = Clock.from_json(report.clock).to_json()
    expected = {
        "game": game.name,
        "version": game.version,
        "configuration": with_clock(game, report.configuration, clock),
        "clock": clock,
        "seats": len(report.seats),
    }
    for name, value in expected.items():
        if getattr(episode, name) != value:
            raise EpisodeError(f"{name}: another one than the season's")


def _check_seats(
    reported: Sequence[dict[str, Json]], episodes: Sequence[Episode], outcomes: Sequence[Outcome]
) -> None:
    """Raises EpisodeError unless the seats are those of the episodes, as the referee adds them."""
    placements: Sequence[int] = outcomes[0].placements
    rewards: Sequence[float | None] = outcomes[0].rewards
    if len(outcomes) > 1:
        rewards = sum_rewards(outcomes[0].rewards, outcomes[1].rewards)
        placements = placements_from_scores([float(reward or 0.0) for reward in rewards])
    seats = len(placements)
    for seat, result in enumerate(sorted(reported, key=lambda row: row["seat"])):
        places = [seat_order(seats, number)[seat] for number in range(len(episodes))]
        verdicts = [
            outcome.verdicts[place] for outcome, place in zip(outcomes, places, strict=True)
        ]
        verdict = next((verdict for verdict in verdicts if verdict.is_fault), verdicts[0])
        charges = [
            float(step.charged_seconds[place] or 0.0)
            for episode, place in zip(episodes, places, strict=True)
            for step in episode.steps
        ]
        spare = sum(float(episode.clock["bank_seconds"]) for episode in episodes)
        above = float(result["charged_seconds"]) - math.fsum(charges)
        slowest = float(result["max_move_seconds"]) - max(charges, default=0.0)
        for name, holds in (
            ("seat", result["seat"] == seat),
            ("placement", result["placement"] == placements[seat]),
            ("reward", result["reward"] == rewards[seat]),
            ("verdict", result["verdict"] == str(verdict)),
            ("charged_seconds", -TOLERANCE_SECONDS <= above <= spare + TOLERANCE_SECONDS),
            ("max_move_seconds", abs(slowest) <= TOLERANCE_SECONDS),
            ("statistics", _fits(result.get("statistics"), outcomes, seat)),
        ):
            if not holds:
                raise EpisodeError(f"seat {seat}: another {name}")


def _fits(reported: Json, outcomes: Sequence[Outcome], seat: int) -> bool:
    """Whether the statistics are those of the only episode. A pair has those of the first."""
    statistics = outcomes[0].statistics
    return bool(reported == (dict(statistics[seat]) if statistics else None))
