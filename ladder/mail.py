"""Builds mail messages and sends them by SMTP. No other module speaks SMTP.

``MailServer.of(settings)`` is None where the operator set no server; nothing may depend on mail.
``build_message`` writes the bytes itself: the email package of Python before 3.11.10 turns encoded
words in a name into new headers (CVE-2024-6923). ``send_message`` sends one message before it
returns. So call it outside transactions, and not while a visitor waits.
"""

from __future__ import annotations

import base64
import re
import smtplib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, make_msgid
from typing import Final, Literal, Self
from urllib.parse import unquote, urlsplit

from ladder.errors import Invalid
from ladder.settings import Settings

MOST_ADDRESS_CHARACTERS: Final = 254
"""RFC 5321, section 4.5.3.1.3, without the angle brackets."""
LOCAL: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
ADDRESS: Final = re.compile(rf"({LOCAL})@({LABEL}(?:\.{LABEL})+)")
"""RFC 5321 without quoted names, comments and address literals, which people do not use."""
ENCODED: Final = r"=\?utf-8\?b\?[A-Za-z0-9+/=]{0,60}\?="
HEADER_BREAKS: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
LITERAL: Final = re.compile(r"(?!.*=\?)[!-~](?:[ -~]{0,900}[!-~])?")
"""A value that stands in a header as it is: ASCII, and no encoded word of RFC 2047."""
HEADER: Final = re.compile(rf"[A-Za-z-]+: ({LITERAL.pattern}|{ENCODED}(?:\r\n {ENCODED})*)")
"""All that a header may be."""
WORD_BYTES: Final = 39
"""Bytes of an encoded word, so that it and the name of its header fit into 76 characters."""
TIMEOUT_SECONDS: Final = 10.0
"""Longest wait for each answer of the mail server."""
Security = Literal["starttls", "tls", "none"]
SCHEMES: Final[Mapping[str, tuple[Security, int]]] = {
    "smtp": ("starttls", 587),
    "smtps": ("tls", 465),
    "smtp+plain": ("none", 25),
}
"""Security and usual port of each kind of address."""
WRONG_URL: Final = (
    "write smtp://user:password@host:587, or smtps:// for TLS from the start, or smtp+plain:// for"
    " no TLS; write signs of the password such as @, / and # as %40, %2F and %23"
)
LINE_BYTES: Final = 900
"""Longest line of a text that is sent as it is; SMTP allows 998."""


class MailError(Exception):
    """The mail was not sent. The message is for operators and holds no text of the mail."""

    def __init__(self, message: str, *, is_temporary: bool) -> None:
        self.is_temporary = is_temporary
        """Whether sending it again later can work."""
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class MailServer:
    """The operator's SMTP server."""

    host: str
    port: int
    security: Security
    user: str
    """Empty: no login."""
    password: str
    sender: str
    """Address in the header From."""

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """The server of ``PECK_SMTP_URL`` and ``PECK_SMTP_FROM``; None without an address.

        Raises ValueError, which names the setting.
        """
        if not settings.smtp_url:
            return None
        try:
            url = urlsplit(settings.smtp_url)
            port = url.port
        except ValueError:  # its text may hold the password
            raise ValueError(f"PECK_SMTP_URL: {WRONG_URL}") from None
        has_more = url.path.strip("/") or url.query or url.fragment
        if url.scheme not in SCHEMES or not url.hostname or has_more:
            raise ValueError(f"PECK_SMTP_URL: {WRONG_URL}")
        security, usual_port = SCHEMES[url.scheme]
        try:
            sender = normal_address(settings.smtp_from)
        except Invalid as error:
            raise ValueError(f"PECK_SMTP_FROM: {error.message}") from None
        if url.username and security == "none":
            raise ValueError("PECK_SMTP_URL: use smtp:// or smtps://, or the password is readable")
        user, password = (unquote(text or "") for text in (url.username, url.password))
        return cls(url.hostname, port or usual_port, security, user, password, sender)


def normal_address(text: str, field: str = "address") -> str:
    """Returns a mail address with its domain in lower case. Raises Invalid.

    >>> normal_address("Ada@Example.ORG")
    'Ada@example.org'
    """
    address = ADDRESS.fullmatch(text) if len(text) <= MOST_ADDRESS_CHARACTERS else None
    if address is None or len(address[1]) > 64:
        raise Invalid(field, "write one mail address, such as ada@example.org")
    return f"{address[1]}@{address[2].lower()}"


def domain_of(address: str) -> str:
    """The domain of a normal address, in lower case."""
    return address.rpartition("@")[2].lower()


