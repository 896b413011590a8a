"""Who sees an agent, an entry, a scrim, a match, its replay and its logs: a table by viewer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import psycopg
import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.ids import AgentId, EntryId, LeagueId, MatchId, ScrimId
from ladder.matches import history
from ladder.people import visibility
from ladder.people.records import Viewer
from tests.servers import cloned
from tests.unit.ladder.people.test_permissions import (
    EVERYBODY,
    GRADED,
    HOSTS,
    LEAGUE,
    MEMBERS,
    OWN,
    RIVAL,
    VIEWERS,
)

PLAYERS: Final = {"owner", "rival"}
OWNER: Final = {"owner", "admin"}
SIDES: Final = {*PLAYERS, "admin"}
TOLD: Final = {*HOSTS, "commentator"}
"""Those who see the results that a tournament hides."""
FILLED: Final = {
    "text": "x", "integer": 1, "bigint": 1, "jsonb": "{}", "bytea": b"0", "boolean": False,
    "ARRAY": [], "real": 1, "double precision": 1, "timestamp with time zone": "now",
}  # fmt: skip
"""A value of each type, for columns that do not matter."""


@pytest.fixture(scope="module")
def database(postgres_url: str, migrated_template: str) -> Iterator[Connection]:
    with cloned(postgres_url, migrated_template) as url, db.connect(url) as conn:
        yield conn


@pytest.fixture
def conn(database: Connection) -> Iterator[Connection]:
    """A database in which rows may name others that are not there."""
    with database.transaction() as block:
        database.execute("set local session_replication_role = replica")
        yield database
        raise psycopg.Rollback(block)


def insert(conn: Connection, table: str, **values: Any) -> None:
    columns = conn.execute(
        """
        select column_name, data_type from information_schema.columns
        where table_schema = 'public' and table_name = %s and is_nullable = 'NO'
          and column_default is null and is_identity = 'NO'
        """,
        (table,),
    ).fetchall()
    row = {name: FILLED[kind] for name, kind in columns} | values
    names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    conn.execute(f"insert into {table} ({names}) values ({marks})", list(row.values()))


def add_league(
    conn: Connection,
    league: str = LEAGUE,
    *,
    visible: str = "public",
    replays: str = "public",
    over: bool = False,
) -> None:
    insert(conn, "leagues", id=league, slug=league, visibility=visible, replay_visibility=replays)
    state = "finished" if over else "open"
    insert(conn, "seasons", id=f"sea_{league}", league_id=league, state=state, game="snake")


def add_match(
    conn: Connection,
    kind: str = "rated",
    state: str = "finished",
    *,
    embargo: str | None = None,
    remote: bool = False,
    has_entrants: bool = True,
    has_other_entrant: bool = False,
    scrim: dict[str, Any] | None = None,
    **league: Any,
) -> MatchId:
    """A match of both teams (a validation: of the own team) in a new league.

    The other entrant's team plays in another match, and agreed to no commentator.
    """
    add_league(conn, **league)
    teams = (OWN,) if kind == "validation" else (OWN, RIVAL)
    for team in (OWN, RIVAL):
        insert(conn, "teams", id=team, slug=team)
        insert(conn, "agents", id=f"age_{team}", team_id=team)
    if scrim is not None:
        insert(
            conn, "scrims", id="scr_x", season_id=f"sea_{LEAGUE}", team_id=OWN,
            side_team_ids=[OWN, RIVAL],
            **{"result_audience": "asker", "replay_audience": "asker", "log_audience": "own"}
            | scrim,
        )  # fmt: skip
    insert(
        conn, "matches", id="mat_x", kind=kind, season_id=f"sea_{LEAGUE}", state=state,
        queue="play.cpu", scrim_id="scr_x" if scrim is not None else None,
        claimed_at="2020-01-01",
    )  # fmt: skip
    for seat, team in enumerate(teams):
        profile = "remote" if remote else "numpy"
        insert(
            conn, "seats", match_id="mat_x", seat=seat, agent_id=f"age_{team}", team_id=team,
            profile=profile,
        )  # fmt: skip
    if embargo is not None:
        insert(conn, "tournament_games", match_id="mat_x", tournament_id="tou_x", embargo=embargo)
        for number, team in enumerate(teams if has_entrants else (), start=1):
            insert(
                conn, "tournament_entrants", tournament_id="tou_x", agent_id=f"age_{team}",
                number=number,
            )  # fmt: skip
        if has_other_entrant:
            insert(conn, "teams", id="tea_other", slug="other")
            insert(conn, "agents", id="age_other", team_id="tea_other")
            insert(
                conn, "tournament_entrants", tournament_id="tou_x", agent_id="age_other", number=3,
            )  # fmt: skip
    return MatchId("mat_x")


def seers(sees: Callable[[Viewer], bool]) -> set[str]:
    return {name for name, viewer in VIEWERS.items() if sees(viewer)}


MATCHES: list[tuple[str, dict[str, Any], set[str], set[str]]] = [
    # the match, who sees it, who sees its replay
    ("rated", {}, EVERYBODY, EVERYBODY),
    ("private", {"visible": "private"}, MEMBERS, MEMBERS),
    ("running", {"state": "running"}, EVERYBODY, set()),
    ("queued", {"state": "queued"}, {"admin"}, set()),
    ("for members", {"replays": "members"}, EVERYBODY, MEMBERS),
    ("for players", {"replays": "own"}, EVERYBODY, PLAYERS | HOSTS),
    ("closed", {"replays": "after_close"}, EVERYBODY, {*PLAYERS, *HOSTS, "commentator"}),
    ("open", {"replays": "after_close", "over": True}, EVERYBODY, EVERYBODY),
    (
        "open in private",
        {"replays": "after_close", "over": True, "visible": "private"},
        MEMBERS,
        MEMBERS,
    ),
    ("validation", {"kind": "validation"}, GRADED, OWNER),
    (
        "hidden game",
        {"kind": "tournament", "embargo": "hidden"},
        TOLD,
        TOLD,
    ),
    (
        "hidden game without entrants",
        {"kind": "tournament", "embargo": "hidden", "has_entrants": False},
        TOLD,
        TOLD,
    ),
    (
        "hidden game of a tournament with a team that did not agree",
        {"kind": "tournament", "embargo": "hidden", "has_other_entrant": True},
        HOSTS,
        HOSTS,
    ),
    (
        "game for its teams",
        {"kind": "tournament", "embargo": "participants"},
        {*PLAYERS, *HOSTS, "commentator"},
        {*PLAYERS, *HOSTS, "commentator"},
    ),
    ("public game", {"kind": "tournament", "embargo": "public"}, EVERYBODY, EVERYBODY),
    ("scrim", {"scrim": {}}, OWNER, OWNER),
    ("scrim of sides", {"scrim": {"result_audience": "sides"}}, SIDES, OWNER),
    ("scrim of the league", {"scrim": {"result_audience": "league"}}, EVERYBODY, OWNER),
    (
        "scrim of a private league",
        {"scrim": {"result_audience": "league"}, "visible": "private"},
        MEMBERS,
        OWNER,
    ),
    (
        "scrim of a league that became public",
        {"scrim": {"result_audience": "league", "is_members_only": True}},
        MEMBERS,
        OWNER,
    ),
    (
        "replay for sides",
        {"scrim": {"result_audience": "league", "replay_audience": "sides"}},
        EVERYBODY,
        SIDES,
    ),
    (
        "replay for the league",
        {"scrim": {"result_audience": "league", "replay_audience": "league"}},
        EVERYBODY,
        EVERYBODY,
    ),
    ("replay of a hidden scrim", {"scrim": {"replay_audience": "league"}}, OWNER, OWNER),
]


@pytest.mark.parametrize(
    ("match", "viewers", "replay_viewers"),
    [row[1:] for row in MATCHES],
    ids=[row[0] for row in MATCHES],
)
def test_each_match_and_replay_has_exactly_the_expected_viewers(
    conn: Connection, match: dict[str, Any], viewers: set[str], replay_viewers: set[str]
) -> None:
    kind = "scrim" if "scrim" in match else "rated"
    match_id = add_match(conn, **{"kind": kind, **match})
    read = {
        name: matches[0]
        for name, viewer in VIEWERS.items()
        if (matches := history.get_matches(conn, [match_id], viewer))
    }
    assert set(read) == viewers
    assert {name for name, match in read.items() if match.access.has_replay} == replay_viewers
    if "scrim" in match:
        assert (
            seers(lambda viewer: visibility.sees_scrim(conn, viewer, ScrimId("scr_x"))) == viewers
        )


LIVE: list[tuple[str, dict[str, Any], set[str]]] = [
    ("rated", {}, EVERYBODY),
    ("private", {"visible": "private"}, MEMBERS),
    ("for members", {"replays": "members"}, MEMBERS),
    ("for players", {"replays": "own"}, PLAYERS | HOSTS),
    ("closed", {"replays": "after_close"}, PLAYERS | HOSTS),
    ("open", {"replays": "after_close", "over": True}, EVERYBODY),
    ("hidden game", {"kind": "tournament", "embargo": "hidden"}, HOSTS),
    ("game for its teams", {"kind": "tournament", "embargo": "participants"}, PLAYERS | HOSTS),
    ("public game", {"kind": "tournament", "embargo": "public"}, EVERYBODY),
    ("validation", {"kind": "validation"}, OWNER),
    ("scrim", {"kind": "scrim", "scrim": {}}, OWNER),
    ("remote agents", {"remote": True}, EVERYBODY - PLAYERS),
]


@pytest.mark.parametrize(
    ("match", "expected"), [row[1:] for row in LIVE], ids=[row[0] for row in LIVE]
)
def test_each_running_match_has_exactly_the_expected_watchers(
    conn: Connection, match: dict[str, Any], expected: set[str]
) -> None:
    match_id = add_match(conn, **{"state": "running", **match})
    assert seers(lambda viewer: history.may_watch(conn, viewer, match_id, ["snake"])) == expected


def test_nobody_watches_a_remote_agent_that_must_not_see_everything(conn: Connection) -> None:
    match_id = add_match(conn, state="running", remote=True)
    assert seers(lambda viewer: history.may_watch(conn, viewer, match_id, [])) == set()


ALL_SIDES: Final = {"result_audience": "league", "log_audience": "sides"}
LOGS: list[tuple[str, dict[str, Any], set[str], set[str]]] = [
    # the match, who reads the log of the own team, and that of the rival
    ("rated", {}, {"owner", "grader"}, {"rival"}),
    ("scrim", {"scrim": {"result_audience": "league"}}, {"owner"}, {"rival"}),
    ("log of sides", {"scrim": ALL_SIDES}, PLAYERS, PLAYERS),
    ("log of a hidden scrim", {"scrim": {"log_audience": "sides"}}, {"owner"}, {"owner"}),
    (
        "log of the league",
        {"scrim": {"result_audience": "league", "log_audience": "league"}},
        EVERYBODY,
        EVERYBODY,
    ),
]


@pytest.mark.parametrize(
    ("match", "own", "rival"), [row[1:] for row in LOGS], ids=[row[0] for row in LOGS]
)
def test_each_log_has_exactly_the_expected_readers(
    conn: Connection, match: dict[str, Any], own: set[str], rival: set[str]
) -> None:
    match_id = add_match(conn, **{"kind": "scrim" if "scrim" in match else "rated", **match})
    conn.execute("update seats set reason = 'it broke', failed_step = 3, log_digest = 'd'")
    readers: list[set[str]] = [set(), set()]
    for name, viewer in VIEWERS.items():
        for played in history.get_matches(conn, [match_id], viewer):
            for seat in played.seats:
                told = (seat.reason, seat.failed_step, seat.log_digest)
                assert told in (("it broke", 3, "d"), (None, None, None))
                readers[seat.seat] |= {name} if seat.reason else set()
    assert readers == [own, rival]


@pytest.mark.parametrize(
    ("leagues", "state", "expected"),
    [
        (["public"], "active", EVERYBODY),
        (["private"], "active", MEMBERS),
        (["private", "public"], "active", EVERYBODY),
        ([], "active", OWNER),
        (["public"], "pending", OWNER),
    ],
)
def test_an_agent_is_as_visible_as_the_leagues_whose_board_has_shown_it(
    conn: Connection, leagues: list[str], state: str, expected: set[str]
) -> None:
    insert(conn, "teams", id=OWN)
    insert(conn, "agents", id="age_x", team_id=OWN)
    for league, visible in zip((LEAGUE, LeagueId("lea_y")), leagues, strict=False):
        add_league(conn, league, visible=visible)
        insert(
            conn, "entries", id=f"ent_{league}", season_id=f"sea_{league}", team_id=OWN,
            agent_id="age_x", state=state,
        )  # fmt: skip
    agent = AgentId("age_x")
    assert seers(lambda viewer: visibility.sees_agent(conn, viewer, agent)) == expected
    assert seers(lambda viewer: visibility.sees_team(conn, viewer, OWN)) == expected


@pytest.mark.parametrize(
    ("team", "visible", "state", "expected"),
    [
        (OWN, "public", "active", EVERYBODY),
        (OWN, "private", "active", MEMBERS),
        (OWN, "public", "pending", GRADED),
        (OWN, "private", "pending", GRADED),
        (RIVAL, "public", "pending", {"rival", *HOSTS}),
    ],
)
def test_each_entry_has_exactly_the_expected_viewers(
    conn: Connection, team: str, visible: str, state: str, expected: set[str]
) -> None:
    add_league(conn, visible=visible)
    insert(conn, "entries", id="ent_x", season_id=f"sea_{LEAGUE}", team_id=team, state=state)
    entry = EntryId("ent_x")
    assert seers(lambda viewer: visibility.sees_entry(conn, viewer, entry)) == expected
