"""The submission of a remote agent: one spelling, read back as it was written."""

from __future__ import annotations

import pytest

from egress.address import AddressError, parse
from sandbox.remote.manifest import APIS, read_manifest, write_manifest
from tests.unit.egress.test_address import READ


@pytest.mark.parametrize("url", READ)
@pytest.mark.parametrize("api", APIS)
def test_a_manifest_is_read_back(url: str, api: str) -> None:
    assert read_manifest(write_manifest(parse(url), api)) == (parse(url), api)


def test_a_manifest_has_one_spelling() -> None:
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
def test_bytes_that_we_did_not_write_are_no_remote_submission(text: bytes) -> None:
    with pytest.raises(AddressError):
        read_manifest(text)


def test_an_api_that_there_is_not_cannot_be_submitted() -> None:
    with pytest.raises(AddressError, match="api: one of 1, 2017"):
        write_manifest(parse("http://a.b"), "2")
