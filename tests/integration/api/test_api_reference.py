"""The page that describes the API."""

from __future__ import annotations

import html
import re

import httpx


def test_the_page_describes_every_operation_and_shape(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    page = html.unescape(http.get("/docs").text)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert f"<code>{method.upper()} {path}</code>" in page
            assert f'id="{operation["operationId"]}"' in page
            for parameter in operation.get("parameters", ()):
                assert f"<code>{parameter['name']}</code>" in page
    for name, schema in document["components"]["schemas"].items():
        assert f'id="shape-{name}"' in page
        for member in schema.get("properties", ()):
            assert f"<code>{member}</code>" in page
    assert "for a token with agents:write" in page
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))


def test_the_page_loads_no_external_resources(http: httpx.Client) -> None:
    answer = http.get("/docs")
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
