"""Sending notices to real receivers, with the notifier's own database role."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import SMTP

import psycopg
import pytest
from redis import Redis

from ladder.database import db
from ladder.database.db import Connection
from ladder.errors import Conflict, Invalid
from ladder.ids import UserId
from ladder.mail import MailServer
from ladder.notices import channels, deliveries
from ladder.notices.channels import Channel, Level, LevelChoice, check_address, egress_rules
from ladder.notices.kinds import EventSubject, Form, NoticeKind, Topic, record_event
from ladder.people import users
from ladder.settings import Settings
from services.scheduler.wake_messages import WakeMessages
from tests.mailbox import Mailbox, smtp_server
from tests.receivers import ENVIRONMENT, RULES, Receiver, receiving
from tests.waiting import wait_until
from workers import broker, notice_tasks
from workers.notice_tasks import NotifierContext, send_until

SITE = "https://ladder.example.org"


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with db.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def notifier(notifier_database_url: str) -> Iterator[NotifierContext]:
    with db.pool(notifier_database_url, 4) as pool:
        yield NotifierContext(pool, RULES, SITE)


@pytest.fixture
def person(conn: Connection) -> UserId:
    return users.create_user(conn, "Ada").id


def channel(
    conn: Connection, person: UserId, url: str, form: Form = Form.WEBHOOK
) -> tuple[Channel, str]:
    return channels.create_channel(conn, person, form, check_address(url, RULES))


def tell(conn: Connection, person: UserId) -> None:
    """Something happens that the person is told of."""
    record_event(conn, NoticeKind.JOIN_APPROVED, EventSubject(user_id=person))


def send(notifier: NotifierContext) -> int:
    return send_until(notifier, time.monotonic() + 120)


def make_due(conn: Connection) -> None:
    """Ends all pauses."""
    conn.execute("update notice_channels set retry_at = null")
    conn.execute("update notice_deliveries set next_at = now() where state = 'waiting'")


def verify(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """The check of docs/how-to/receive-notices.md."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    fresh = abs(time.time() - int(headers["webhook-timestamp"])) < 300
    return fresh and hmac.compare_digest(f"v1,{wanted}", headers["webhook-signature"])


def test_a_webhook_is_signed_and_verifiable(
    conn: Connection, person: UserId, notifier: NotifierContext, receiver: Receiver
) -> None:
    made, secret = channel(conn, person, receiver.url("/hook"))
    tell(conn, person)
    assert send(notifier) == 1
    (call,) = receiver.calls
    assert call.json()["type"] == "join_approved"
    assert call.json()["data"]["url"].startswith(SITE)
    assert verify(secret, dict(call.headers), call.body)
    assert not verify(secret, dict(call.headers), call.body + b" ")
    (sent,) = channels.list_deliveries(conn, person, made.id)
    assert (sent.id, sent.state, sent.status, sent.attempts) == (call.id, "sent", 200, 1)


def test_a_notice_of_an_unknown_kind_fails_alone(
    conn: Connection, person: UserId, notifier: NotifierContext, receiver: Receiver
) -> None:
    conn.execute(
        "insert into notice_kinds (kind, topic, audience, is_public, default_forms)"
        " values ('of_a_newer_version', 'leagues', 'person', false, '{webhook}')"
    )
    made, _ = channel(conn, person, receiver.url("/hook"))
    conn.execute(
        "select notices_record('of_a_newer_version', jsonb_build_object('user_id', %s::text))",
        (person,),
    )
    tell(conn, person)
    assert send(notifier) == 2
    found = {each.kind: each for each in channels.list_deliveries(conn, person, made.id)}
    assert found["join_approved"].state == "sent"
    broken = found["of_a_newer_version"]
    assert (broken.state, broken.problem) == ("dropped", "this site cannot read its own notice")
    assert [call.json()["type"] for call in receiver.calls] == ["join_approved"]


