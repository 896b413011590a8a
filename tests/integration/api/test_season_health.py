"""What the API reports about a running season and about a stalled one."""

from __future__ import annotations

import re

from ladder import ids
from ladder.matches import workers
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import WORKER, World

SAMPLE = re.compile(r'peck_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-0-9.e+]+')


def lively(world: World) -> None:
    """Make the season live: a recent match and a live worker."""
    with world.connect() as conn:
        conn.execute("update entries set last_match_at = now()")
        workers.record_heartbeat(conn, WORKER)


def silence(world: World) -> None:
    with world.connect() as conn:
        conn.execute("update entries set last_match_at = now() - interval '1 hour'")
        conn.execute("update workers set live_until = now() - interval '1 hour'")


def test_a_season_that_plays_has_no_alarm(world: World) -> None:
    lively(world)
    pulse = world.client("stranger").get("/v1/seasons/public/health")
    assert pulse["alarm"] is None
    assert pulse["last_match_at"] is not None
    assert 0 <= pulse["silent_seconds"] < 3 * pulse["expected_seconds"]


def test_only_hosts_and_admins_see_the_details_of_an_alarm(
    world: World,
) -> None:
    silence(world)
    for person, knows in (("stranger", False), ("member", False), ("host", True), ("admin", True)):
        alarm = world.client(person).get("/v1/seasons/public/health")["alarm"]
        assert alarm["cause"] == "no_capacity"
        assert "No machine is free" in alarm["reason"]
        assert ("no worker" in (alarm["detail"] or "")) == knows


def test_slow_host_is_shown_to_operators_and_in_metrics(fresh_world: World) -> None:
    lively(fresh_world)
    gauge = 'peck_season_alarm{cause="slow_host",league="public",season="1"}'
    assert samples(fresh_world.http.get("/metrics").text)[gauge] == 0
    with fresh_world.connect() as conn:
        conn.execute(
            "insert into attempts"
            " (match_id, attempt, worker, started_at, ended, fault, fault_cause)"
            " select id, 99, 'w1', now(), 'fault', 'host', 'slow_host' from matches m"
            " where m.season_id = (select s.id from seasons s join leagues l on l.id = s.league_id"
            " where l.slug = 'public' limit 1) limit 1"
        )
    for person, knows in (("stranger", False), ("host", True)):
        alarm = fresh_world.client(person).get("/v1/seasons/public/health")["alarm"]
        assert alarm["cause"] == "slow_host"
        assert ("w1 (1 attempts)" in (alarm["detail"] or "")) == knows
    assert samples(fresh_world.http.get("/metrics").text)[gauge] == 1


def samples(text: str) -> dict[str, float]:
    found = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            assert SAMPLE.fullmatch(line), line
            name, value = line.rsplit(" ", 1)
            found[name] = float(value)
    return found


def test_metrics_show_the_state_of_the_database(world: World) -> None:
    lively(world)
    answer = world.http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = samples(answer.text)
    assert found['peck_workers{queue="play.cpu"}'] == 1
    assert found['peck_worker_slots{queue="scrim"}'] == 4
    assert found['peck_matches{queue="play.cpu",state="queued"}'] == 0
    labels = 'league="public",season="1"'
    assert (
        found[f"peck_season_silent_seconds{{{labels}}}"]
        < 3 * found[f"peck_season_cadence_seconds{{{labels}}}"]
    )
    alarm = f'peck_season_alarm{{cause="no_capacity",{labels}}}'
    assert found[alarm] == 0
    silence(world)
    assert samples(world.http.get("/metrics").text)[alarm] == 1


def test_metrics_show_private_leagues_only_to_permitted_viewers(world: World) -> None:
    for person, sees in (("stranger", False), ("rival", False), ("member", True), ("admin", True)):
        text = world.client(person).send("GET", "/metrics").text
        assert ('league="private"' in text) == sees


def test_accepted_match_is_counted_once_in_the_histograms(world: World) -> None:
    name = 'peck_match_play_seconds_count{league="public",season="1"}'
    waited = 'peck_match_wait_seconds_sum{league="public",season="1"}'
    before = samples(world.http.get("/metrics").text)
    with world.connect() as conn:
        conn.execute(
            "with s as (update seasons set accepted_no = accepted_no + 1 where id = %s"
            "  returning id, accepted_no), m as (insert into matches (id, kind, season_id, state,"
            "  queue, profiles, seed, max_attempts, lease_seconds, deadline_at, created_at,"
            "  claimed_at, finished_at) select %s, 'rated', id, 'finished', 'play.cpu',"
            "  array['numpy'], '\\x00', 3, 60, now(), now() - interval '50 s',"
            "  now() - interval '20 s', now() from s returning id)"
            " insert into acceptances (season_id, no, match_id)"
            " select s.id, s.accepted_no, m.id from s, m",
            (world.seasons["public"], ids.new_id("mat")),
        )
    for _ in range(2):
        after = samples(world.http.get("/metrics").text)
        assert after[name] - before.get(name, 0) == 1
        assert round(after[waited] - before.get(waited, 0)) == 30


def test_only_administrators_see_how_long_answers_take(world: World) -> None:
    world.http.get("/v1/leagues")
    world.http.get("/no/such/page")
    for person, sees in (("stranger", False), ("host", False), ("admin", True)):
        text = world.client(person).send("GET", "/metrics").text
        series = 'peck_api_request_seconds_count{method="GET",route="/v1/leagues",status="2xx"}'
        assert (series in text) == sees
        assert "/no/such/page" not in text
