"""The same tournament three times, with opposite winners and before its last game: while results
are hidden, no answer differs.

All games take equally long. Ids, times, digests and secrets are masked; any other difference fails.
"""

from __future__ import annotations

import difflib
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
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
    entrants,
    shows,
    tournaments,
)
from ladder.tournaments.records import NewShow, NewTournament, TournamentGame
from ladder.tournaments.shows import Direction
from tests.integration.api.browsing import browse
from tests.integration.api.route_walk.row import JSON
from tests.integration.api.route_walk.table import WALK
from tests.integration.api.route_walk.words import fill
from tests.integration.api.shared import copied
from tests.integration.api.test_every_page import requests
from tests.integration.api.world import WORKER, World, make_reader_and_foreign
from tests.integration.ladder.contest import results
from tests.integration.ladder.cup import better_seed_wins, worse_seed_wins

PEOPLE = ("stranger", "reader", "member", "rival", "commentator", "grader", "foreign")
"""Member and rival play in it. The reader has a token of the member that only reads. Not all
entrants agreed to the commentator. The foreign person hosts another league."""
ON_PAGES = ("stranger", "member", "rival", "grader")
VARIANTS = (
    "/v1/tournaments/{cup}/export?form=json",
    "/v1/matches?season={season}&kind=tournament",
    "/v1/matches?agent={agent}&outcome=won",
    "/v1/matches/{running}",
    "/v1/matches/{running}/replay",
    "/v1/matches/{running}/seats/0/log",
    "/v1/head-to-head?agent={agent}&opponent={rival_agent}",
    "/v1/me/feed",
    "/metrics",
)
"""Operations that the table of all routes asks otherwise."""
PAGES = (
    "/matches?agent={agent}",
    "/matches/{running}",
    "/matches/{running}/live",
    "/shows/{show}",
    "/agents/{rival_agent}",
    "/search?q=flood",
    "/compare?agent={agent}&opponent={rival_agent}",
    "/logs/{rated}/0",
    "/pictures/matches/{rated}/card.png",
)
"""Pages beside those of all routes."""
OF_CUP = re.compile(r"{(cup|tournament|rated|running)}")
"""Words of the tournament and its games."""
OF_OTHERS = ("reader", "foreign")
"""Persons who read what another person reads too; they ask only about the tournament."""
SHOWS_GAMES = re.compile(
    r"^/($|tv$|me$|me/notices$|leagues|tournaments|matches|agents|teams|s[eh]"
    r"|pictures/|embed|oembed|watch|playing|logs|compare)"
)
"""Pages that could tell of games."""
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
        (r'"(matches_an_hour|games_an_hour|measured_seconds|hours_left)": ?[\d.]+', "PACE"),
        (r"The league plays about [^<]*|, [^<,]* at the present rate", "PACE"),
        (r"127\.0\.0\.1:\d+", "HOST"),
        (r"/shows/[\w-]{32}", "SHOW"),
        (r"\b\d{13,17}\.", "KEY."),
    )
)


def masked(text: str) -> str:
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    return text


LAST = "1.2.1"
"""The final of SINGLE with three or four entrants."""
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
    entrants.lock_entrants(conn, made, None)
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


def play(conn: Connection, world: World, cup: TournamentId, winner: Any, *, left: int = 0) -> None:
    """Plays the tournament; ``left`` games of the last round still run. Each game stores the same
    replay."""
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
        is_last = any(one.pairing == LAST for one in waiting)
        for one in waiting[: -left or None] if is_last else waiting:
            end(one)
        if is_last and left:
            for one in waiting[-left:]:
                assert lease.claim_match(conn, one.match_id, WORKER) is not None
            advance.advance_one(conn, cup, lambda _: 0)
            conn.commit()
            return


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


def queue_lines(text: str) -> str:
    """The metrics of queues, matches and seasons, without the times since the last match."""
    counted = re.compile(r"peck_(queue|match|season)(?!.*_seconds)")
    return "\n".join(line for line in text.splitlines() if counted.match(line))


Answers = dict[tuple[str, str], tuple[int, str, str]]


