"""Running matches are watched through a real Redis: what is streamed, to whom, and until when."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import redis

from games.episode import Episode
from ladder.enums import VoidCause
from ladder.ids import MatchId
from ladder.matches import lease, live_stream, matches
from ladder.matches.records import AttemptFault
from services.cli.submissions import queue_text
from services.http import live_matches, live_streams, reader_limits
from services.http.problems import ProblemError
from tests import live_playing
from tests.integration.api import world as worlds
from tests.integration.api.browsing import browse
from tests.integration.api.conftest import application
from tests.integration.api.route_walk.statuses import PEOPLE
from tests.integration.api.shared import served
from tests.integration.api.world import GOOD, WORKER, World
from tests.live_playing import Playing
from tests.loops import run_coroutine
from tests.servers import cloned
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def world(postgres_url: str, built: World, blobs_url: str, redis_url: str) -> Iterator[World]:
    """The world of all tests here, served with a Redis and short pauses between checks."""
    template = urlsplit(built.database_url).path.removeprefix("/")
    with (
        pytest.MonkeyPatch.context() as patch,
        cloned(postgres_url, template) as url,
        served(application(url, blobs_url, redis_url), built, url) as found,
    ):
        patch.setattr(live_streams, "CHECK_SECONDS", 0.2)
        patch.setattr(live_streams, "LATE_LOOK_SECONDS", 0.1)
        patch.setattr(live_matches, "LOOK_SECONDS", 0.2)
        yield found


@pytest.fixture
def open_replays(world: World) -> Iterator[None]:
    """The public league shows its replays to everybody. At the end it is as it was."""
    with world.connect() as conn:
        conn.execute("update leagues set replay_visibility = 'public' where slug = 'public'")
    yield
    with world.connect() as conn:
        conn.execute(
            "update leagues set visibility = 'public', replay_visibility = 'own'"
            " where slug = 'public'"
        )


def begin(world: World, redis_url: str, league: str = "public") -> Playing:
    match_id = worlds.create_rated(world, league)
    with world.connect() as conn:
        order = lease.claim_match(conn, match_id, WORKER)
    assert order is not None
    return live_playing.begin(order, redis_url)


def finish(world: World, playing: Playing) -> Episode:
    episode = playing.end()
    with world.connect() as conn:
        worlds.report(conn, world.blobs, playing.order, episode)
    return episode


def headers(world: World, person: str, **more: str) -> dict[str, str]:
    token = world.tokens.get(person)
    return {**({"Authorization": f"Bearer {token}"} if token else {}), **more}


def events(answer: httpx.Response) -> Iterator[tuple[str, str, Any]]:
    """Id, event and data of each message of a stream."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield fields.get("id", ""), fields["event"], json.loads(fields["data"])
            fields = {}
        else:
            fields = {}


class Watching:
    """A reader of the stream, who puts the frames together."""

    def __init__(self, answer: httpx.Response) -> None:
        self.events = events(answer)
        self.document: dict[str, Any] = {}
        self.place = ""

    def until(self, done: Callable[[int], bool] = lambda frames: False) -> str:
        """Reads until so many frames are there; returns the state at the end of the stream."""
        for place, kind, data in self.events:
            self.place = place
            if kind == "end":
                return str(data["state"])
            if kind == "frames":
                first = data.pop("first")
                if first == 0:
                    self.document = data
                else:
                    assert first == len(self.document["frames"])
                    self.document["frames"] += data["frames"]
                    self.document["steps"] += data["steps"]
                if done(len(self.document["frames"])):
                    return "running"
        return "cut"


def stream(world: World, match_id: MatchId, person: str, **more: str) -> Any:
    path = f"/v1/matches/{match_id}/live"
    accepts = headers(world, person, Accept="text/event-stream", **more)
    return world.http.stream("GET", path, headers=accepts)


