from __future__ import annotations

import ssl

import pytest

from services.api_client import ApiError, foreign_answer, tls_context
from services.cli.refusals import hints_after


def test_a_plain_http_client_trusts_no_certificate() -> None:
    plain = tls_context("HTTP://127.0.0.1:8000")
    assert plain.get_ca_certs() == []
    assert plain.verify_mode is ssl.CERT_REQUIRED
    assert plain.check_hostname


def test_an_https_client_trusts_the_usual_authorities() -> None:
    usual = tls_context("https://ladder.example.org")
    assert usual.get_ca_certs() != []
    assert usual.verify_mode is ssl.CERT_REQUIRED


def test_refusal_of_a_web_server_leads_to_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PECK_URL", "https://peck.example.org")
    monkeypatch.setenv("PECK_TOKEN", "peck_token")
    refusal = ApiError({"detail": foreign_answer(413)}, 413)
    assert "(client_max_body_size in nginx)" in str(refusal)
    hints = hints_after(refusal, "peck submit")
    assert hints[-1] == "next: ask the operator of https://peck.example.org"
