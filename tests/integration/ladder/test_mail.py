"""Mail over a real SMTP server, aiosmtpd."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from email import message_from_bytes
from email.header import decode_header
from email.policy import SMTP, compat32

import pytest

from ladder import mail
from ladder.errors import Invalid
from ladder.mail import MailError, MailServer
from ladder.settings import Settings
from tests.mailbox import Mailbox, smtp_server


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture
def server(mailbox: Mailbox) -> Iterator[MailServer]:
    """A server without TLS on this machine."""
    with smtp_server(mailbox) as port:
        yield MailServer("127.0.0.1", port, "none", "", "", "site@example.org")


def test_a_message_arrives_with_its_headers(server: MailServer, mailbox: Mailbox) -> None:
    more = {"List-Unsubscribe": "<https://example.org/me>"}
    text = "Grüße.\n.\nA line.\n"
    mail.send_message(server, mail.build_message(server, "Ada@Example.org", "Hé", text, more))
    (raw,) = mailbox.messages
    read = message_from_bytes(raw, policy=SMTP)
    assert read["To"] == "Ada@example.org"
    assert read["From"] == "Pecking Order <site@example.org>"
    assert read["Subject"] == "Hé"
    assert read["Auto-Submitted"] == "auto-generated"
    assert read["List-Unsubscribe"] == "<https://example.org/me>"
    assert read.get_content().replace("\r\n", "\n") == text


@pytest.mark.parametrize(
    ("address", "is_temporary"), [("full@example.org", True), ("nobody@example.org", False)]
)
def test_a_refused_recipient_is_an_error(
    server: MailServer, address: str, is_temporary: bool
) -> None:
    with pytest.raises(MailError, match="refuses the recipient") as refused:
        mail.send_message(server, mail.build_message(server, address, "Hi", "text"))
    assert refused.value.is_temporary is is_temporary


def test_a_server_without_tls_gets_nothing_if_tls_is_required(
    server: MailServer, mailbox: Mailbox
) -> None:
    careful = MailServer("127.0.0.1", server.port, "starttls", "", "", server.sender)
    with pytest.raises(MailError, match="PECK_SMTP_URL"):
        mail.send_message(careful, mail.build_message(careful, "ada@example.org", "Hi", "text"))
    assert mailbox.messages == []


def test_a_silent_server_is_an_error_after_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "TIMEOUT_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        server = MailServer("127.0.0.1", port, "none", "", "", "site@example.org")
        with pytest.raises(MailError, match="does not answer") as late:
            mail.send_message(server, mail.build_message(server, "ada@example.org", "Hi", "text"))
    assert late.value.is_temporary


@pytest.mark.parametrize(
    "name",
    [
        "=?utf-8?q?x=0D=0ABcc:_evil@example.org=0D=0A=0D=0AHello?=",
        "=?utf-8?b?eA0KQmNjOiBldmlsQGV4YW1wbGUub3JnDQoNCkhlbGxv?=",
        "\u00e9 =?utf-8?q?=0ABcc:_evil@example.org?= " + "x" * 80,
        "=?",
        " Bcc: evil@example.org ",
        "\u96ea" * 60,
    ],
)
def test_subject_shows_text_from_people_unchanged(
    server: MailServer, mailbox: Mailbox, name: str
) -> None:
    mail.send_message(server, mail.build_message(server, "ada@example.org", name, "text"))
    (raw,) = mailbox.messages
    head, _, body = raw.partition(b"\r\n\r\n")
    assert body == b"text\r\n"
    assert b"evil" not in head or name.encode() in head
    lines = head.split(b"\r\n")
    assert max(map(len, lines)) <= 76
    names = [line.partition(b":")[0] for line in lines if not line.startswith(b" ")]
    assert [name for name in names if not name.startswith(b"X-")] == [
        *(b"From", b"To", b"Subject", b"Date", b"Message-ID", b"Auto-Submitted"),
        *(b"MIME-Version", b"Content-Type", b"Content-Transfer-Encoding"),
    ]
    (subject,) = decode_header(message_from_bytes(raw, policy=compat32)["Subject"])
    text, charset = subject
    assert (text.decode(charset or "ascii") if isinstance(text, bytes) else text) == name


@pytest.mark.parametrize("value", ["\u00e9", "=?utf-8?q?x?=", " x", "x ", "", "x" * 1000])
@pytest.mark.parametrize("name", ["From", "Reply-To", "List-Unsubscribe", "X-Mark"])
def test_no_other_header_holds_more_than_plain_ascii(name: str, value: str) -> None:
    with pytest.raises(Invalid, match="no valid header") as refused:
        mail.build_message(SERVER, "ada@example.org", "Hi", "text", {name: value})
    assert refused.value.field == name.lower()


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_every_line_of_a_text_ends_with_crlf(
    server: MailServer, mailbox: Mailbox, end: str
) -> None:
    text = f"one{end}.{end}MAIL FROM:<evil@example.org>{end}"
    mail.send_message(server, mail.build_message(server, "ada@example.org", "Hi", text))
    (raw,) = mailbox.messages
    assert raw.partition(b"\r\n\r\n")[2] == b"one\r\n.\r\nMAIL FROM:<evil@example.org>\r\n"


SERVER = MailServer("mail.example.org", 587, "starttls", "", "", "site@example.org")


@pytest.mark.parametrize("added", ["\r\nBcc: x@example.org", "\nx", "\rx", "\0", "\u2028x"])
def test_no_text_adds_a_header(added: str) -> None:
    for to, subject, headers in (
        (f"ada@example.org{added}", "Hi", {}),
        ("ada@example.org", f"Hi{added}", {}),
        ("ada@example.org", "Hi", {"X-Mark": f"1{added}"}),
        ("ada@example.org", "Hi", {f"X-Mark{added}": "1"}),
    ):
        with pytest.raises(Invalid):
            mail.build_message(SERVER, to, subject, "text", headers)


@pytest.mark.parametrize(
    "address",
    ["", "ada", "ada@", "@example.org", "ada@localhost", "a b@example.org", "a@example.org,x@y.de",
     "Ada <ada@example.org>", '"a"@example.org', "ada@[127.0.0.1]", f"{'a' * 65}@example.org",
     f"ada@{'x.' * 130}org", "ada@exa_mple.org", "ada@example.org\n"],
)  # fmt: skip
def test_text_that_is_no_plain_address_is_refused(address: str) -> None:
    with pytest.raises(Invalid, match="one mail address"):
        mail.normal_address(address)


def test_the_settings_are_checked_at_the_start() -> None:
    assert MailServer.of(Settings(smtp_url="")) is None
    with pytest.raises(ValueError, match="PECK_SMTP_FROM"):
        MailServer.of(Settings(smtp_url="smtp://mail.example.org"))
    for url in (
        "mail.example.org",
        "https://mail.example.org",
        "smtp://",
        "smtp://mail.example.org:port",
        "smtp+plain://peck:secret@mail.example.org",
        "smtp://peck:25#secret@mail.example.org",
        "smtp://peck:25?secret@mail.example.org",
        "smtp://peck:secret\N{CARE OF}@mail.example.org",
        "smtp://peck:secret@[mail.example.org",
    ):
        with pytest.raises(ValueError, match="PECK_SMTP_URL") as refusal:
            MailServer.of(Settings(smtp_url=url, smtp_from="site@example.org"))
        assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.org", ("mail.example.org", 587, "starttls", "", "")),
        ("smtps://a%40b:p%2Fq@mail.example.org", ("mail.example.org", 465, "tls", "a@b", "p/q")),
        ("smtp+plain://127.0.0.1:2525", ("127.0.0.1", 2525, "none", "", "")),
    ],
)
def test_an_address_names_the_mail_server(
    url: str, server: tuple[str, int, mail.Security, str, str]
) -> None:
    settings = Settings(smtp_url=url, smtp_from="site@example.org")
    assert MailServer.of(settings) == MailServer(*server, "site@example.org")