@dataclass(frozen=True, slots=True)
class Mail:
    """A message in the form in which it is sent."""

    recipient: str
    content: bytes


def build_message(
    server: MailServer,
    to: str,
    subject: str,
    text: str,
    headers: Mapping[str, str] | None = None,
) -> Mail:
    """Builds a mail of plain text. ``headers`` are further ones, such as ``List-Unsubscribe``.

    The subject may hold words of people, which stay as they are. Raises Invalid for an address that
    is none, and for any other header that is not literal.
    """
    recipient, sender = normal_address(to, "to"), normal_address(server.sender, "sender")
    encoding, body = _encode_body(text)
    values = {
        "From": f"Pecking Order <{sender}>",
        "To": recipient,
        "Subject": subject,
        "Date": format_datetime(datetime.now(UTC)),
        "Message-ID": make_msgid(domain=domain_of(sender)),
        "Auto-Submitted": "auto-generated",  # RFC 3834: no out-of-office answers
        "MIME-Version": "1.0",
        "Content-Type": 'text/plain; charset="utf-8"',
        "Content-Transfer-Encoding": encoding,
        **(headers or {}),
    }
    lines = [_header_line(name, value) for name, value in values.items()]
    return Mail(recipient, "".join(lines).encode("ascii") + b"\r\n" + body)


def _header_line(name: str, value: str) -> str:
    """The header with its line end. Raises Invalid."""
    if HEADER_BREAKS.search(name + value):
        raise Invalid(name.lower(), "leave out line breaks and control characters")
    if name == "Subject" and (len(value) > 60 or LITERAL.fullmatch(value) is None):
        value = _encode_words(value)
    line = f"{name}: {value}"
    if HEADER.fullmatch(line) is None:
        raise Invalid(name.lower(), "this is no valid header of a mail")
    return f"{line}\r\n"


def _encode_words(text: str) -> str:
    """The text as encoded words of RFC 2047, one on each line."""
    parts = [b""]
    for character in text:
        sent = character.encode("utf-8", "replace")
        if len(parts[-1]) + len(sent) > WORD_BYTES:
            parts.append(b"")
        parts[-1] += sent
    return "\r\n ".join(f"=?utf-8?b?{base64.b64encode(part).decode()}?=" for part in parts)


def _encode_body(text: str) -> tuple[str, bytes]:
    """The transfer encoding and the bytes of a text; all lines end with CRLF."""
    body = "\r\n".join(re.split(r"\r\n|\r|\n", text)).encode("utf-8", "replace")
    if body.isascii() and b"\0" not in body and max(map(len, body.split(b"\r\n"))) <= LINE_BYTES:
        return "7bit", body
    return "base64", base64.encodebytes(body).replace(b"\n", b"\r\n")


def send_message(server: MailServer, message: Mail) -> None:
    """Sends the message to its recipient. Raises MailError.

    Every step has the server's timeout. With ``starttls`` a server without TLS gets nothing.
    """
    try:
        with _connect(server) as client:
            if server.user:
                client.login(server.user, server.password)
            client.sendmail(server.sender, [message.recipient], message.content)
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        raise MailError(
            f"{server.host} refuses the recipient ({', '.join(map(str, codes))})",
            is_temporary=all(400 <= code < 500 for code in codes),
        ) from None
    except smtplib.SMTPResponseException as error:
        raise MailError(
            f"{server.host} answered {error.smtp_code}", is_temporary=400 <= error.smtp_code < 500
        ) from None
    except smtplib.SMTPNotSupportedError:
        raise MailError(
            f"{server.host} offers no TLS or no login; see PECK_SMTP_URL",
            is_temporary=False,
        ) from None
    except ssl.SSLCertVerificationError as error:
        raise MailError(
            f"the certificate of {server.host} is not accepted: {error.verify_message}",
            is_temporary=False,
        ) from None
    except (OSError, smtplib.SMTPException) as error:
        raise MailError(
            f"{server.host}:{server.port} does not answer: {type(error).__name__}",
            is_temporary=True,
        ) from None


def _connect(server: MailServer) -> smtplib.SMTP:
    place = server.host, server.port
    if server.security == "tls":
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(*place, timeout=TIMEOUT_SECONDS, context=context)
    client = smtplib.SMTP(*place, timeout=TIMEOUT_SECONDS)
    if server.security == "starttls":
        try:
            client.starttls(context=ssl.create_default_context())
        except BaseException:
            client.close()
            raise
    return client
