"""The same tournament twice, with opposite winners: while results are hidden, no answer differs.

All games take equally long. Ids, times, digests and secrets are masked; any other difference fails.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.enums import Embargo
from ladder.ids import AgentId, SeasonId, TournamentId, UserId
from ladder.leagues import seasons
from ladder.matches import lease
from ladder.matches.records import EpisodeResult
from ladder.reports import feed
from ladder.tournaments import (
    advance,
    course_acts,
    courses,
    embargo,
    entrants,
    locking,
    shows,
    tournaments,
)
from ladder.tournaments.records import TournamentGame
from ladder.tournaments.request_models import NewShow, NewTournament
from ladder.tournaments.shows import Direction
from tests.integration.api.browsing import browse
from tests.integration.api.shared import copied
from tests.integration.api.world import WORKER, World
from tests.integration.ladder.contest import results
from tests.integration.ladder.cup import better_seed_wins, worse_seed_wins

PEOPLE = ("stranger", "member", "rival", "commentator", "grader")
"""Member and rival play in it. Not all entrants agreed to the commentator."""
ANSWERS = (
    "/v1/tournaments",
    "/v1/tournaments/{cup}",
    "/v1/tournaments/{cup}/entrants",
    "/v1/tournaments/{cup}/pairings",
    "/v1/tournaments/{cup}/standings",
    "/v1/tournaments/{cup}/export?form=csv",
    "/v1/tournaments/{cup}/export?form=json",
    "/v1/matches?season={season}",
    "/v1/matches?season={season}&kind=tournament",
    "/v1/matches?agent={agent}",
    "/v1/matches?agent={agent}&outcome=won",
    "/v1/matches/{game}",
    "/v1/matches/{game}/live",
    "/v1/matches/{game}/replay",
    "/v1/matches/{last}",
    "/v1/head-to-head?agent={agent}&opponent={rival}",
    "/v1/seasons/{season}",
    "/v1/seasons/{season}/leaderboard",
    "/v1/seasons/{season}/health",
    "/v1/leagues/public/highlights",
    "/v1/entries?season={season}",
    "/v1/agents/{agent}",
    "/v1/me/feed",
    "/v1/me/notices",
)
PAGES = (
    "/",
    "/shown",
    "/leagues",
    "/leagues/public",
    "/leagues/public/board",
    "/leagues/public/recent",
    "/leagues/public/watch",
    "/leagues/public/feed.atom",
    "/leagues/public/tournaments",
    "/tournaments",
    "/tournaments/{cup}",
    "/matches",
    "/matches?agent={agent}",
    "/matches/{last}",
    "/matches/{last}/live",
    "/shows/{show}",
    "/agents/{agent}",
    "/agents/{rival}",
    "/teams/member",
    "/search?q=flood",
    "/me",
    "/tv",
)
MASKS = tuple(
    (re.compile(pattern), mask)
    for pattern, mask in (
        (r"[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}", "ID"),
        (r"\b[0-9a-f]{16,}\b", "DIGEST"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?", "TIME"),
        (r"\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d", "TIME"),
        (r"\b\d+ (s|min) ago|just now", "AGO"),
        (r"finished for \d+ (s|min)", "AGO"),
        (r'name="(form_token|key)" value="[^"]*"', "SECRET"),
        (r'"(seen_seconds_ago|silent_seconds|uptime_seconds)": ?[\d.]+', "SECONDS"),
        (r"127\.0\.0\.1:\d+", "HOST"),
        (r"/shows/[\w-]{32}", "SHOW"),
        (r"\b\d{13,17}\.", "KEY."),
    )
)


def masked(text: str) -> str:
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    return text


SINGLE = {"stages": [{"format": "single_elimination", "series": {"pairs": 2}}]}


def make_cup(conn: Connection, world: World, plan: Mapping[str, Any] = SINGLE) -> TournamentId:
    """A running tournament of three agents, whose results are hidden; single elimination."""
    season, league = seasons.get_season_and_league(conn, SeasonId(world.seasons["public"]))
    wanted = NewTournament(
        title="Cup",
        plan=dict(plan),
        embargo=Embargo.HIDDEN,
    )
    conn.execute("update seasons set cadence_seconds = 86400")  # no alarm on a slow machine
    made = tournaments.create_tournament(conn, league, season, wanted, None).id
    conn.execute("update tournaments set draw_seed = %s where id = %s", (bytes(32), made))
    for person in ("member", "host", "rival"):
        agent = agents.get_agent(conn, AgentId(world.agents[f"public.{person}"]))
        entrants.enter_agent(conn, made, agent, None)
    locking.lock_entrants(conn, made, None)
    for number, person in enumerate(("member", "host", "rival")):  # the same seeds in both worlds
        conn.execute(
            "update tournament_entrants set number = -%s where tournament_id = %s"
            " and agent_id = %s",
            (number + 1, made, world.agents[f"public.{person}"]),
        )
    conn.execute(
        "update tournament_entrants set number = -number where tournament_id = %s", (made,)
    )
    course_acts.start_tournament(conn, made, None)
    return made


def play(conn: Connection, world: World, cup: TournamentId, winner: Any) -> None:
    """Plays the whole tournament. Each game stores the same replay."""
    replay = world.blobs.put_bytes(b"a replay").digest

    def end(game: TournamentGame) -> None:
        order = lease.claim_match(conn, game.match_id, WORKER)
        assert order is not None
        lease.finish_match(
            conn,
            game.match_id,
            order.attempt,
            WORKER,
            results(winner(game)),
            [EpisodeResult(42, replay)],
            node="node",
            image_digest="",
            rules_digest="",
        )

    while True:
        advance.advance_one(conn, cup, lambda _: 0)
        conn.commit()
        waiting = [one for one in courses.read_games(conn, cup) if one.outcome is None]
        if not waiting:
            return
        for one in waiting:
            end(one)


def begin_show(conn: Connection, world: World, cup: TournamentId) -> str:
    """The secret of a show that plays the first game of the tournament."""
    _, secret = shows.create_show(conn, cup, UserId(world.users["host"]), NewShow())
    shows.move_show(conn, secret, 0, Direction.NEXT)
    return secret


def key_of_now(conn: Connection) -> str:
    """The key of the feed that precedes all items of the tournament, and nothing older."""
    micros, _, rest = feed.current_key(conn).partition(".")
    return f"{int(micros) + round(feed.SETTLE_SECONDS * 1e6)}.{rest}"


def stream_lines(world: World, person: str, after: str, until: str) -> str:
    """The stream of a person's feed, from one key to another."""
    headers = {**world.client(person).headers, "Last-Event-ID": after}
    lines: list[str] = []
    with world.http.stream("GET", "/v1/me/feed/stream", headers=headers) as answer:
        assert answer.status_code == 200
        for line in answer.iter_lines():
            lines.append(line)
            if line == ": still here":  # the line before is a key that has no item
                reached = lines[-2].removeprefix("id: ")
                del lines[-2:]
                if feed.time_of_key(reached) > feed.time_of_key(until):
                    break
    return masked("\n".join(filter(None, lines)))


