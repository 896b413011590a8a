"""The filters of match lists, compared with the same conditions in Python."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.entries.records import Agent
from ladder.enums import LeagueRole, MatchKind
from ladder.errors import Invalid, NotFound
from ladder.ids import SubmissionId
from ladder.matches import head_to_head, history, match_search
from ladder.matches.match_search import MatchFilter, Outcome, SeatVerdict, parse_since
from ladder.matches.records import Match, Seat
from ladder.people.records import STRANGER, Viewer
from ladder.reports import site_search
from tests.integration.ladder.contest import Contest, make_contest

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
VERDICTS = ("DONE", "DONE", "DONE", "TIMEOUT")


def played(contest: Contest, count: int = 24) -> list[Match]:
    """Rated matches of three agents in three of four seats, with chance results."""
    draw = random.Random(3)
    lineup = [contest.active() for _ in range(4)]
    for _ in range(count):
        draw.shuffle(lineup)
        placements = [draw.choice((1, 1, 2, 3, 4)) for _ in lineup]
        placements = [1 + sum(other < one for other in placements) for one in placements]
        contest.play(contest.rated(*lineup), placements, [draw.choice(VERDICTS) for _ in lineup])
    return history.list_matches(contest.conn, season_id=contest.season.id, limit=1000)


def of_agent(match: Match, agent: str) -> list[Seat]:
    return [seat for seat in match.seats if seat.agent_id == agent]


def meets(match: Match, wanted: dict[str, Any]) -> bool:
    """Whether a match meets the filter, by its record."""
    if wanted.get("kind") not in (None, match.kind):
        return False
    return any(
        seat_meets(match, seat, other, wanted)
        for seat in of_agent(match, wanted["agent_id"])
        for other in (of_agent(match, wanted["opponent_id"]) if "opponent_id" in wanted else [None])
        if other is not seat
    )


def seat_meets(match: Match, seat: Seat, other: Seat | None, wanted: dict[str, Any]) -> bool:
    if seat.verdict != wanted.get("verdict", seat.verdict):
        return False
    if seat.seat != wanted.get("seat", seat.seat):
        return False
    if "outcome" not in wanted:
        return True
    mine = seat.placement or 99
    if other is None:
        shared = [one.placement for one in match.seats].count(1) > 1
        real = Outcome.LOST if mine > 1 else Outcome.TIED if shared else Outcome.WON
    else:
        theirs = other.placement or 99
        real = Outcome.WON if mine < theirs else Outcome.LOST if mine > theirs else Outcome.TIED
    return real is wanted["outcome"]


def test_search_finds_what_the_filter_says(contest: Contest) -> None:
    rows = played(contest)
    one, two = rows[0].seats[0].agent_id, rows[0].seats[1].agent_id
    choices: dict[str, tuple[Any, ...]] = {
        "opponent_id": (None, two),
        "outcome": (None, *Outcome),
        "verdict": (None, SeatVerdict.DONE, SeatVerdict.TIMEOUT),
        "seat": (None, 2),
        "kind": (None, MatchKind.RATED, MatchKind.SCRIM),
    }
    found_some = 0
    for picked in itertools.product(*choices.values()):
        wanted: dict[str, Any] = {"agent_id": one}
        wanted |= {name: value for name, value in zip(choices, picked, strict=True) if value}
        found = match_search.search_matches(
            contest.conn, STRANGER, MatchFilter(**wanted), limit=1000
        )
        expected = [row.id for row in rows if row.kind == "rated" and meets(row, wanted)]
        assert [row.id for row in found] == expected, wanted
        found_some += bool(expected)
    assert found_some > 40


def test_search_pages_by_the_last_id(contest: Contest) -> None:
    rows = [row for row in played(contest, 7) if row.kind == "rated"]
    wanted = MatchFilter(season_id=contest.season.id, kind=MatchKind.RATED)
    pages: list[str] = []
    before = None
    while page := match_search.search_matches(contest.conn, STRANGER, wanted, before, 3):
        pages += [row.id for row in page]
        before = page[-1].id
    assert pages == [row.id for row in rows]


def test_a_long_search_goes_on_with_the_next_page(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(match_search, "MOST_ROUNDS", 1)
    monkeypatch.setattr(match_search, "CANDIDATES_AT_ONCE", 1)
    rows = [row for row in played(contest, 9) if row.kind == "rated"]
    agent = rows[0].seats[0].agent_id
    wanted = MatchFilter(agent_id=agent, kind=MatchKind.VALIDATION)
    host = Viewer(contest.host, roles={contest.league.id: LeagueRole.HOST})
    whole = match_search.search_matches(contest.conn, host, wanted, limit=1000)
    assert whole != []
    pages: list[str] = []
    page = match_search.search_page(contest.conn, host, wanted, None, 3)
    assert page.matches == []  # the newest three are rated
    while page.following is not None:
        pages += [row.id for row in page.matches]
        page = match_search.search_page(contest.conn, host, wanted, page.following, 3)
    assert [*pages, *(row.id for row in page.matches)] == [row.id for row in whole]


def test_search_by_version_and_moment(contest: Contest) -> None:
    entry = entries.get_entry(contest.conn, contest.active())
    rivals = [contest.active() for _ in range(3)]
    old = contest.rated(entry.id, *rivals)
    contest.play(old, [1, 2, 3, 4])  # a queued match tells nobody who plays in it
    newer = contest.active(entry.agent_id)
    contest.play(contest.rated(newer, *rivals), [1, 2, 3, 4])

    def ids_of(**wanted: Any) -> list[str]:
        rows = match_search.search_matches(
            contest.conn,
            STRANGER,
            MatchFilter(agent_id=entry.agent_id, kind=MatchKind.RATED, **wanted),
        )
        return [row.id for row in rows]

    assert ids_of(submission_id=entry.submission_id) == [old]
    assert len(ids_of()) == 2
    assert ids_of(submission_id="none") == []
    rival = entries.get_entry(contest.conn, rivals[0]).agent_id
    assert ids_of(submission_id=entry.submission_id, opponent_id=rival) == [old]
    of_entry = MatchFilter(entry_id=entry.id, opponent_id=rival)
    (found,) = match_search.search_matches(contest.conn, STRANGER, of_entry)
    assert found.id == old
    assert ids_of(since=datetime.now(UTC) + timedelta(minutes=1)) == []
    assert len(ids_of(since=datetime.now(UTC) - timedelta(hours=1))) == 2


def test_without_a_league_only_visible_leagues_are_searched(
    conn: Connection, contest: Contest
) -> None:
    hidden = make_contest(conn, visibility="private")
    for each in (contest, hidden):
        played(each, 2)
    everybody = match_search.search_matches(conn, STRANGER, MatchFilter(), limit=100)
    assert {row.league_id for row in everybody} == {contest.league.id}
    admin = Viewer(None, "admin", is_admin=True)
    every = match_search.search_matches(conn, admin, MatchFilter(), limit=100)
    assert {contest.league.id, hidden.league.id} <= {row.league_id for row in every}
    agent = hidden_agent(hidden)
    assert (
        match_search.search_matches(conn, STRANGER, MatchFilter(agent_id=agent.id), limit=100) == []
    )
    with pytest.raises(NotFound):
        agents.find_visible_agent(conn, STRANGER, agent.id)
    assert site_search.search_names(conn, STRANGER, agent.team_name) == []
    assert site_search.search_names(conn, admin, agent.team_name)[0].id == agent.team_id


def hidden_agent(contest: Contest) -> Any:
    return agents.get_agent(
        contest.conn, entries.get_entry(contest.conn, contest.entries[0]).agent_id
    )


@pytest.mark.parametrize(
    "wanted",
    [
        MatchFilter(seat=0),
        MatchFilter(outcome=Outcome.WON),
        MatchFilter(submission_id=SubmissionId("none")),
        MatchFilter(kind=MatchKind.SCRIM),
    ],
)
def test_a_filter_on_a_seat_needs_an_agent(contest: Contest, wanted: MatchFilter) -> None:
    with pytest.raises(Invalid, match="name an agent"):
        match_search.search_matches(contest.conn, STRANGER, wanted)


def test_a_name_of_several_teams_is_refused_with_the_remedy(contest: Contest) -> None:
    teams = [contest.team()[1] for _ in range(2)]
    for number, team in enumerate(teams):
        agent = agents.create_agent(contest.conn, team, "Twin", f"twin-{contest.host[-6:]}")
        contest.active(agent.id)
        if number == 0:
            assert agents.find_visible_agent(contest.conn, STRANGER, agent.slug) == agent
    with pytest.raises(Invalid, match="write TEAM/"):
        agents.find_visible_agent(contest.conn, STRANGER, agent.slug, "opponent")
    named = f"{agent.team_name}/{agent.slug}"
    assert agents.find_visible_agent(contest.conn, STRANGER, named) == agent
    mine = Viewer(None, "me", team_ids=frozenset({teams[0]}))
    found = agents.find_visible_agent(contest.conn, mine, agent.slug)
    assert found.team_id == teams[0]


def test_a_host_finds_agents_of_the_season_without_preference(
    conn: Connection, contest: Contest
) -> None:
    elsewhere = make_contest(conn)
    made = []
    for place in (contest, contest, elsewhere):
        agent = agents.get_agent(conn, place.agent())
        conn.execute("update agents set name = 'Twin' where id = %s", (agent.id,))
        made.append(agents.get_agent(conn, agent.id))
    one, two, other = made
    contest.active(one.id)
    elsewhere.active(other.id)
    contest.pending(two.id)

    def find(text: str, viewer: Viewer) -> Agent:
        return agents.find_season_agent(conn, viewer, contest.season.id, text, "invited")

    host = Viewer(None, "me", team_ids=frozenset({two.team_id, other.team_id}))
    assert find("twin", host) == one
    assert find(other.id, host) == other
    with pytest.raises(Invalid, match="plays in this season"):
        find(f"{two.team_name}/twin", host)
    contest.active(two.id)
    with pytest.raises(Invalid, match="invited: write TEAM/twin"):
        find("twin", host)
    assert find(f"{two.team_name.upper()}/twin", host) == two
    conn.execute("update leagues set visibility = 'private' where id = %s", (contest.league.id,))
    assert find("twin", host) == two
    for text in (one.id, f"{one.team_name}/Twin"):
        with pytest.raises((Invalid, NotFound)):
            find(text, host)


def test_head_to_head_counts_each_meeting_once(contest: Contest) -> None:
    rows = [row for row in played(contest, 12) if row.kind == "rated"]
    one, two = rows[0].seats[0].agent_id, rows[0].seats[1].agent_id
    found = head_to_head.read_head_to_head(contest.conn, STRANGER, one, two)

    def count(is_so: Callable[[int, int], bool]) -> int:
        return sum(
            is_so(of_agent(row, one)[0].placement or 99, of_agent(row, two)[0].placement or 99)
            for row in rows
        )

    total = found.total
    assert (total.games, total.won, total.tied, total.lost) == (
        12,
        count(lambda a, b: a < b),
        count(lambda a, b: a == b),
        count(lambda a, b: a > b),
    )
    assert sum(row.games for row in found.by_seat.values()) == 12
    seats = Counter((of_agent(row, one)[0].seat, of_agent(row, two)[0].seat) for row in rows)
    assert {pair: record.games for pair, record in found.by_seats.items()} == seats
    back = head_to_head.read_head_to_head(contest.conn, STRANGER, two, one).total
    assert (back.won, back.lost) == (total.lost, total.won)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("90m", NOW - timedelta(minutes=90)),
        ("2d", NOW - timedelta(days=2)),
        ("3w", NOW - timedelta(weeks=3)),
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-01T10:00+02:00", datetime(2026, 5, 1, 8, tzinfo=UTC)),
    ],
)
def test_a_moment_is_a_date_or_an_age(text: str, moment: datetime) -> None:
    assert parse_since(text, NOW) == moment


@pytest.mark.parametrize("text", ["", "soon", "2d ago", "99999999d", "0001-01-01", "2026-13-01"])
def test_a_wrong_since_value_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="give a date"):
        parse_since(text, NOW)
