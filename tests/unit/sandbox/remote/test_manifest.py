"""The submission of a remote agent: one spelling, read back as it was written."""

from __future__ import annotations

import pytest

from egress.address import AddressError, parse
from sandbox.remote.manifest import APIS, read_manifest, write_manifest
from tests.unit.egress.test_address import READ


@pytest.mark.parametrize("url", READ)
@pytest.mark.parametrize("api", APIS)
def test_a_written_manifest_can_be_read(url: str, api: str) -> None:
    assert read_manifest(write_manifest(parse(url), api)) == (parse(url), api)


def test_a_manifest_has_one_canonical_form() -> None:
    text = write_manifest(parse("HTTPS://Snake.example.org:443/a/"), "1")
    assert text == b'{"api":"1","contract":"http","url":"https://snake.example.org/a"}'


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 1000,
        b"[" * 2000,
        b'{"api":1,"contract":"http","url":"http://a.b"}',
        b'{"api":"1","contract":"http","url":["http://a.b"]}',
        b'{"api":"3","contract":"http","url":"http://a.b"}',
        b'{"api":"1","contract":"http","url":"http://localhost"}',
        b'{"api":"1","contract":"lines","url":"http://a.b"}',
        b'{"api":"1","contract":"http","url":"http://a.b/"}',
        b'{"api":"1","contract":"http","url":"http://a.b"}\n',
        b'{"api":"1", "contract":"http","url":"http://a.b"}',
        b'{"api":"1","contract":"http","more":1,"url":"http://a.b"}',
        b'{"url":"http://c.d","api":"1","contract":"http","url":"http://a.b"}',
    ],
)
def test_a_manifest_in_another_form_is_refused(text: bytes) -> None:
    with pytest.raises(AddressError):
        read_manifest(text)


def test_an_unknown_api_is_refused() -> None:
    with pytest.raises(AddressError, match="api: one of 1, 2017"):
        write_manifest(parse("http://a.b"), "2")
