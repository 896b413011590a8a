from __future__ import annotations

import ssl

from services.api_client import tls_context


def test_a_plain_http_client_trusts_no_certificate() -> None:
    plain = tls_context("HTTP://127.0.0.1:8000")
    assert plain.get_ca_certs() == []
    assert plain.verify_mode is ssl.CERT_REQUIRED
    assert plain.check_hostname


def test_an_https_client_trusts_the_usual_authorities() -> None:
    usual = tls_context("https://ladder.example.org")
    assert usual.get_ca_certs() != []
    assert usual.verify_mode is ssl.CERT_REQUIRED
