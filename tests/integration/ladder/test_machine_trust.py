"""Which matches a machine gets: by its tier, the consent of owners, and what its owner plays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.enums import MachineTier, MatchKind
from ladder.ids import EntryId, MatchId
from ladder.machines import machines
from ladder.machines.machines import Machine
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
MEMBER, VOLUNTEER = MachineTier.MEMBER, MachineTier.VOLUNTEER


def greeting() -> WorkerHello:
    return hello("pond-1", queues=OWN)


def agreed(contest: Contest, *tiers: MachineTier) -> list[EntryId]:
    """Four entries whose owners let machines of these tiers run them."""
    made = []
    for tier in (*tiers, *(VOLUNTEER,) * (4 - len(tiers))):
        entry = contest.active()
        agents.update_agent(contest.conn, contest.seat(entry).agent_id, machine_tier=tier)
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
    machines.trust(conn, admin, "pond", MEMBER)
    refused = contest.rated(*agreed(contest, MachineTier.TRUSTED))
    allowed = contest.rated(*agreed(contest, MEMBER))
    with login(database_url, joined) as own:
        workers.register_worker(own, greeting())
        assert workers.own_queues(own) == OWN
        assert woken(conn) == [allowed]
        order = lease.claim_match(own, refused, "pond-1")  # the message of another match
        assert order is not None
        assert order.match_id == allowed
        assert lease.claim_match(own, refused, "pond-1") is None

        machines.trust(conn, admin, "pond", VOLUNTEER)
        assert history.get_match(conn, allowed).state == "queued"  # it is less trusted now
        assert lease.claim_match(own, allowed, "pond-1") is None
        second = contest.rated(*agreed(contest, MEMBER))
        assert (woken(conn), lease.claim_match(own, second, "pond-1")) == ([], None)

        machines.trust(conn, admin, "pond", MachineTier.TRUSTED)
        assert workers.own_queues(own) is None
        assert lease.claim_match(own, refused, "pond-1") is not None


def validation(contest: Contest) -> MatchId:
    entry = contest.pending()
    found = contest.conn.execute(
        "select validation_match_id from entries where id = %s", (entry,)
    ).fetchone()
    assert found is not None
    contest.conn.execute("update agents set machine_tier = 'volunteer'")
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
    machines.trust(conn, admin, "pond", MEMBER)
    match = made(contest)
    with login(database_url, joined) as own:
        workers.register_worker(own, greeting())
        assert (woken(conn), lease.claim_match(own, match, "pond-1")) == ([], None)
        machines.trust(conn, admin, "pond", MachineTier.TRUSTED)
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
    machines.trust(conn, admin, "pond", tier, owner=row[0])
    with login(database_url, joined) as own:
        workers.register_worker(own, greeting())
        assert (woken(conn), lease.claim_match(own, match, "pond-1")) == ([], None)
        machines.trust(conn, admin, "pond", tier, owner=admin.user_id)
        assert lease.claim_match(own, match, "pond-1") is not None