def test_chats_get_names_without_markup(
    conn: Connection, notifier: NotifierContext, receiver: Receiver
) -> None:
    person = users.create_user(conn, "Ada").id
    team = users.create_team(conn, "@everyone **<b>&[x](y)", "team-x", person)
    other = users.create_user(conn, "Bob").id
    channel(conn, other, receiver.url("/discord"), Form.DISCORD)
    channel(conn, other, receiver.url("/slack"), Form.SLACK)
    record_event(conn, NoticeKind.TEAM_INVITED, EventSubject(team_id=team.id, user_id=other))
    send(notifier)
    (discord,) = receiver.calls_of("/discord")
    assert discord.json()["allowed_mentions"] == {"parse": []}
    assert r"\@everyone \*\*\<b\>&\[x\]\(y\)" in discord.json()["content"]
    (slack,) = receiver.calls_of("/slack")
    assert "@everyone **&lt;b&gt;&amp;[x](y)" in slack.json()["text"]
    assert slack.json()["mrkdwn"] is False


def test_a_failing_webhook_is_tried_later_and_switched_off_after_ten(
    conn: Connection, person: UserId, notifier: NotifierContext, receiver: Receiver
) -> None:
    made, _ = channel(conn, person, receiver.url("/broken"))
    receiver.answers["/broken"] = 500
    receiver.answer_body = b"<b>secret\x1b[31m" + b"x" * 5000
    for _ in range(3):
        tell(conn, person)
    assert send(notifier) == 1, "what failed once pauses"
    (now,) = channels.list_channels(conn, person)
    assert (now.state, now.failures, now.waiting) == ("on", 1, 3)
    assert now.retry_at is not None
    oldest = channels.list_deliveries(conn, person, made.id)[-1]
    assert (oldest.status, oldest.attempts) == (500, 1)
    assert oldest.excerpt is not None
    assert len(oldest.excerpt) == 500
    assert "\x1b" not in oldest.excerpt
    for _ in range(9):
        make_due(conn)
        assert send(notifier) == 1
    (off,) = channels.list_channels(conn, person)
    assert (off.state, off.off_reason, off.waiting) == ("off", "failures", 0)
    assert len({call.id for call in receiver.calls}) < 10, "an attempt repeats its id"
    on = channels.switch_channel(conn, person, made.id, on=True)
    assert (on.state, on.failures) == ("on", 0)


def test_each_answer_status_gives_its_outcome(
    conn: Connection, person: UserId, notifier: NotifierContext, receiver: Receiver
) -> None:
    for path, status in (("/gone", 410), ("/later", 429), ("/away", 302)):
        receiver.answers[path] = status
        channel(conn, person, receiver.url(path))
    receiver.answer_headers["Retry-After"] = "90"
    receiver.answer_headers["Location"] = receiver.url("/elsewhere")
    tell(conn, person)
    send(notifier)
    gone, later, away = channels.list_channels(conn, person)
    assert (gone.state, gone.off_reason) == ("off", "gone")
    assert (later.state, later.failures, later.waiting) == ("on", 0, 1)
    assert (away.failures, away.waiting) == (1, 1)
    assert "redirect" in (channels.list_deliveries(conn, person, away.id)[0].problem or "")
    assert receiver.calls_of("/elsewhere") == []


def test_private_addresses_are_refused_when_saved_and_when_called(
    conn: Connection, person: UserId, notifier: NotifierContext, receiver: Receiver
) -> None:
    strict = egress_rules(Settings())
    for url in (
        "http://127.0.0.1/x",
        "http://10.0.0.8/x",
        "http://[::1]/x",
        "http://192.0.2.1:25/",
    ):
        with pytest.raises(Invalid, match="address"):
            check_address(url, strict)
    with pytest.raises(Invalid, match=r"leave out the user and password"):
        check_address("https://a:b@example.org", strict)
    channel(conn, person, receiver.url("/hook"))
    tell(conn, person)
    send(NotifierContext(notifier.pool, strict, SITE))
    (now,) = channels.list_channels(conn, person)
    found = channels.list_deliveries(conn, person, now.id)[0]
    assert receiver.calls == []
    assert "port" in (found.problem or "")


