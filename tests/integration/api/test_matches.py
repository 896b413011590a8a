"""Entries, matches, replays, logs and scrims for each reader."""

from __future__ import annotations

import json
from typing import Any

import pytest

from games.episode import from_bytes
from ladder.entries import entries
from ladder.enums import MatchKind, VoidCause
from ladder.ids import SeasonId
from ladder.leagues import seasons
from ladder.matches import history, matches
from ladder.matches.records import LineupSeat
from services.api_client import ApiError
from tests.integration.api.browsing import browse
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import World


def test_only_the_owner_sees_why_an_entry_was_rejected(world: World) -> None:
    entry = world.entries["public.rejected"]
    mine, hosts = (
        world.client("member").get(f"/v1/entries/{entry}"),
        world.client("host").get(f"/v1/entries/{entry}"),
    )
    assert mine["state"] == hosts["state"] == "rejected"
    assert "ZeroDivisionError" in mine["reason"]
    assert hosts["reason"] is None
    log: Any = world.client("member").get(f"/v1/entries/{entry}/log")
    assert log["traceback"]
    assert log["moves"][0]["stdout"] == "secret of seat 1"


def test_the_seed_of_a_match_is_hidden_until_it_is_over(fresh_world: World) -> None:
    rated = fresh_world.matches["public.rated"]
    assert len(fresh_world.client("stranger").get(f"/v1/matches/{rated}")["seed"]) == 32
    with fresh_world.connect() as conn:
        season = seasons.get_season(conn, SeasonId(fresh_world.seasons["public"]))
        lineup = []
        for person in ("member", "host"):
            found = entries.get_entry(conn, fresh_world.entries[f"public.{person}"])  # type: ignore[arg-type]
            lineup.append(LineupSeat(found.id, found.submission_id, found.agent_id, found.team_id))
        queued = matches.create_match(conn, season=season, kind=MatchKind.RATED, lineup=lineup)
    assert fresh_world.client("admin").get(f"/v1/matches/{queued}")["seed"] is None
    for person in ("member", "host"):
        with pytest.raises(ApiError, match="there is no such match"):
            fresh_world.client(person).get(f"/v1/matches/{queued}")


def test_a_rival_sees_the_verdict_without_the_reason(world: World) -> None:
    match = world.client("rival").get(f"/v1/matches/{world.matches['public.rated']}")
    seat = match["seats"][0]
    assert seat["verdict"] == "DONE"
    assert seat["reason"] is seat["failed_step"] is seat["charged_seconds"] is None


def test_a_replay_is_served_in_both_formats(world: World) -> None:
    member, match = world.client("member"), world.matches["public.rated"]
    ours = member.get(f"/v1/matches/{match}/replay")
    kaggles = member.get(f"/v1/matches/{match}/replay", format="kaggle")
    assert ours["format"] == "peck-replay/1"
    assert len(kaggles["steps"]) == len(ours["steps"]) + 1
    assert sorted(kaggles["info"]["TeamNames"]) == ["Team host", "Team member"]
    digest = None
    with world.connect() as conn:
        digest = history.get_match(conn, match).episodes[0].replay_digest  # type: ignore[arg-type]
    assert from_bytes(b"".join(world.blobs.open(digest))).placements == tuple(ours["placements"])