def test_streams_equal_the_replay_also_for_late_watchers_and_after_a_loss_of_redis(
    world: World, redis_url: str
) -> None:
    playing = begin(world, redis_url)
    match_id = playing.order.match_id
    playing.play(5)
    with stream(world, match_id, "member") as early, stream(world, match_id, "host") as late:
        first = Watching(early)
        assert first.until(lambda frames: frames >= 6) == "running"
        redis.Redis.from_url(redis_url).flushdb()
        playing.play(5)
        assert first.until(lambda frames: frames >= 11) == "running"
        second = Watching(late)
        assert second.until(lambda frames: frames >= 11) == "running"
        asked = world.http.get(f"/v1/matches/{match_id}/live", headers=headers(world, "admin"))
        episode = finish(world, playing)
        assert first.until() == "finished"
        assert second.until() == "finished"
    whole = live_playing.without_result(episode)
    assert first.document == second.document == whole
    answer = asked.json()
    assert (answer["state"], answer["frames"]) == ("running", whole["frames"][:11])
    after = world.http.get(
        f"/v1/matches/{match_id}/live?after={answer['id']}", headers=headers(world, "admin")
    )
    assert after.json()["state"] == "finished"


def test_a_reader_resumes_after_the_frames_it_has(world: World, redis_url: str) -> None:
    playing = begin(world, redis_url)
    match_id = playing.order.match_id
    playing.play(3)
    with stream(world, match_id, "member") as answer:
        watching = Watching(answer)
        watching.until(lambda frames: frames >= 4)
    playing.play(2)
    with stream(world, match_id, "member", **{"Last-Event-ID": watching.place}) as answer:
        watching.events = events(answer)
        watching.until(lambda frames: frames >= 6)
    path = f"/v1/matches/{match_id}/live?after={watching.place}"
    asked = world.http.get(path, headers=headers(world, "member")).json()
    assert (asked["first"], asked["frames"], asked["id"]) == (6, [], watching.place)
    begins_anew = world.http.get(f"{path}9", headers=headers(world, "member")).json()
    assert begins_anew["first"] == 0
    playing.publisher.stop(is_over=False)


@pytest.mark.parametrize("league", ["public", "private"])
def test_streams_and_answers_have_the_same_viewers(
    world: World, redis_url: str, league: str
) -> None:
    world.tokens["revoked"] = "peck_revoked"
    people = [person for person in PEOPLE if person != "blocked"]
    match_id = worlds.begin_rated(world, league)
    allowed = set()
    for person in people:
        plain = world.http.get(f"/v1/matches/{match_id}/live", headers=headers(world, person))
        with stream(world, match_id, person) as answer:
            assert answer.status_code == plain.status_code, person
        if plain.status_code == 200:
            allowed.add(person)
    assert allowed == {"member", "host", "cohost", "admin"}
    hidden = MatchId(world.matches[f"{league}.scrim"])
    with stream(world, hidden, "rival") as answer:
        assert answer.status_code == 404


@pytest.mark.usefixtures("open_replays")
def test_a_stream_ends_with_the_right_to_watch(world: World, redis_url: str) -> None:
    playing = begin(world, redis_url)
    match_id = playing.order.match_id
    made = world.client("rival").post("/v1/users/me/tokens", {"label": "short", "scopes": ["read"]})
    world.tokens["short"] = made["token"]
    with stream(world, match_id, "stranger") as one, stream(world, match_id, "short") as other:
        stranger, short = Watching(one), Watching(other)
        for each in (stranger, short):
            assert each.until(lambda frames: frames >= 1) == "running"
        world.client("rival").send("DELETE", f"/v1/users/me/tokens/{made['id']}")
        assert short.until() == "cut"
        with world.connect() as conn:
            conn.execute("update leagues set visibility = 'private' where slug = 'public'")
        assert stranger.until() == "cut"
    with stream(world, match_id, "stranger") as answer:
        assert answer.status_code == 404
    playing.publisher.stop(is_over=False)


