"""Which matches a machine gets: by its tier, the choice of owners, and what its owner plays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.entries.agents import AgentChange
from ladder.enums import AgentMachines, MachineTier, MatchKind
from ladder.ids import EntryId, MatchId
from ladder.machines import machines
from ladder.machines.machines import CHECKED, Machine, MachineTrust
from ladder.matches import history, lease, matches, wake_up_messages, workers
from ladder.matches.records import AttemptFault
from ladder.matches.workers import WorkerHello
from ladder.people.records import Viewer
from tests.integration.ladder.contest import Contest, hello
from tests.integration.ladder.test_machines import admin as admin
from tests.integration.ladder.test_machines import joined as joined
from tests.integration.ladder.test_machines import login

pytestmark = pytest.mark.usefixtures("worker_role")
OWN = ("open",)
TRUSTED = MachineTrust(tier=MachineTier.TRUSTED)


def greeting() -> WorkerHello:
    return hello("pond-1", queues=OWN)


def agreed(contest: Contest, *choices: AgentMachines) -> list[EntryId]:
    """Four entries whose owners let these machines run them; any machine by default."""
    made = []
    for choice in (*choices, *(AgentMachines.ANY,) * (4 - len(choices))):
        entry = contest.active()
        agents.update_agent(
            contest.conn, contest.seat(entry).agent_id, AgentChange(machines=choice)
        )
        made.append(entry)
    return made


def woken(conn: Connection) -> list[MatchId]:
    return [match for _, match in wake_up_messages.mark_matches_woken(conn, {"open": 100})]


def test_a_machine_plays_only_agents_whose_owners_agreed(
    conn: Connection,
    contest: Contest,
    database_url: str,
    joined: tuple[Machine, str],
    admin: Viewer,
) -> None:
    machines.trust(conn, admin, "pond", CHECKED)
    refused = contest.rated(*agreed(contest, AgentMachines.TRUSTED))
    allowed = contest.rated(*agreed(contest))
    with login(database_url, joined) as own:
        workers.register_worker(own, greeting())
        assert workers.own_queues(own) == OWN
        assert woken(conn) == [allowed]
        order = lease.claim_match(own, refused, "pond-1")  # the message of another match
        assert order is not None
        assert order.match_id == allowed
        assert lease.claim_match(own, refused, "pond-1") is None

        machines.trust(conn, admin, "pond", TRUSTED)
        assert history.get_match(conn, allowed).state == "running"
        assert workers.own_queues(own) is None
        assert lease.claim_match(own, refused, "pond-1") is not None


def test_a_machine_that_is_less_trusted_loses_its_matches(
    conn: Connection,
    contest: Contest,
    database_url: str,
    joined: tuple[Machine, str],
    admin: Viewer,
) -> None:
    match = contest.rated(*agreed(contest, AgentMachines.TRUSTED))
    with login(database_url, joined) as own:
        workers.register_worker(own, hello("pond-1"))
        assert lease.claim_match(own, match, "pond-1") is not None
        machines.trust(conn, admin, "pond", CHECKED)
        assert history.get_match(conn, match).state == "queued"
        assert lease.claim_match(own, match, "pond-1") is None


def validation(contest: Contest) -> MatchId:
    entry = contest.pending()
    found = contest.conn.execute(
        "select validation_match_id from entries where id = %s", (entry,)
    ).fetchone()
    assert found is not None
    contest.conn.execute("update agents set machines = 'any'")
    return MatchId(found[0])


def rejudgement(contest: Contest) -> MatchId:
    old = contest.rated(*agreed(contest))
    contest.play(old, [1, 2, 3, 4])
    return matches.create_match(
        contest.conn,
        season=contest.season,
        kind=MatchKind.RATED,
        lineup=matches.lineup_of(contest.conn, old),
        rejudges=old,
    )


def second_attempt(contest: Contest) -> MatchId:
    match = contest.rated(*agreed(contest))
    order = contest.claim(match)
    lease.fail_attempt(contest.conn, match, order.attempt, "w1", AttemptFault("host", "it broke"))
    return match


def of_private_league(contest: Contest) -> MatchId:
    match = contest.rated(*agreed(contest))
    contest.conn.execute("update leagues set visibility = 'invitation'")
    return match


@pytest.mark.parametrize(
    "made",
    [validation, rejudgement, second_attempt, of_private_league],
    ids=lambda one: one.__name__,
)
def test_trusted_machines_alone_play(
    conn: Connection,
    contest: Contest,
    database_url: str,
    joined: tuple[Machine, str],
    admin: Viewer,
    made: Callable[[Contest], MatchId],
) -> None:
    machines.trust(conn, admin, "pond", CHECKED)
    match = made(contest)
    with login(database_url, joined) as own:
        workers.register_worker(own, greeting())
        assert (woken(conn), lease.claim_match(own, match, "pond-1")) == ([], None)
        machines.trust(conn, admin, "pond", TRUSTED)
        assert lease.claim_match(own, match, "pond-1") is not None


@pytest.mark.parametrize("tier", list(MachineTier))
def test_no_machine_plays_a_season_in_which_its_owner_competes(
    conn: Connection,
    contest: Contest,
    database_url: str,
    joined: tuple[Machine, str],
    admin: Viewer,
    tier: MachineTier,
) -> None:
    lineup = agreed(contest)
    match = contest.rated(*lineup)
    row = conn.execute(
        "select c.user_id from season_competitors c join entries e on e.team_id = c.team_id"
        " where e.id = %s",
        (lineup[0],),
    ).fetchone()
    assert row is not None
    machines.trust(conn, admin, "pond", MachineTrust(tier=tier, owner=row[0]))
    with login(database_url, joined) as own:
        workers.register_worker(own, greeting())
        assert (woken(conn), lease.claim_match(own, match, "pond-1")) == ([], None)
        machines.trust(conn, admin, "pond", MachineTrust(tier=tier, owner=admin.user_id))
        assert lease.claim_match(own, match, "pond-1") is not None
