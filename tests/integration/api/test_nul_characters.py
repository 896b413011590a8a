"""Routes refuse a NUL character in an address: Postgres stores none."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.api.shared import http as http
from tests.integration.api.shared import world as world


@pytest.mark.parametrize(
    ("address", "where"),
    [
        ("/v1/head-to-head?agent=%00a&opponent=b", "query.agent"),
        ("/v1/head-to-head?agent=a&opponent=%00b", "query.opponent"),
        ("/v1/matches?agent=%00", "query.agent"),
        ("/v1/matches?season=a%00", "query.season"),
        ("/v1/search?q=aa%00", "query.q"),
        ("/v1/leagues/a%00", "path"),
    ],
)
def test_api_names_the_value_with_a_nul_character(
    http: httpx.Client, address: str, where: str
) -> None:
    answer = http.get(address)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error == {"where": where, "message": "leave out the NUL character (%00)"}


def test_page_with_a_nul_character_in_its_query_is_refused(http: httpx.Client) -> None:
    answer = http.get("/compare?agent=%00a", headers={"Accept": "text/html"})
    assert answer.status_code == 422
    assert "<h1>" in answer.text


@pytest.mark.parametrize("name", ["season", "entry", "scrim"])
def test_filter_of_matches_that_is_no_key_is_refused(http: httpx.Client, name: str) -> None:
    answer = http.get("/v1/matches", params={name: "a key"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["where"] == f"query.{name}"
