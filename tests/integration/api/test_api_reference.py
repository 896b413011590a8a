"""The page that describes the API."""

from __future__ import annotations

import html
import re
import shlex

import httpx

from ladder.leagues.settings import NewLeague
from services.cli.operations import Document, Request, read_values
from services.web import api_reference
from tests.integration.api.shared import http as http
from tests.integration.api.shared import world as world


def test_the_page_describes_every_operation_and_shape(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    index = html.unescape(http.get("/docs/api").text)
    groups = sorted({one["tags"][0] for ms in document["paths"].values() for one in ms.values()})
    pages = {group: html.unescape(http.get(f"/docs/api/{group}").text) for group in groups}
    page = "".join(pages.values())
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert f"<code>{method.upper()} {path}</code>" in page
            assert f'href="/docs/api/{operation["tags"][0]}#{operation["operationId"]}"' in index
            assert f'id="{operation["operationId"]}"' in page
            for parameter in operation.get("parameters", ()):
                assert f"<code>{parameter['name']}</code>" in page
    unused = {"HTTPValidationError", "ValidationError"}
    for name, schema in document["components"]["schemas"].items():
        if name in unused:
            continue
        assert f'id="shape-{name}"' in page
        for member in schema.get("properties", ()):
            assert f"<code>{member}</code>" in page
    assert "for a token with agents:write" in page
    for text in pages.values():
        assert set(re.findall(r'href="#([^"]+)"', text)) <= set(re.findall(r'id="([^"]+)"', text))


def test_examples_are_calls_that_work(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    found = document["paths"]["/v1/leagues"]["post"]
    example = api_reference.example_of("POST", "/v1/leagues", found, schemas)
    body = shlex.split(example.curl)[shlex.split(example.curl).index("-d") + 1]
    NewLeague.model_validate_json(body)
    assert '"Authorization: Bearer $PECK_TOKEN"' in example.curl
    upload = document["paths"]["/v1/agents/{agent}/submissions"]["post"]
    told = api_reference.example_of("POST", "/v1/agents/{agent}/submissions", upload, schemas).curl
    sent = api_reference.example_of("POST", "/v1/leagues", found, schemas).command
    assert sent is not None
    texts, request = shlex.split(sent)[2:], Request()
    read_values(Document(document, "").operations["create-league"].fields(), texts, request)
    NewLeague.model_validate(request.body)
    assert told.endswith("-F file=@main.py $PECK_URL/v1/agents/AGENT/submissions")


def test_the_page_loads_no_external_resources(http: httpx.Client) -> None:
    answer = http.get("/docs/api")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "unsafe" not in answer.headers["content-security-policy"]
    addresses = re.findall(r'(?:src|href|action)="([^"]*)"', answer.text)
    assert addresses
    assert all(re.match(r"/(?!/)|#", address) for address in addresses)
    assert http.get("/redoc").status_code == 404


def test_no_answer_lets_a_browser_guess_its_type(http: httpx.Client) -> None:
    for path in ("/v1/games", "/v1/nothing", "/openapi.json", "/docs", "/static/site.js"):
        assert http.get(path).headers["x-content-type-options"] == "nosniff"


def test_the_document_marks_every_route_that_needs_a_token(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            filled = re.sub(r"\{number\}|\{seat\}", "1", path)
            address = re.sub(r"\{\w+\}", "nothing", filled)
            headers = {"Content-Type": "application/json"}
            answer = http.request(method, address, headers=headers, content=b"{}")
            stranger = not operation.get("security") or {} in operation["security"]
            assert (answer.status_code == 401) != stranger, f"{method} {path}: {answer.text}"