def test_steps_wait_for_the_delay_of_their_league(world: World, redis_url: str) -> None:
    world.client("host").patch("/v1/leagues/public", {"live_delay_seconds": 3600})
    playing = begin(world, redis_url)
    match_id = playing.order.match_id
    playing.play(4)
    client = redis.Redis.from_url(redis_url)
    wait_until(lambda: client.xlen(playing.key) > 0, "Redis has the steps")
    with stream(world, match_id, "member") as answer:
        watching = Watching(answer)
        asked = world.http.get(f"/v1/matches/{match_id}/live", headers=headers(world, "member"))
        assert asked.json()["frames"] == []
        world.client("host").patch("/v1/leagues/public", {"live_delay_seconds": 0})
        watching.until(lambda frames: frames >= 5)
    playing.publisher.stop(is_over=False)


def test_a_match_with_a_remote_agent_is_sent_one_step_late_and_without_times(
    world: World, redis_url: str
) -> None:
    match_id = worlds.create_rated(world, "public")
    with world.connect() as conn:
        order = lease.claim_match(conn, match_id, WORKER)
    assert order is not None
    playing = live_playing.begin(order, redis_url, is_remote=True)
    playing.play(4)
    with stream(world, match_id, "member") as answer:
        watching = Watching(answer)
        watching.until(lambda frames: frames >= 4)
        assert len(watching.document["frames"]) == 4
        playing.play(1)
        watching.until(lambda frames: frames >= 5)
        assert len(watching.document["frames"]) == 5
        finish(world, playing)
        assert watching.until() == "finished"
    assert len(watching.document["frames"]) == len(playing.episode.steps) + 1
    nothing = [None] * playing.episode.seats
    assert all(step["bank_seconds"] == nothing for step in watching.document["steps"])


@pytest.mark.parametrize("person", ["stranger", "member"])
def test_a_match_that_is_played_again_ends_the_stream_of_the_old_attempt(
    world: World, redis_url: str, open_replays: None, person: str
) -> None:
    playing = begin(world, redis_url)
    match_id = playing.order.match_id
    with stream(world, match_id, person) as answer:
        watching = Watching(answer)
        watching.until(lambda frames: frames >= 1)
        playing.publisher.stop(is_over=False)
        with world.connect() as conn:
            lease.fail_attempt(
                conn, match_id, playing.order.attempt, WORKER, AttemptFault("host", "it broke")
            )
        assert watching.until() == "queued"


def test_a_page_lists_the_running_matches_that_its_visitor_may_watch(
    world: World, request: pytest.FixtureRequest
) -> None:
    with world.connect() as conn:  # pages list only some
        running = conn.execute("select id from matches where state = 'running'").fetchall()
        matches.void_matches(conn, [row[0] for row in running], VoidCause.NOT_NEEDED, "over")
    hidden = worlds.begin_rated(world, "public")
    accepts = {"Accept": "text/html"}
    address = f"/matches/{hidden}"
    assert address not in world.http.get("/playing", headers=accepts).text
    request.getfixturevalue("open_replays")
    for path in ("/", "/playing", "/leagues/public", "/leagues/public/playing", "/tv"):
        assert address in world.http.get(path, headers=accepts).text, path
    agent = world.agents["public.member"]
    assert address in world.http.get(f"/agents/{agent}/playing", headers=accepts).text


def test_a_host_delays_running_matches_on_the_page_of_the_league(world: World) -> None:
    with browse(world, "host") as host:
        host.submit("/leagues/public", "/leagues/public/live-delay", live_delay_seconds="45")
        league = world.client("host").get("/v1/leagues/public")
        assert league["live_delay_seconds"] == 45
        answer = host.submit(
            "/leagues/public", "/leagues/public/live-delay", live_delay_seconds="3601"
        )
        assert (answer.status_code, "from 0 to 3600" in answer.text) == (422, True)