def answers(world: World, cup: TournamentId, show: str, after: str) -> Answers:
    """Status, ETag and masked text of everything, by person and request. The streams begin
    ``after`` this key.

    First every person reads. Then every person sends each operation and form about the tournament;
    then all read again what is left of it.
    """
    with world.connect() as conn:
        until = key_of_now(conn)
    known = hidden_words(world, cup, show)
    found: Answers = {}
    for person in PEOPLE:
        found |= read_all(world, person, known)
    for person in ("member", "rival"):
        found[person, "stream"] = (200, "", stream_lines(world, person, after, until))
    for person in PEOPLE:
        found |= dict(send_all(world, person, known))
    for person in PEOPLE:
        about = {path for path in operations() if OF_CUP.search(path)}
        found |= {
            (person, f"{path}, later"): ask(world, person, "GET", path, None, known)
            for path in sorted(about)
        }
    return found


def hidden_words(world: World, cup: TournamentId, show: str) -> dict[str, str]:
    """The words of the table of routes, for the hidden tournament."""
    make_reader_and_foreign(world)
    with world.connect() as conn:
        games = [one.match_id for one in courses.read_games(conn, cup)]
    return {
        **{"cup": cup, "tournament": cup, "show": show, "rated": games[0], "running": games[-1]},
        **{"league": "public", "season": world.seasons["public"], "n": "one"},
        **{"user": world.users["member"], "team": world.teams["member"]},
        "entry": world.entries["public.member"],
        "agent": world.agents["public.member"],
        "host_agent": world.agents["public.host"],
        "rival_agent": world.agents["public.rival"],
    }


def operations() -> list[str]:
    """Every operation that reads, as the table of all routes asks it, and VARIANTS."""
    table = [path for method, path, *_ in WALK if method == "GET"]
    return list(dict.fromkeys([*table, *VARIANTS]))


def read_all(world: World, person: str, known: dict[str, str]) -> Answers:
    """The answers of every operation, and on ON_PAGES of every page."""
    found = {}
    for path in operations():
        if words_of(path) <= known.keys() and (person not in OF_OTHERS or OF_CUP.search(path)):
            found[person, path] = ask(world, person, "GET", path, None, known)
    if person in ON_PAGES:
        with browse(world, person) as browser:
            for method, path in (*pages(known), *(("GET", path) for path in PAGES)):
                if method == "GET" and SHOWS_GAMES.search(path):
                    answer = browser.http.get(path.format(**known), follow_redirects=False)
                    found[person, f"page {masked(path)}"] = shown(answer)
    return found


def send_all(
    world: World, person: str, known: dict[str, str]
) -> Iterator[tuple[tuple[str, str], tuple[int, str, str]]]:
    """The answers of every other operation and form that names the tournament or its games."""
    for method, path, body, *_ in WALK:
        if method != "GET" and OF_CUP.search(path) and words_of(f"{path} {body}") <= known.keys():
            yield (person, f"{method} {path}"), ask(world, person, method, path, body, known)
    acts = [{"act": "check-in"}, {"act": "withdraw"}]
    own = {"member": "agent", "reader": "agent", "rival": "rival_agent"}.get(person, "agent")
    entrant = f"/v1/tournaments/{{cup}}/entrants/{{{own}}}/acts"
    for body in acts:
        yield (person, body["act"]), ask(world, person, "POST", entrant, body, known)
    with browse(world, person) as browser:
        token = browser.form_token("/join" if person != "stranger" else "/sign-in")
        for method, path in pages(known):
            if method == "POST" and (known["cup"] in path or known["running"] in path):
                for act in ("enter", "check-in", "withdraw") if "lock" in path else ("",):
                    sent = {"form_token": token, "agent": known[own], "step": "1"}
                    address = path.replace("/lock", f"/{act}")
                    answer = browser.http.post(address, data=sent, follow_redirects=False)
                    yield (person, f"form {masked(address)}"), shown(answer)


def ask(
    world: World, person: str, method: str, path: str, body: JSON | None, known: dict[str, str]
) -> tuple[int, str, str]:
    headers = world.client(person).headers
    address = fill(path, known)
    return shown(world.http.request(method, address, json=fill(body, known), headers=headers))


