"""Malformed addresses in requests."""

from __future__ import annotations

from starlette.requests import Request

from services.http.foreign_urls import split_url
from services.web.page_rendering import page_before


def test_malformed_address_has_no_parts() -> None:
    assert split_url("http://[::1") == ("", "", "", "", "")
    assert split_url("http://[::1]/a").netloc == "[::1]"


def test_form_with_a_malformed_referer_leads_to_the_account_page() -> None:
    headers = [(b"host", b"site.example"), (b"referer", b"http://[::1")]
    scope = {"type": "http", "method": "POST", "path": "/admin", "headers": headers}
    assert page_before(Request(scope)) == "/me/account"
