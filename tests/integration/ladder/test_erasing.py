"""Erasing an account: what goes, what stays, and what happens to work in progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from ladder.database import db, erased_blobs
from ladder.database.blobs import ObjectStoreBlobs, open_blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries, team_merges
from ladder.enums import MatchState
from ladder.errors import Conflict, NotFound
from ladder.ids import AgentId, EntryId, MatchId, TeamId, UserId
from ladder.leagues import leagues
from ladder.matches import history, lease
from ladder.matches.records import EpisodeResult, FinishResult
from ladder.moderation import rejudgements
from ladder.moderation.rejudgements import Predicate
from ladder.people import audit_log, teams, tokens, users
from ladder.people.records import Viewer
from ladder.privacy import erasing
from ladder.privacy.export import exported_rows
from ladder.privacy.rules import RULES
from ladder.reports import pictures
from tests.integration.ladder.contest import Contest, digest, results
from tests.integration.ladder.queued_lineup import meanwhile

OUTPUT = b"what the agent printed"


@dataclass
class Player:
    """A person with a team, and one active entry."""

    user: UserId
    team: TeamId
    agent: AgentId
    entry: EntryId


@pytest.fixture
def blobs(tmp_path: Path) -> ObjectStoreBlobs:
    return open_blobs(tmp_path.as_uri())


@pytest.fixture
def player(contest: Contest, blobs: ObjectStoreBlobs) -> Player:
    return make_player(contest, blobs, b"my agent")


@pytest.fixture
def running(contest: Contest, player: Player) -> tuple[MatchId, int]:
    """A match of the player against others that a worker plays, and its attempt."""
    match_id = contest.rated(player.entry, *(contest.active() for _ in range(3)))
    return match_id, contest.claim(match_id).attempt


def make_player(contest: Contest, blobs: ObjectStoreBlobs, bundle: bytes) -> Player:
    user, team = contest.team()
    agent = contest.agent(team)
    blobs.put_bytes(bundle)
    return Player(user, team, agent, contest.active(agent, bundle.decode()))


def finish(
    conn: Connection, match_id: MatchId, attempt: int, blobs: ObjectStoreBlobs
) -> FinishResult:
    """Reports a result as a worker does: blobs first. The first seat failed."""
    log = blobs.put_bytes(OUTPUT).digest
    seats = results([4, 1, 1, 1], ["ERROR", "DONE", "DONE", "DONE"])
    return lease.finish_match(
        conn,
        match_id,
        attempt,
        "w1",
        [replace(seats[0], log_digest=log), *seats[1:]],
        [EpisodeResult(42, digest("replay"))],
        node="node",
        image_digest="sha256:image",
        rules_digest="sha256:rules",
    )


def finish_erasing(conn: Connection, blobs: ObjectStoreBlobs) -> None:
    """What the scheduler does some seconds later."""
    conn.execute("update erasures set requested_at = now() - interval '1 minute'")
    erasing.finish_erasures(conn, blobs)


def exists(blobs: ObjectStoreBlobs, content: bytes) -> bool:
    return blobs.exists(digest(content.decode()))


def test_nobody_signs_in_as_a_deleted_person(contest: Contest, player: Player) -> None:
    _, text = tokens.mint_token(contest.conn, player.user, "laptop", ["read"])
    pseudonym = erasing.erase_person(contest.conn, player.user)
    assert users.viewer_of_token(contest.conn, text) is None
    assert users.viewer_of_user(contest.conn, player.user) is None
    assert users.get_user(contest.conn, player.user).name == pseudonym
    with pytest.raises(NotFound):
        erasing.erase_person(contest.conn, player.user)


def test_running_match_of_a_deleted_person_is_void(
    contest: Contest, player: Player, running: tuple[MatchId, int], blobs: ObjectStoreBlobs
) -> None:
    conn = contest.conn
    erasing.erase_person(conn, player.user)
    found = history.get_match(conn, running[0])
    assert (found.state, found.void_reason) == (MatchState.VOID, erasing.VOID_REASON)
    assert entries.get_entry(conn, player.entry).state == "retired"
    others = [seat.entry_id for seat in found.seats if seat.entry_id != player.entry]
    assert all(entries.get_entry(conn, other).in_flight == 0 for other in others if other)
    assert finish(conn, *running, blobs) is FinishResult.LATE
    finish_erasing(conn, blobs)
    assert not exists(blobs, OUTPUT)
    assert history.get_match(conn, running[0]) == replace(
        found, seats=history.get_match(conn, running[0]).seats
    )
    assert all(seat.log_digest is None for seat in history.get_match(conn, running[0]).seats)


def test_result_that_arrives_during_the_deletion_counts_without_reason_and_log(
    contest: Contest,
    player: Player,
    running: tuple[MatchId, int],
    blobs: ObjectStoreBlobs,
    database_url: str,
) -> None:
    conn = contest.conn
    with db.connect(database_url) as worker:
        assert finish(worker, *running, blobs) is FinishResult.ACCEPTED
        meanwhile(database_url, lambda own: erasing.erase_person(own, player.user), worker.commit)
    finish_erasing(conn, blobs)
    found = history.get_match(conn, running[0])
    assert found.state is MatchState.FINISHED
    mine = found.seats[0]
    assert (mine.placement, mine.verdict, mine.reason, mine.log_digest) == (4, "ERROR", None, None)
    assert found.seats[1].log_digest is not None
    assert not exists(blobs, OUTPUT)


def upload(conn: Connection, player: Player, content: str) -> None:
    agents.add_submission(conn, player.agent, digest(content), 9, "a.py", "told", player.user)


def test_upload_that_ends_before_the_deletion_is_erased(
    contest: Contest, player: Player, blobs: ObjectStoreBlobs, database_url: str
) -> None:
    blobs.put_bytes(b"late agent")
    with db.connect(database_url) as sender:
        upload(sender, player, "late agent")
        meanwhile(database_url, lambda own: erasing.erase_person(own, player.user), sender.commit)
    finish_erasing(contest.conn, blobs)
    assert not exists(blobs, b"late agent")
    newest = agents.list_submissions(contest.conn, player.agent)[0]
    assert (newest.filename, newest.message) == ("deleted", "")


def test_upload_that_ends_after_the_deletion_is_refused(
    contest: Contest, player: Player, database_url: str
) -> None:
    def late(own: Connection) -> str | None:
        try:
            upload(own, player, "late agent")
        except psycopg.DatabaseError as error:
            return error.sqlstate
        return None

    with db.connect(database_url) as conn:
        erasing.erase_person(conn, player.user)
        assert meanwhile(database_url, late, conn.commit) == db.ERASED


def test_bytes_that_another_team_uploaded_stay(
    contest: Contest, player: Player, blobs: ObjectStoreBlobs
) -> None:
    contest.submission(content="my agent")
    blobs.put_bytes(b"only mine")
    upload(contest.conn, player, "only mine")
    erasing.erase_person(contest.conn, player.user)
    finish_erasing(contest.conn, blobs)
    assert exists(blobs, b"my agent")
    assert not exists(blobs, b"only mine")


def test_upload_of_equal_bytes_during_the_deletion_keeps_them(
    contest: Contest, player: Player, blobs: ObjectStoreBlobs, database_url: str
) -> None:
    conn, other = contest.conn, contest.agent()
    erasing.erase_person(conn, player.user)
    erased_blobs.queue_blobs(conn, [digest("my agent")])
    with db.connect(database_url) as sender:
        agents.add_submission(sender, other, digest("my agent"), 8, "a.py", "", None)
        meanwhile(
            database_url,
            lambda own: erased_blobs.delete_queued_blobs(own, blobs),
            sender.commit,
        )
    assert exists(blobs, b"my agent")


def test_pictures_with_a_deleted_name_go(
    contest: Contest, player: Player, running: tuple[MatchId, int], blobs: ObjectStoreBlobs
) -> None:
    conn, other = contest.conn, contest.active()
    finish(conn, *running, blobs)
    mine = (f"agents/{player.agent}/card", f"matches/{running[0]}/gif")
    for subject in (*mine, f"agents/{entries.get_entry(conn, other).agent_id}/card"):
        stored = blobs.put_bytes(subject.encode())
        pictures.ask_for_picture(conn, subject)
        pictures.store_picture(conn, subject, "inputs", stored.digest, stored.size)
    erasing.erase_person(conn, player.user)
    finish_erasing(conn, blobs)
    kept = conn.execute("select subject from pictures").fetchall()
    assert [subject for (subject,) in kept if subject in mine] == []
    assert len(kept) == 1
    assert not any(exists(blobs, subject.encode()) for subject in mine)
    assert exists(blobs, kept[0][0].encode())


def test_matches_of_a_deleted_person_are_not_judged_again(
    contest: Contest, player: Player, running: tuple[MatchId, int], blobs: ObjectStoreBlobs
) -> None:
    conn = contest.conn
    finish(conn, *running, blobs)
    act = rejudgements.create_rejudgement(
        conn, contest.season.id, Predicate(agent=player.agent), by=contest.host, reason="a bug"
    )
    erasing.erase_person(conn, player.user)
    assert rejudgements.queue_next(conn) == 0
    (ended,) = rejudgements.end_finished_rejudgements(conn)
    assert (ended.id, ended.state, ended.refused) == (act.id, "void", 1)


def test_team_with_other_members_stays_and_gets_an_owner(
    contest: Contest, player: Player, blobs: ObjectStoreBlobs
) -> None:
    conn, (other, _) = contest.conn, contest.team()
    teams.add_member(conn, player.team, other, None)
    name = users.get_user(conn, player.user).name
    conn.execute("update teams set name = %s where id = %s", (f"{name} & friends", player.team))
    upload(conn, player, "ours")
    erasing.erase_person(conn, player.user)
    finish_erasing(conn, blobs)
    assert [(user.id, user.is_owner) for user in teams.list_members(conn, player.team)] == [
        (other, True)
    ]
    assert users.get_team(conn, player.team).name == "[deleted] & friends"
    assert exists(blobs, b"my agent")
    assert entries.get_entry(conn, player.entry).state == "active"
    assert agents.list_submissions(conn, player.agent)[0].message == ""


def test_seats_of_a_merged_team_belong_to_the_people_who_played(
    contest: Contest, player: Player, running: tuple[MatchId, int], blobs: ObjectStoreBlobs
) -> None:
    conn, (bob, second) = contest.conn, contest.team()
    finish(conn, *running, blobs)
    asked = team_merges.ask_for_merge(conn, player.team, second, Viewer(player.user))
    team_merges.accept_merge(conn, asked.id, Viewer(bob))

    def seats(user: UserId) -> list[tuple[str, str]]:
        who = users.viewer_of_user(conn, user)
        assert who is not None
        rule = next(rule for rule in RULES if rule.table == "seats")
        rows, _ = exported_rows(conn, rule, who)
        return [(row["team_id"], row["reason"]) for row in rows if row["match_id"] == running[0]]

    assert seats(bob) == []
    assert seats(player.user) == [(player.team, "it broke")]
    erasing.erase_person(conn, player.user)
    finish_erasing(conn, blobs)
    mine = history.get_match(conn, running[0]).seats[0]
    assert (mine.team_id, mine.reason, mine.log_digest) == (player.team, None, None)


def test_league_ends_with_its_only_host_unless_others_take_part(
    contest: Contest, player: Player
) -> None:
    conn = contest.conn
    lonely = leagues.create_league(
        conn,
        slug="lonely",
        title="Lonely",
        game="hungry_geese",
        visibility="public",
        replay_visibility="public",
        created_by=contest.host,
    )
    fate = erasing.preview_erasure(conn, contest.host)
    assert (fate.ended_leagues, fate.orphan_leagues) == (("Lonely",), ("League",))
    erasing.erase_person(conn, contest.host)
    ended = leagues.get_league(conn, lonely.id)
    assert (ended.state, ended.visibility) == ("closed", "private")
    assert "onely" not in ended.slug + ended.title
    kept = leagues.get_league(conn, contest.league.id)
    assert (kept.state, kept.title) == ("open", "League")


def test_audit_log_loses_the_name_and_the_words_of_a_deleted_person(
    contest: Contest, player: Player
) -> None:
    conn, name = contest.conn, users.get_user(contest.conn, player.user).name
    users_reason = f"{name.upper()} was ill, and {name}s was not"
    for by, reason in ((contest.host, users_reason), (player.user, "my words")):
        audit_log.record_audit(
            conn,
            contest.league.id,
            by=by,
            act="extend",
            subject=player.team,
            reason=reason,
            details={"for": [name]},
        )
    erasing.erase_person(conn, player.user)
    own, by_host = audit_log.list_audits(conn, contest.league.id)
    assert by_host.reason == f"[deleted] was ill, and {name}s was not"
    assert by_host.details == {"for": ["[deleted]"]}
    assert own.reason == "removed with the account of its author"


def test_last_administrator_stays(contest: Contest) -> None:
    first = users.create_user(contest.conn, "first root", is_admin=True)
    with pytest.raises(Conflict, match="another administrator"):
        erasing.erase_person(contest.conn, first.id)
    second = users.create_user(contest.conn, "second root", is_admin=True)
    contest.conn.execute(
        "insert into user_blocks (user_id, reason, by_user) values (%s, 'spam', %s)",
        (second.id, first.id),
    )
    with pytest.raises(Conflict, match="another administrator"):
        erasing.erase_person(contest.conn, first.id)
    contest.conn.execute("delete from user_blocks")
    erasing.erase_person(contest.conn, first.id)


def test_only_erasing_changes_the_record_and_only_its_texts(
    contest: Contest, running: tuple[MatchId, int], blobs: ObjectStoreBlobs
) -> None:
    conn: Connection = contest.conn
    finish(conn, *running, blobs)

    def change(column: str) -> Callable[[], object]:
        return lambda: conn.execute(
            f"update seats set {column} = null where match_id = %s", (running[0],)
        )

    with pytest.raises(psycopg.DatabaseError, match="never changed"):
        change("reason")()
    with conn.transaction():
        conn.execute("select set_config('peck.erasing', 'on', true)")
        change("reason")()
    conn.execute("select set_config('peck.erasing', 'on', false)")
    with pytest.raises(psycopg.DatabaseError, match="never changed"):
        change("reward")()
