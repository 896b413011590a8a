"""Acts of two people on one request for a scrim at once, compared with a model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import entries
from ladder.errors import Conflict
from ladder.ids import ScrimRequestId
from ladder.leagues import seasons
from ladder.matches import history
from ladder.scrims import requests
from ladder.scrims.requests import RequestState, ScrimRequest
from tests.integration.ladder.scrim_pairs import Pair, make_pair
from tests.sizes import sized

STATES = RequestState
ACTS = ("accept", "decline", "withdraw", "expire", "retire", "close")


Model = tuple[str, bool, bool]
"""State of a request; whether the asked agent has a version; whether the season is open."""


def model_act(model: Model, act: str) -> tuple[Model, bool]:
    """What an act does to a request, and whether it succeeds."""
    state, has_version, is_open = model
    if act == "retire":
        can_retire = is_open or not has_version
        return (state, has_version and not can_retire, is_open), can_retire
    if act == "close":
        return (state, has_version, False), True
    if act == "expire":
        return ("expired" if state == "asked" else state, has_version, is_open), True
    done = {"accept": "accepted", "decline": "declined", "withdraw": "withdrawn"}[act]
    if state == done:
        return model, True
    if state != "asked" or (act == "accept" and not (has_version and is_open)):
        return model, False
    return (done, has_version, is_open), True


def real_act(conn: Connection, pair: Pair, request_id: ScrimRequestId, act: str) -> bool:
    """The same act on the database; False if it was refused."""
    calls: dict[str, Callable[[], object]] = {
        "accept": lambda: requests.accept_request(conn, request_id, pair.asked[0]),
        "decline": lambda: requests.decline_request(conn, request_id, pair.asked[0]),
        "withdraw": lambda: requests.withdraw_request(conn, request_id, pair.asker[0]),
        "expire": lambda: expire_now(conn, request_id),
        "retire": lambda: entries.retire_entry(conn, pair.entry),
        "close": lambda: seasons.set_season_state(conn, pair.contest.season.id, "finished"),
    }
    try:
        calls[act]()
    except Conflict:
        return False
    return True


def expire_now(conn: Connection, request_id: ScrimRequestId) -> None:
    """Its deadline passes, and the scheduler's job ends it. The job skips a request in use."""
    with conn.transaction():
        conn.execute(
            "update scrim_requests set expires_at = now() where id = %s and state = 'asked'",
            (request_id,),
        )
        requests.expire_requests(conn)


@given(
    steps=st.lists(st.tuples(st.sampled_from(ACTS), st.sampled_from(ACTS)), min_size=1, max_size=2)
)
@example(steps=[("accept", "withdraw")])
@example(steps=[("accept", "accept"), ("retire", "withdraw")])
@example(steps=[("accept", "retire")])
@example(steps=[("accept", "close")])
@example(steps=[("accept", "expire")])
@settings(
    max_examples=sized(4, 500),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_two_acts_at_once_end_as_one_after_the_other(
    conn: Connection, database_url: str, steps: Sequence[tuple[str, str]]
) -> None:
    pair = make_pair(conn)
    request_id = pair.ask().id
    model: Model = ("asked", True, True)
    with (
        db.connect(database_url, autocommit=True) as left,
        db.connect(database_url, autocommit=True) as right,
        ThreadPoolExecutor(2) as pool,
    ):
        for acts in steps:
            gate = Barrier(2)

            def run(conn: Connection, act: str, gate: Barrier = gate) -> bool:
                gate.wait(120)
                return real_act(conn, pair, request_id, act)

            got = tuple(pool.map(run, (left, right), acts))
            request = requests.get_request(conn, request_id)
            season = seasons.get_season(conn, pair.contest.season.id)
            entry = entries.get_entry(conn, pair.entry)
            now: Model = (request.state, entry.state == "active", season.state == "open")
            assert (now, got) in possible(model, acts), (model, acts, now, got)
            check_scrim(conn, request)
            model = now


def possible(model: Model, acts: tuple[str, str]) -> list[tuple[Model, tuple[bool, bool]]]:
    """The ends of both orders of two acts."""
    found = []
    for order in itertools.permutations((0, 1)):
        at, results = model, [False, False]
        for place in order:
            at, results[place] = model_act(at, acts[place])
        found.append((at, (results[0], results[1])))
    return found


def check_scrim(conn: Connection, request: ScrimRequest) -> None:
    """Only an accepted request has a scrim, and all its games have pinned versions."""
    if request.state != "accepted":
        assert request.scrim_id is None
        return
    assert request.scrim_id is not None
    played = history.list_matches(conn, scrim_id=request.scrim_id)
    assert len(played) == request.games
    pinned = {seat.submission_id for seat in request.seats}
    assert {seat.submission_id for match in played for seat in match.seats} == pinned
    assert all(match.state == "queued" for match in played)
