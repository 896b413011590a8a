"""No link of the site leads to a missing page, for a stranger, a member and a host."""

from __future__ import annotations

import re
from collections import Counter, deque
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from services.api_client import tls_context
from tests.web.conftest import Site, sign_in

LINK = re.compile(r'(?<![a-z])(?:href|src|action|data-live|data-episode)="([^"]+)"')
FORM = re.compile(r'<form[^>]*method="post"[^>]*>')
MISSING = (400, 404, 405, 410, 422)
SAME_FOR_ALL = re.compile(r"/(docs|problems|static|pictures)/")
"""The stranger reads these pages for all."""
EACH = 2
"""Pages of one shape that are read: ``/agents/*`` and so on."""


def shape(address: str) -> str:
    """The address with ids, slugs and numbers left out."""
    path, _, query = address.partition("?")
    names = re.sub(r"(?<=/)(?:[a-z]{3}_)?[0-9a-z]{20,}|(?<=/)\d+", "*", path)
    names = re.sub(r"^/(leagues|teams|games|docs/api|pictures|problems)/[^/]+", r"/\1/*", names)
    return names + "?" + "&".join(sorted(part.split("=")[0] for part in query.split("&")))


def links(page: httpx.Response) -> set[str]:
    """Addresses of this site on a page, without those that only take a POST."""
    if "text/html" not in page.headers.get("content-type", ""):
        return set()
    text = FORM.sub("", page.text).replace("&amp;", "&")
    found = {urljoin(str(page.url), link) for link in LINK.findall(text)}
    own = urlsplit(str(page.url)).netloc
    here = [urlsplit(link) for link in found if urlsplit(link).netloc == own]
    return {f"{one.path}?{one.query}" if one.query else one.path for one in here}


def status_without_redirect(client: httpx.Client, address: str) -> int:
    """The status that a program gets. Browsers get a redirect where programs get 405."""
    headers = {"Accept": "*/*"}
    return client.get(address, headers=headers, follow_redirects=False).status_code


@pytest.mark.parametrize("person", ["stranger", "owner", "host"])
def test_no_link_leads_to_a_missing_page(site: Site, person: str) -> None:
    token = {"owner": site.contest.owner_token, "host": site.contest.host_token}.get(person)
    waiting, seen, read = deque(["/"]), {"/"}, Counter[str]()
    missing = []
    with httpx.Client(
        base_url=site.address,
        headers={"Accept": "text/html"},
        verify=tls_context(site.address),
        follow_redirects=True,
        timeout=60,
    ) as client:
        if token:
            sign_in(client, token)
        while waiting:
            address = waiting.popleft()
            if read[shape(address)] >= EACH or (token and SAME_FOR_ALL.match(address)):
                continue
            read[shape(address)] += 1
            page = client.get(address)
            status = status_without_redirect(client, address) if page.history else page.status_code
            if status in MISSING or status >= 500:
                missing.append(f"{status} {address}")
            for link in sorted(links(page) - seen):
                seen.add(link)
                waiting.append(link)
    assert missing == []
    assert len(read) > 40