def test_a_replay_is_not_sent_twice(world: World) -> None:
    path = f"/v1/matches/{world.matches['public.rated']}/replay"
    headers = world.client("member").headers
    first = world.http.get(path, headers=headers)
    again = world.http.get(path, headers={**headers, "If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    plain = world.http.get(path, headers={**headers, "Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.json() == first.json()


def test_a_log_is_served_in_kaggle_format_on_request(world: World) -> None:
    log: Any = world.client("member").get(
        f"/v1/matches/{world.matches['public.rated']}/seats/0/log", format="kaggle"
    )
    assert log[0][0]["stdout"] == "secret of seat 0"
    assert set(log[0][0]) == {"duration", "stdout", "stderr"}


def test_an_episode_is_found_by_its_number(world: World) -> None:
    match = world.client("member").get(f"/v1/matches/{world.matches['public.rated']}")
    number = match["episodes"][0]["number"]
    assert world.client("member").get(f"/v1/episodes/{number}")["match_id"] == match["id"]
    with pytest.raises(ApiError) as refused:
        world.client("member").get(f"/v1/episodes/{10**12}")
    assert refused.value.status == 404


def test_matches_are_paged_newest_first_without_gaps(world: World) -> None:
    member = world.client("member")
    everything = [
        row["id"] for row in member.list_items("/v1/matches", agent=world.agents["public.member"])
    ]
    paged = [
        row["id"]
        for row in member.list_items("/v1/matches", agent=world.agents["public.member"], limit=1)
    ]
    assert paged == everything == sorted(everything, reverse=True)
    assert len(everything) == 6


def test_the_rating_curve_has_a_point_for_each_rated_match(world: World) -> None:
    path = f"/v1/entries/{world.entries['public.member']}/ratings"
    (point,) = world.client("stranger").list_items(path)
    assert point["match_id"] == world.matches["public.rated"]
    assert (
        point["mu"]
        == world.client("stranger").get(f"/v1/entries/{world.entries['public.member']}")["mu"]
    )


def test_a_scrim_summary_shows_wins_with_intervals(world: World) -> None:
    scrim = world.client("member").get(f"/v1/scrims/{world.scrims['public']}")
    assert (scrim["state"], scrim["finished_games"]) == ("finished", 1)
    assert sum(score["wins"] for score in scrim["summary"]) == 1
    for score in scrim["summary"]:
        assert 0 <= score["low"] <= score["win_rate"] <= score["high"] <= 1


def test_seeds_given_for_a_scrim_are_the_seeds_played(fresh_world: World) -> None:
    seeds = ["00" * 16, "ff" * 16]
    made = fresh_world.client("member").post(
        "/v1/scrims",
        {
            "season": fresh_world.seasons["public"],
            "lineup": [fresh_world.agents["public.member"], fresh_world.agents["public.host"]],
            "games": 2,
            "seeds": seeds,
        },
    )
    assert made.keys() < fresh_world.client("member").get(f"/v1/scrims/{made['id']}").keys()
    with fresh_world.connect() as conn:
        rows = history.list_matches(conn, scrim_id=made["id"])
    assert [row.seed.hex() for row in reversed(rows)] == seeds


def test_a_closed_agent_takes_no_scrim_of_another_team(world: World) -> None:
    with pytest.raises(ApiError, match="not open") as refused:
        world.client("host").post(
            "/v1/scrims",
            {
                "season": world.seasons["public"],
                "lineup": [world.agents["public.host"], world.agents["public.member"]],
            },
        )
    assert refused.value.status == 409


def test_a_cancelled_scrim_plays_no_more(fresh_world: World) -> None:
    member = fresh_world.client("member")
    lineup = [fresh_world.agents["public.member"], fresh_world.agents["public.host"]]
    made = member.post(
        "/v1/scrims", {"season": fresh_world.seasons["public"], "lineup": lineup, "games": 3}
    )
    cancelled = member.send("POST", f"/v1/scrims/{made['id']}/cancel").json()
    assert cancelled["state"] == "cancelled"
    states = {row["state"] for row in member.list_items("/v1/matches", scrim=made["id"])}
    assert states == {"void"}


def test_page_refuses_to_cancel_the_scrim_of_another_team(world: World) -> None:
    page = f"/scrims/{world.scrims['public.sides']}"
    with browse(world, "host") as browser:
        answer = browser.send("/scrims", f"{page}/cancel")
    assert answer.status_code == 403
    assert "Only the team that requested a scrim may cancel it." in answer.text


def test_a_retired_entry_keeps_its_history(fresh_world: World) -> None:
    entry = fresh_world.entries["public.member"]
    retired = fresh_world.client("member").post(f"/v1/entries/{entry}/retire")
    assert retired["state"] == "retired"
    assert fresh_world.client("stranger").get(f"/v1/entries/{entry}")["games"] == 1


def test_only_hosts_see_the_machine_error_of_a_void_match(fresh_world: World) -> None:
    with fresh_world.connect() as conn:
        season = seasons.get_season(conn, SeasonId(fresh_world.seasons["public"]))
        found = entries.get_entry(conn, fresh_world.entries["public.member"])  # type: ignore[arg-type]
        seat = LineupSeat(found.id, found.submission_id, found.agent_id, found.team_id)
        made = matches.create_match(conn, season=season, kind=MatchKind.RATED, lineup=[seat] * 2)
        detail = "3 attempts used up; the last: OSError: /srv/node-7/box"
        conn.execute("update matches set attempt = 3 where id = %s", (made,))
        matches.void_matches(conn, [made], VoidCause.ATTEMPTS_USED_UP, detail)
    for person in ("stranger", "rival", "member"):
        assert (
            fresh_world.client(person).get(f"/v1/matches/{made}")["void_reason"]
            == "3 attempts used up"
        )
        page = fresh_world.http.get(f"/matches/{made}").text
        assert "3 attempts used up" in page
        assert "node-7" not in page
    for person in ("host", "admin"):
        assert "node-7" in fresh_world.client(person).get(f"/v1/matches/{made}")["void_reason"]


def test_everybody_reads_the_whole_reason_of_another_void_match(fresh_world: World) -> None:
    with fresh_world.connect() as conn:
        season = seasons.get_season(conn, SeasonId(fresh_world.seasons["public"]))
        found = entries.get_entry(conn, fresh_world.entries["public.member"])  # type: ignore[arg-type]
        seat = LineupSeat(found.id, found.submission_id, found.agent_id, found.team_id)
        made = matches.create_match(conn, season=season, kind=MatchKind.RATED, lineup=[seat] * 2)
        reason = "the cup was cancelled; it begins again on Monday"
        matches.void_matches(conn, [made], VoidCause.CALLED_OFF, reason)
    shown = fresh_world.client("stranger").get(f"/v1/matches/{made}")
    assert (shown["void_cause"], shown["void_reason"]) == ("called_off", reason)


def test_hidden_and_missing_episodes_get_the_same_answer(world: World) -> None:
    with world.connect() as conn:
        hidden = history.get_match(conn, world.matches["private.rated"])  # type: ignore[arg-type]
    number = hidden.episodes[0].number
    answers = [world.http.get(f"/v1/episodes/{one}").json() for one in (number, number + 1000)]
    assert answers[0] == answers[1]


def test_retiring_an_entry_twice_changes_the_board_once(fresh_world: World) -> None:
    member, season = fresh_world.client("member"), fresh_world.seasons["public"]
    before = member.get(f"/v1/seasons/{season}")["revision"]
    member.post(f"/v1/entries/{fresh_world.entries['public.member']}/retire")
    once = member.get(f"/v1/seasons/{season}")["revision"]
    assert once > before
    for key in ("public.member", "public.rejected"):
        member.post(f"/v1/entries/{fresh_world.entries[key]}/retire")
    assert member.get(f"/v1/seasons/{season}")["revision"] == once


@pytest.mark.parametrize(
    "configuration", [{"columns": 10**400}, {"x": "\ud800"}, {"x": "\0"}, {"x": [[]]}, {"\0": 1}]
)
def test_a_configuration_with_unusable_values_is_refused(
    world: World, configuration: dict[str, object]
) -> None:
    answer = world.http.post(
        "/v1/leagues/public/seasons",
        content=json.dumps({"configuration": configuration, "seats": 2}),
        headers={**world.client("host").headers, "Content-Type": "application/json"},
    )
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid")


REFUSED_FORKS: list[tuple[dict[str, Any], str]] = [
    ({"step": 99_999}, "step"),
    ({"episode": 1}, "episode"),
    ({"seats": [None]}, "seats"),
    ({"games": 0}, "games"),
    ({"moves": {"2": ["EAST"]}}, "moves"),
    ({"moves": {"x": ["EAST"]}}, "moves"),
    ({"moves": {"0": ["SIDEWAYS"]}}, "moves.0"),
    ({"moves": {"0": ["EAST", "\0"]}}, "moves"),
    ({"moves": {"0": ["EAST", {"deep": [1e999]}]}}, "moves"),
    ({"moves": {"0": ["EAST"] * 201}}, "moves"),
    ({"moves": {"0": ["EAST", ["x" * 30_000]]}}, "moves"),
]


def test_a_fork_that_cannot_be_played_is_refused_by_name(world: World) -> None:
    path = f"/v1/matches/{world.matches['public.rated']}/forks"
    headers = {**world.client("member").headers, "content-type": "application/json"}
    for change, where in REFUSED_FORKS:
        body = json.dumps({"step": 1, **change}).replace("Infinity", "1e999")
        answer = world.http.post(path, content=body, headers=headers)
        assert answer.status_code in (409, 422), answer.text
        places = [one["where"] for one in answer.json().get("errors", [])]
        assert any(where in place for place in places), (change, answer.text)
