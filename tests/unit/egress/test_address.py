"""One spelling of an owner's URL is read; every other one is refused with a sentence."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from egress.address import Address, AddressError, parse

READ = {
    "http://snake.example.org": Address("http", "snake.example.org", 80, ""),
    "https://snake.example.org/": Address("https", "snake.example.org", 443, ""),
    "HTTPS://Snake.Example.ORG:443/V1/": Address("https", "snake.example.org", 443, "/V1"),
    "http://snake.example.org:8000/a/b-c_d~e": Address(
        "http", "snake.example.org", 8000, "/a/b-c_d~e"
    ),
    "https://snake.example.org:80": Address("https", "snake.example.org", 80, ""),
    "http://8.8.8.8:8080/snake": Address("http", "8.8.8.8", 8080, "/snake"),
    "http://[2606:4700:0:0::0001]:8000": Address("http", "2606:4700::1", 8000, ""),
    "https://bücher.example.org": Address("https", "xn--bcher-kva.example.org", 443, ""),
    "https://BÜCHER\u3002example\uff0eorg": Address("https", "xn--bcher-kva.example.org", 443, ""),
    "http://xn--bcher-kva.example.org": Address("http", "xn--bcher-kva.example.org", 80, ""),
    "http://1.example.org": Address("http", "1.example.org", 80, ""),
    "http://0x7f.example.org": Address("http", "0x7f.example.org", 80, ""),
}

REFUSED = [
    ("", "begin with http"),
    ("snake.example.org", "begin with http"),
    ("//snake.example.org", "begin with http"),
    ("http:/snake.example.org", "begin with http"),
    ("ftp://snake.example.org", "begin with http"),
    ("file:///etc/passwd", "begin with http"),
    ("gopher://snake.example.org", "begin with http"),
    ("unix:///run/docker.sock", "begin with http"),
    ("http+unix://snake.example.org", "begin with http"),
    ("http://", "host is missing"),
    ("http:///path", "host is missing"),
    ("http://:80", "host is missing"),
    # What one reader takes for the host and another does not.
    ("http://good.example.org@127.0.0.1", "user and password"),
    ("http://127.0.0.1@good.example.org", "user and password"),
    ("http://a:b@good.example.org", "user and password"),
    ("http://@good.example.org", "user and password"),
    ("http://good.example.org\\@127.0.0.1", "instead of the backslash"),
    ("http:\\\\good.example.org", "instead of the backslash"),
    ("http://good.example.org#@127.0.0.1", "fragment"),
    ("http://good.example.org?@127.0.0.1", "query"),
    ("http://good.example.org/?", "query"),
    ("http://good.example.org/#", "fragment"),
    ("http://good.example.org:80:81", "one colon"),
    ("http://good.example.org/a\r\nHost: evil.example.org", "control"),
    ("http://good.example.org\n.evil.example.org", "U+000A"),
    ("http://good.example.org\t", "U+0009"),
    (" http://good.example.org", "spaces"),
    ("http://good.example.org ", "spaces"),
    ("http://good.example\u00a0.org", "spaces"),
    ("http://good.example\x00.org", "U+0000"),
    ("http://good.example\x7f.org", "U+007F"),
    ("http://gro.elpmaxe\u202e.good.org", "invisible"),
    ("http://good\u200b.example.org", "invisible"),
    ("http://good\ufeff.example.org", "invisible"),
    ("http://good\ud800.example.org", "invisible"),
    ("http://%31%32%37.0.0.1", "percent"),
    ("http://good%2eexample.org", "percent"),
    ("http://[fe80::1%25eth0]", "percent"),
    ("http://[fe80::1%eth0]", "percent"),
    # IPv4 addresses as old resolvers read them.
    ("http://2130706433", "another spelling"),
    ("http://127.1", "another spelling"),
    ("http://127.0.1", "another spelling"),
    ("http://0x7f.1", "another spelling"),
    ("http://0x7f000001", "another spelling"),
    ("http://0X7F.0.0.1", "another spelling"),
    ("http://0177.0.0.1", "another spelling"),
    ("http://127.0.0.01", "another spelling"),
    ("http://127.0.0.0x1", "another spelling"),
    ("http://127.0.0.0x", "another spelling"),
    ("http://127.0.0.256", "another spelling"),
    ("http://1.2.3.4.5", "another spelling"),
    ("http://snake.example.1", "another spelling"),
    ("http://0", "another spelling"),
    ("http://127.0.0.1.", "dot at the end"),
    ("http://\uff11\uff12\uff17.0.0.1", "another spelling"),
    ("http://①②⑦.0.0.1", "another spelling"),
    ("http://127\u30020\uff0e0\uff611", "another spelling"),
    ("http://𝟏𝟐𝟕.𝟎.𝟎.𝟏", "another spelling"),
    ("http://１27.1", "another spelling"),
    ("http://0ｘ7f.1", "another spelling"),
    ("http://127․0․0․1", "turns into a dot"),
    ("http://good․example.org", "turns into a dot"),
    ("http://a℀b.example.org", "letters, digits"),
    ("http://faß.example.org", "more than one reading"),
    ("http://σς.example.org", "more than one reading"),
    ("http://\U0001fbf1.example.org", "more than one reading"),
    # IPv6 addresses, and what is none.
    ("http://2606:4700::1", "one colon"),
    ("http://::1", "one colon"),
    ("http://[2606:4700::1", "in brackets"),
    ("http://[2606:4700::1]8000", "in brackets"),
    ("http://[127.0.0.1]", "not an IPv6 address"),
    ("http://[]", "not an IPv6 address"),
    ("http://[::ffff:127.1]", "not an IPv6 address"),
    ("http://[v1.fe80]", "not an IPv6 address"),
    ("http://[::1].example.org", "in brackets"),
    ("http://example.org[::1]", "one colon"),
    # Names that are nobody's in public.
    ("http://localhost", "not public"),
    ("http://LOCALHOST:8000", "not public"),
    ("http://ⓛocalhost", "not public"),
    ("http://snake.localhost", "not public"),
    ("http://printer.local", "not public"),
    ("http://postgres.default.svc.cluster.local", "not public"),
    ("http://metadata.google.internal", "not public"),
    ("http://router.home.arpa", "not public"),
    ("http://1.0.0.127.in-addr.arpa", "not public"),
    ("http://duskgytldkxiuqc6.onion", "not public"),
    ("http://snake.invalid", "not public"),
    ("http://postgres", "whole name"),
    ("http://redis:6379", "whole name"),
    ("http://snake.example.org.", "dot at the end"),
    ("http://.snake.example.org", "empty part"),
    ("http://snake..example.org", "empty part"),
    ("http://-snake.example.org", "letters, digits"),
    ("http://snake-.example.org", "letters, digits"),
    ("http://sna_ke.example.org", "letters, digits"),
    ("http://*.example.org", "letters, digits"),
    ("http://$HOME.example.org", "letters, digits"),
    ("http://" + "a" * 64 + ".example.org", "63 characters"),
    ("http://" + "ü" * 64 + ".example.org", "63 characters"),
    ("http://" + "ab." * 84 + "org", "253 characters"),
    ("http://good.example.org/" + "a" * 500, "at most 500"),
    # Ports and paths.
    ("http://good.example.org:", "port must be a number"),
    ("http://good.example.org:0", "port must be a number"),
    ("http://good.example.org:080", "port must be a number"),
    ("http://good.example.org:65536", "port must be a number"),
    ("http://good.example.org:+80", "port must be a number"),
    ("http://good.example.org:-1", "port must be a number"),
    ("http://good.example.org:8_0", "port must be a number"),
    ("http://good.example.org:８０", "port must be a number"),
    ("http://good.example.org:http", "port must be a number"),
    ("http://good.example.org/../admin", ". and .."),
    ("http://good.example.org/a/./b", ". and .."),
    ("http://good.example.org/a/..", ". and .."),
    ("http://good.example.org//evil.example.org", "empty part"),
    ("http://good.example.org/a//", "empty part"),
    ("http://good.example.org//", "empty part"),
    ("http://good.example.org/%2e%2e/", "percent"),
    ("http://good.example.org/ü", "the path may contain only"),
    ('http://good.example.org/"', "the path may contain only"),
    ("http://good.example.org/" + "a" * 201, "200 characters"),
]


@pytest.mark.parametrize(("url", "address"), READ.items())
def test_a_plain_url_is_written_in_canonical_form(url: str, address: Address) -> None:
    assert parse(url) == address
    assert parse(str(address)) == address


@pytest.mark.parametrize(("url", "why"), REFUSED, ids=ascii)
def test_another_spelling_is_refused_with_a_remedy(url: str, why: str) -> None:
    with pytest.raises(AddressError) as refused:
        parse(url)
    assert str(refused.value).startswith("url: ")
    assert why in str(refused.value)


def test_the_host_header_omits_the_default_port() -> None:
    assert parse("http://[2606:4700::1]:8000/a").host_header == "[2606:4700::1]:8000"
    assert parse("https://[2606:4700::1]:443").host_header == "[2606:4700::1]"
    assert parse("http://example.org:443").host_header == "example.org:443"


# Not st.text() alone: its table of all characters takes seconds to make.
_CHARACTER = st.sampled_from("ahtps/.127x[]@#?%\\ -_~é①․。\uff0e\u0660ß\u200d℀\n")
_ANYTHING = st.lists(_CHARACTER | st.integers(0, 0x10FFFF).map(chr)).map("".join)


@settings(max_examples=60)
@given(st.sampled_from(["", "http://", "https://a.b/", "http://a.b:", "http://["]), _ANYTHING)
@example("http://", "½.a.b")
def test_an_accepted_address_parses_to_the_same_address_again(prefix: str, text: str) -> None:
    try:
        address = parse(prefix + text)
    except AddressError:
        return
    assert str(address).isascii()
    assert parse(str(address)) == address