def test_one_viewer_has_a_limited_number_of_streams() -> None:
    limits = reader_limits.WatcherLimits(10)
    one, other = (limits.counted("1.2.3.4", is_person=False) for _ in range(2))
    with one, other:
        with pytest.raises(ProblemError, match="Ask without"):
            limits.refuse_more("1.2.3.4", is_person=False)
        limits.refuse_more("1.2.3.5", is_person=False)
        limits.refuse_more("usr_x", is_person=True)
    limits.refuse_more("1.2.3.4", is_person=False)
    with pytest.raises(ProblemError, match="Ask without"):
        reader_limits.WatcherLimits(0).refuse_more("usr_x", is_person=True)


def test_a_reader_who_takes_nothing_loses_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_streams, "SLOW_SECONDS", 0.01)
    sent = []

    async def send(message: Any) -> None:
        sent.append(message["type"])
        if message["type"] == "http.response.body":
            await asyncio.sleep(60)

    answer = live_streams.LiveStream(live_streams.single_event("data: x\n\n"))
    run_coroutine(answer.stream_response(send))
    assert sent == ["http.response.start", "http.response.body"]


def test_a_team_sees_how_far_its_validation_is(world: World, redis_url: str) -> None:
    member = world.client("member")
    agent = member.post("/v1/agents", {"name": "Slow one"})
    made = member.upload(
        f"/v1/agents/{agent['id']}/submissions", GOOD + b"# slow", season=world.seasons["public"]
    )["entry"]
    with world.connect() as conn:
        order = lease.claim_match(conn, made["validation_match_id"], WORKER)
    assert order is not None
    playing = live_playing.begin(order, redis_url)
    playing.play(7)

    def step() -> int | None:
        found: int | None = member.get(f"/v1/entries/{made['id']}")["queue"]["step"]
        return found

    wait_until(lambda: step() == 7, "the owner sees the step")
    assert "playing step 7 of at most 200 for" in queue_text(
        member.get(f"/v1/entries/{made['id']}")["queue"]
    )
    with browse(world, "member") as browser:
        page = browser.get(f"/agents/{agent['id']}").text
    assert re.search(r"Being validated for [\w. ]+: step 7 of at most 200", page)
    assert f'<a href="/matches/{order.match_id}">Watch it</a>' in page
    playing.publisher.stop(is_over=False)
    _call_off(world, order.match_id)


def test_a_team_sees_that_slow_moves_use_up_the_bank(world: World, redis_url: str) -> None:
    member = world.client("member")
    agent = member.post("/v1/agents", {"name": "Sleeper"})
    made = member.upload(
        f"/v1/agents/{agent['id']}/submissions", GOOD + b"# sleeps", season=world.seasons["public"]
    )["entry"]
    with world.connect() as conn:
        order = lease.claim_match(conn, made["validation_match_id"], WORKER)
    assert order is not None
    stream = redis.Redis.from_url(redis_url)
    step = {"moves": ["EAST"], "charged_seconds": [3.0], "bank_seconds": [38.0]}
    for number, at in ((9, "1000000-0"), (10, "1003000-0")):
        told = {"position": 0, "first": number, "steps": [step]}
        key = live_stream.stream_key(order.match_id, order.attempt)
        stream.xadd(key, {live_stream.FIELD: json.dumps(told)}, id=at)
    assert member.get(f"/v1/entries/{made['id']}")["queue"]["eta_seconds"] == pytest.approx(60)
    with browse(world, "member") as browser:
        page = browser.get(f"/agents/{agent['id']}").text
    assert "Its moves take about 3 s; 1 s is allowed." in page
    assert "At this pace its bank of extra time ends near step 31, in about 60 s." in page
    assert "If it passes" not in page
    _call_off(world, order.match_id)


def _call_off(world: World, match_id: MatchId) -> None:
    """Ends a validation, so that it takes no slot from those of other tests."""
    with world.connect() as conn:
        matches.void_matches(conn, [match_id], VoidCause.NOT_NEEDED, "the test is over")