def queue_lines(http: httpx.Client) -> str:
    """The metrics of queues, matches and seasons, without the times since the last match."""
    lines = http.get("/metrics").text.splitlines()
    counted = re.compile(r"peck_(queue|match|season)(?!.*_seconds)")
    return "\n".join(line for line in lines if counted.match(line))


Answers = dict[tuple[str, str], tuple[int, str, str]]


def answers(world: World, cup: TournamentId, show: str, after: str) -> Answers:
    """Status, ETag and masked text of everything, by person and path. The streams begin ``after``
    this key."""
    with world.connect() as conn:
        games = [one.match_id for one in courses.read_games(conn, cup)]
        until = key_of_now(conn)
    words = {
        "cup": cup,
        "show": show,
        "game": games[0],
        "last": games[-1],
        "season": world.seasons["public"],
        "agent": world.agents["public.member"],
        "rival": world.agents["public.rival"],
    }
    found = {}
    for person in PEOPLE:
        headers = world.client(person).headers
        with browse(world, person) as browser:
            for http, paths, given in (
                (world.http, ANSWERS, headers),
                (browser.http, PAGES, {}),
            ):
                for path in paths:
                    answer = http.get(path.format(**words), headers=given)
                    tag = masked(answer.headers.get("etag", ""))
                    found[person, path] = (answer.status_code, tag, masked(answer.text))
    for person in ("member", "rival"):
        found[person, "stream"] = (200, "", stream_lines(world, person, after, until))
    found["metrics", ""] = (200, "", queue_lines(world.http))
    return found


def differences(one: Answers, other: Answers) -> list[str]:
    """Lines that differ, with person and path."""
    found = []
    for key, (status, tag, text) in one.items():
        again = other[key]
        found += [f"{key}: {status} {tag}, {again[:2]}"] if (status, tag) != again[:2] else []
        lines = difflib.unified_diff(text.splitlines(), again[2].splitlines(), lineterm="", n=0)
        found += [f"{key}: {line.strip()}" for line in lines if line[:3] not in ("---", "+++")]
    return found


def test_hidden_results_change_no_answer(
    built: World, postgres_url: str, blobs_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BEAT_SECONDS", "QUIET_LOOK_SECONDS"):  # the stream says when it is quiet
        monkeypatch.setattr(f"services.api.feed.{name}", 0.0)
    seen = []
    champions = set()
    for winner in (better_seed_wins, worse_seed_wins):
        with copied(built, postgres_url, blobs_url) as world:
            with world.connect() as conn:
                after = key_of_now(conn)
                cup = make_cup(conn, world)
                play(conn, world, cup, winner)
                show = begin_show(conn, world, cup)
                champions.add(tournaments.get_tournament(conn, cup).champion)
            seen.append(answers(world, cup, show, after))
    one, other = seen
    assert champions == {1, 3}
    assert {answer[0] for answer in one.values()} <= {200, 401, 404, 409, 422}
    assert differences(one, other) == []


def test_shown_results_change_the_answers_of_those_who_see_them(world: World) -> None:
    changed = {}
    with world.connect() as conn:
        cup = make_cup(conn, world)
        play(conn, world, cup, better_seed_wins)
        path = f"/v1/tournaments/{cup}/pairings"
        before = {person: world.client(person).get(path) for person in ("stranger", "rival")}
        for shown in (Embargo.PARTICIPANTS, Embargo.PUBLIC):
            embargo.reveal(conn, cup, shown, None)
            conn.commit()
            changed[shown] = {
                person for person in before if world.client(person).get(path) != before[person]
            }
    # The rival has lost its only series. A stranger sees nothing of a result for participants.
    assert changed[Embargo.PARTICIPANTS] == {"rival"}
    assert changed[Embargo.PUBLIC] == {"stranger", "rival"}