def shown(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, masked ETag and target, and the masked text; of a zip file that of its files."""
    text = answer.text
    if answer.headers.get("content-type") == "application/zip":
        files = zipfile.ZipFile(io.BytesIO(answer.content))
        data = [one for one in files.namelist() if one.endswith(".json")]
        text = "\n".join([*files.namelist(), *(files.read(one).decode() for one in data)])
    elif answer.request.url.path == "/metrics":
        text = queue_lines(text)
    marks = (answer.headers.get(name, "") for name in ("etag", "location"))
    return answer.status_code, masked(" ".join(marks)), masked(text)


def pages(known: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Method and path of every page and form, about the hidden tournament and its last game."""
    values = {
        **{"league": "public", "match": known["running"], "tournament": known["cup"]},
        **{"agent": known["agent"], "opponent": known["rival_agent"], "seat": "0"},
        **{"team": known["team"], "user": known["user"]},
    }
    return requests(values)


def words_of(text: str) -> set[str]:
    return set(re.findall(r"{(\w+)}", text))


def differences(one: Answers, other: Answers) -> list[str]:
    """Lines that differ, with person and path."""
    found = []
    for key, (status, tag, text) in one.items():
        again = other[key]
        found += [f"{key}: {status} {tag}, {again[:2]}"] if (status, tag) != again[:2] else []
        lines = difflib.unified_diff(text.splitlines(), again[2].splitlines(), lineterm="", n=0)
        found += [f"{key}: {line.strip()}" for line in lines if line[:3] not in ("---", "+++")]
    return found


@pytest.mark.parametrize("is_disqualified", [False, True])
def test_hidden_results_change_no_answer(
    built: World,
    postgres_url: str,
    blobs_url: str,
    monkeypatch: pytest.MonkeyPatch,
    is_disqualified: bool,
) -> None:
    for name in ("BEAT_SECONDS", "QUIET_LOOK_SECONDS"):  # the stream says when it is quiet
        monkeypatch.setattr(f"services.api.feed.{name}", 0.0)
    # All worlds have the same pace, however much time passed since the first result.
    monkeypatch.setattr("ladder.reports.insights.SHORTEST_PACE", 3600.0)
    seen = []
    states = []
    for winner, left in ((better_seed_wins, 0), (worse_seed_wins, 0), (better_seed_wins, 1)):
        with copied(built, postgres_url, blobs_url) as world:
            with world.connect() as conn:
                after = key_of_now(conn)
                cup = make_cup(conn, world)
                play(conn, world, cup, winner, left=left)
                show = begin_show(conn, world, cup)
                ended = tournaments.get_tournament(conn, cup)
                states.append((ended.state, ended.champion))
                if is_disqualified:
                    rival = AgentId(world.agents["public.rival"])
                    course_acts.disqualify(conn, cup, rival, None, "a test")
                # Each world serves its profiles, however long its answers take.
                conn.execute("update workers set live_until = now() + interval '1 hour'")
                conn.commit()
            seen.append(answers(world, cup, show, after))
    assert states == [("finished", 1), ("finished", 3), ("running", None)]
    first = seen[0]
    assert max(status for status, _, _ in first.values()) < 500
    assert [differences(first, other) for other in seen[1:]] == [[], []]


def test_shown_results_change_the_answers_of_those_who_see_them(world: World) -> None:
    changed = {}
    with world.connect() as conn:
        cup = make_cup(conn, world)
        play(conn, world, cup, better_seed_wins)
        path = f"/v1/tournaments/{cup}/pairings"
        before = {person: world.client(person).get(path) for person in ("stranger", "rival")}
        for shown in (Embargo.PARTICIPANTS, Embargo.PUBLIC):
            course_acts.reveal(conn, cup, shown, None)
            conn.commit()
            changed[shown] = {
                person for person in before if world.client(person).get(path) != before[person]
            }
    # The rival has lost its only series. A stranger sees nothing of a result for participants.
    assert changed[Embargo.PARTICIPANTS] == {"rival"}
    assert changed[Embargo.PUBLIC] == {"stranger", "rival"}