def test_a_dead_receiver_delays_nobody_else(
    conn: Connection,
    person: UserId,
    notifier: NotifierContext,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workers.notice_tasks.CALL_SECONDS", 3.0)
    for number in range(6):
        channel(conn, person, receiver.url(f"/dead/{number}"))
    others = [users.create_user(conn, f"other {number}").id for number in range(5)]
    for other in others:
        channel(conn, other, receiver.url(f"/quick/{other[-4:]}"))
    conn.execute("update notice_channels set has_succeeded = true where user_id <> %s", (person,))
    # One host takes four calls at a time, so the dead ones get a host of their own.
    conn.execute(
        "update notice_channels set host = 'dead.example', failures = 1 where user_id = %s",
        (person,),
    )
    for one in (person, *others):
        tell(conn, one)
    threads = [threading.Thread(target=send, args=(notifier,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_until(
        lambda: sum(call.path.startswith("/quick") for call in receiver.calls) == 5, "all quick"
    )
    dead = sum(call.path.startswith("/dead") for call in receiver.calls)
    receiver.ended.set()
    for thread in threads:
        thread.join(60)
    assert dead <= deliveries.SLOW_CALLS


def choose(conn: Connection, person: UserId, level: Level) -> None:
    """The person's webhooks get this of leagues."""
    choice = LevelChoice(topic=Topic.LEAGUES, form=Form.WEBHOOK, level=level)
    channels.set_levels(conn, person, [choice])


def level_of_leagues(conn: Connection, person: UserId) -> Level:
    levels = {each.topic: each.forms for each in channels.list_levels(conn, person)}
    return levels[Topic.LEAGUES][Form.WEBHOOK]


@pytest.mark.parametrize("level", [Level.OFF, Level.USUAL, Level.ALL])
def test_a_choice_of_a_topic_is_read_as_it_was_made(
    conn: Connection, person: UserId, level: Level
) -> None:
    choose(conn, person, Level.OFF)
    choose(conn, person, level)
    assert level_of_leagues(conn, person) is level


def test_preferences_and_switches_choose_what_is_sent(
    conn: Connection, person: UserId, notifier: NotifierContext, receiver: Receiver
) -> None:
    made, _ = channel(conn, person, receiver.url("/hook"))
    choose(conn, person, Level.OFF)
    tell(conn, person)
    assert send(notifier) == 0
    choose(conn, person, Level.ALL)
    channels.switch_channel(conn, person, made.id, on=False)
    tell(conn, person)
    with pytest.raises(Conflict, match="switch the channel on"):
        channels.send_test(conn, person, made.id)
    channels.switch_channel(conn, person, made.id, on=True)
    channels.send_test(conn, person, made.id)
    assert send(notifier) == 1
    assert receiver.calls[0].json()["type"] == "test"


def test_what_a_person_may_no_longer_see_is_not_sent(
    conn: Connection, notifier: NotifierContext, receiver: Receiver
) -> None:
    person = users.create_user(conn, "Ada").id
    team = users.create_team(conn, "Team", "team-y", person)
    made, _ = channel(conn, person, receiver.url("/hook"))
    record_event(conn, NoticeKind.TEAM_JOINED, EventSubject(team_id=team.id))
    conn.execute("delete from memberships where user_id = %s", (person,))
    send(notifier)
    assert receiver.calls == []
    assert channels.list_deliveries(conn, person, made.id)[0].state == "dropped"


def test_the_role_of_the_notifier_reads_no_table(notifier_database_url: str) -> None:
    with db.connect(notifier_database_url) as narrow:
        for query in ("select 1 from users", "select notices_record('season_opened', '{}')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                narrow.execute(query.encode())
            narrow.rollback()


def test_a_killed_notifier_loses_nothing_and_repeats_with_the_same_id(
    conn: Connection,
    person: UserId,
    notifier_database_url: str,
    redis_url: str,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deliveries, "WAKE_SECONDS", 0.5)
    receiver.slow_seconds = 1.0
    Redis.from_url(redis_url).delete("notices")
    for number in range(3):
        channel(conn, person, receiver.url(f"/slow/{number}"))
    for _ in range(3):
        tell(conn, person)
    wanted = {row[0] for row in conn.execute("select id from notice_deliveries")}
    environment = {
        **os.environ,
        **ENVIRONMENT,
        "PECK_NOTIFIER_DATABASE_URL": notifier_database_url,
        "PECK_REDIS_URL": redis_url,
    }
    wakes = WakeMessages(broker.send_wake_up)
    monkeypatch.setattr(broker, "app", broker.make_celery_app(redis_url))

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "workers.notifier"], env=environment)

    def woken() -> bool:
        wakes.send_notice_messages(conn)
        return bool(receiver.calls)

    first = start()
    try:
        wait_until(woken, "the first call")
    finally:
        first.kill()
        first.wait(120)
    conn.execute("update notice_channels set lease_until = now() where lease_until is not null")
    struck = receiver.calls[0].id
    second = start()

    def all_sent() -> bool:
        wakes.send_notice_messages(conn)
        row = conn.execute("select count(*) from notice_deliveries where state = 'sent'").fetchone()
        return row == (len(wanted),)

    try:
        wait_until(all_sent, "everything is sent")
    finally:
        second.send_signal(signal.SIGTERM)
        second.wait(120)
    received = [call.id for call in receiver.calls]
    assert set(received) == wanted
    assert received.count(struck) >= 2
    assert notice_tasks.running_tasks() == 0


def test_notices_of_an_hour_come_in_one_mail(conn: Connection, notifier: NotifierContext) -> None:
    person = users.create_user(conn, "Ada").id
    owner = users.create_user(conn, "Bob").id
    team = users.create_team(conn, "Evil\r\nBcc: x@example.org", "team-z", owner)
    with pytest.raises(Conflict, match="prove your mail address"):
        channels.create_mail_channel(conn, person, 60)
    conn.execute(
        "insert into mail_addresses (user_id, address) values (%s, 'ada@example.org')", (person,)
    )
    made = channels.create_mail_channel(conn, person, 60)
    record_event(conn, NoticeKind.TEAM_INVITED, EventSubject(team_id=team.id, user_id=person))
    tell(conn, person)
    assert send(notifier) == 0, "it waits for the hour"
    first, second = channels.list_deliveries(conn, person, made.id)
    assert first.next_at == second.next_at
    make_due(conn)
    mailbox = Mailbox()
    with smtp_server(mailbox) as port:
        server = MailServer("127.0.0.1", port, "none", "", "", "site@example.org")
        assert send(NotifierContext(notifier.pool, RULES, SITE, server)) == 1
    (raw,) = mailbox.messages
    read = message_from_bytes(raw, policy=SMTP)
    assert read["To"] == "ada@example.org"
    assert read["Subject"] == "2 notices"
    assert read["Bcc"] is None
    assert "Evil  Bcc: x@example.org invites you" in read.get_content()
    assert {one.state for one in channels.list_deliveries(conn, person, made.id)} == {"sent"}


def test_a_mail_server_that_is_away_is_no_failure_of_the_person(
    conn: Connection, person: UserId, notifier: NotifierContext
) -> None:
    conn.execute(
        "insert into mail_addresses (user_id, address) values (%s, 'ada@example.org')", (person,)
    )
    made = channels.create_mail_channel(conn, person, 15)
    channels.send_test(conn, person, made.id)
    tell(conn, person)
    make_due(conn)
    away = MailServer("127.0.0.1", 9, "none", "", "", "site@example.org")
    assert send(NotifierContext(notifier.pool, RULES, SITE, away)) == 1
    now = channels.get_channel(conn, person, made.id)
    assert (now.state, now.failures, now.waiting) == ("on", 0, 1)
    assert now.retry_at is not None
