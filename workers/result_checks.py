"""Checks results of machines that are not trusted: plays each replay again by the rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import SystemRandom
from typing import Any, Final

import psycopg

from games import GAMES
from games.episode import Episode, EpisodeError, from_bytes
from games.protocol import Game, Json, Outcome, placements_from_scores, with_clock
from games.replay_check import check_episode
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.errors import NotFound
from ladder.machines import reports, residuals, samples
from ladder.machines.reports import Report
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
            waiting = reports.waiting_reports(conn, [*GAMES])
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
            counts = reports.judge_report(conn, report, mismatch)
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.RaiseException) as error:
        mismatch = _wrong_form(error)
        with conn.transaction():
            counts = reports.judge_report(conn, report, mismatch)
    if counts and mismatch is None:
        with conn.transaction():
            samples.choose_samples(conn, report.match_id, CHANCE)
    elif counts:
        with conn.transaction():
            residuals.judge_machines(conn)
    if mismatch is not None:
        log_event(
            "result_refused",
            level="warning",
            machine=report.machine_id,
            match=report.match_id,
            reason=mismatch,
        )


def find_mismatch(game: Game[Any], report: Report, blobs: Blobs) -> str | None:
    """Why the result is not what its replay gives; None if it is. Raises BlobsUnavailable."""
    try:
        if len(report.episodes) != episodes_per_match(game):
            raise EpisodeError("another number of episodes")
        episodes = [_read(blobs, one["replay_digest"]) for one in report.episodes]
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
    wanted = {
        "game": game.name,
        "version": game.version,
        "configuration": with_clock(game, report.configuration, clock),
        "clock": clock,
        "seats": len(report.seats),
    }
    for name, value in wanted.items():
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
    for seat, one in enumerate(sorted(reported, key=lambda row: row["seat"])):
        places = [seat_order(seats, number)[seat] for number in range(len(episodes))]
        told = [outcome.verdicts[place] for outcome, place in zip(outcomes, places, strict=True)]
        verdict = next((each for each in told if each.is_fault), told[0])
        charges = [
            float(step.charged_seconds[place] or 0.0)
            for episode, place in zip(episodes, places, strict=True)
            for step in episode.steps
        ]
        spare = sum(float(episode.clock["bank_seconds"]) for episode in episodes)
        above = float(one["charged_seconds"]) - math.fsum(charges)
        slowest = float(one["max_move_seconds"]) - max(charges, default=0.0)
        for name, holds in (
            ("seat", one["seat"] == seat),
            ("placement", one["placement"] == placements[seat]),
            ("reward", one["reward"] == rewards[seat]),
            ("verdict", one["verdict"] == str(verdict)),
            ("charged_seconds", -TOLERANCE_SECONDS <= above <= spare + TOLERANCE_SECONDS),
            ("max_move_seconds", abs(slowest) <= TOLERANCE_SECONDS),
            ("statistics", _fits(one.get("statistics"), outcomes, seat)),
        ):
            if not holds:
                raise EpisodeError(f"seat {seat}: another {name}")


def _fits(reported: Json, outcomes: Sequence[Outcome], seat: int) -> bool:
    """Whether the statistics are those of the only episode. A pair has those of the first."""
    given = outcomes[0].statistics
    return bool(reported == (dict(given[seat]) if given else None))
