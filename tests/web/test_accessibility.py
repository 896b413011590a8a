"""Widths, names, roles and contrast of every page, in light and in dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from benchmarks.site_weight import pages as most_used_pages
from tests.sizes import sized
from tests.web.conftest import Site, Tab

pytestmark = pytest.mark.browser

SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")

NAMES = """() => {
  const bad = [];
  const named = (e) => (e.getAttribute('aria-label') || e.textContent || e.title || '').trim()
    || document.getElementById(e.getAttribute('aria-labelledby'));
  if (document.documentElement.lang !== 'en') bad.push('no language');
  if (document.querySelectorAll('h1').length !== 1) bad.push('not one h1');
  if (!document.querySelector('main')) bad.push('no main');
  for (const e of document.querySelectorAll('a[href], button, [role=img], section'))
    if (!named(e)) bad.push('no name: ' + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll('svg:not([role]):not([aria-hidden])'))
    bad.push('svg neither named nor hidden: ' + e.outerHTML.slice(0, 80));
  const fields = 'input:not([type=hidden]):not([hidden]), select, meter';
  for (const e of document.querySelectorAll(fields))
    if (!e.labels.length && !e.getAttribute('aria-label')) bad.push('no label: ' + e.outerHTML);
  for (const e of document.querySelectorAll('th')) if (!e.scope) bad.push('th without scope');
  for (const e of document.querySelectorAll('table'))
    if (!e.caption) bad.push('table without caption');
  const ids = new Set();
  for (const e of document.querySelectorAll('[id]'))
    if (ids.size === ids.add(e.id).size) bad.push('twice: ' + e.id);
  let level = 0;
  for (const e of document.querySelectorAll('h1, h2, h3, h4')) {
    const now = Number(e.tagName[1]);
    if (now > level + 1) bad.push('heading jumps: ' + e.textContent);
    level = now;
  }
  return [...new Set(bad)];
}"""

CONTRAST = """() => {
  const parse = (text) => {
    const srgb = /^color\\(srgb ([^)]+)\\)/.exec(text);
    if (srgb) {
      const [r, g, b, a] = srgb[1].replace('/', ' ').trim().split(/\\s+/).map(Number);
      return [r * 255, g * 255, b * 255, a ?? 1];
    }
    const [r, g, b, a] = text.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const light = (c) => {
    const linear = (v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    const [r, g, b] = c.map((v) => linear(v / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const grounds = new Map([[null, [255, 255, 255]]]);
  const behind = (e) => {
    if (!grounds.has(e))
      grounds.set(e, over(parse(getComputedStyle(e).backgroundColor), behind(e.parentElement)));
    return grounds.get(e);
  };
  const bad = [], seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    const unseen = 'svg, title, option, noscript, .visually-hidden, .skip';
    if (seen.has(e) || !walker.currentNode.textContent.trim() || e.closest(unseen)) continue;
    seen.add(e);
    if (!e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const ground = behind(e);
    const ink = over(parse(style.color), ground);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    const big = parseFloat(style.fontSize) >= 24;
    const told = `${ratio.toFixed(2)} ${e.className} ${e.textContent.trim().slice(0, 30)}`;
    if (ratio < (big ? 3 : 4.5)) bad.push(told);
  }
  return [...new Set(bad)];
}"""


ALL_RULES: Final = bool(sized(0, 1))
SHOWN_BY_US: Final = (
    "button-name",
    "color-contrast",
    "heading-order",
    "html-has-lang",
    "landmark-one-main",
    "link-name",
    "page-has-heading-one",
    "role-img-alt",
)
"""Rules of axe that NAMES and CONTRAST show faster."""
AXE_OPTIONS: Final[dict[str, Any]] = {
    "resultTypes": ["violations"],
    "selectors": False,
    "ancestry": False,
    "iframes": False,
    "rules": {} if ALL_RULES else {rule: {"enabled": False} for rule in SHOWN_BY_US},
}
REPEATED: Final = () if ALL_RULES else ("tbody tr:nth-child(n+4)", "li:nth-child(n+7)")
"""Rows after these look like those before."""
RUN_AXE = """async ([repeated, options]) =>
  (await axe.run({ exclude: repeated.map((one) => [one]) }, options)).violations
  .map((one) => [one.id, one.nodes[0].html])"""
MORE_STOPS: Final = 20
"""Parts of a page that scroll sideways are stops too, beside its controls."""
HOST_PAGES = (
    *("people", "roster", "terms", "request", "suspects", "new-tournament"),
    *("edit", "new-season", "moderation"),
)


def paths(site: Site) -> list[str]:
    contest = site.contest
    return [
        "/",
        "/leagues/hungry-geese",
        "/leagues/hungry-geese/watch",
        "/leagues/hungry-geese/charts",
        "/watch",
        "/tv",
        f"/agents/{contest.own[0].agent_id}",
        f"/matches/{contest.failed_match}",
        f"/logs/{contest.failed_match}/0",
        f"/scrims/{contest.scrim}",
        "/scrims",
        "/new-scrim",
        "/new-scrim-batch",
        "/new-scrim-batch?kind=versions",
        f"/scrim-batches/{contest.batch}",
        f"/scrim-requests/{contest.request}",
        f"/agents/{contest.own[0].agent_id}/scrim-policy",
        f"/agents/{contest.own[0].agent_id}/machines",
        "/me",
        "/teams/odo",
        "/teams/new",
        "/join-team",
        "/me/account",
        "/me/data",
        "/confirm",
        "/recover",
        "/me/notices",
        "/privacy",
        "/me/notices/settings",
        "/upload",
        "/device",
        "/problems/not-found",
        "/docs",
        "/docs/how-to/write-an-agent",
        "/docs/api",
        "/docs/api/matches",
        "/games",
        "/games/hungry_geese",
        "/leagues",
        "/leagues/hungry-geese/certainty",
        "/matches?agent=gosling",
        "/compare?agent=gosling&opponent=lattice",
        "/teams",
        "/search?q=go",
        "/leagues/hungry-geese/tournaments",
        "/tournaments",
        f"/tournaments/{contest.tournament}",
    ]


def pages_of_others(site: Site) -> list[tuple[str, list[str]]]:
    """Pages of hosts and of administrators, with a token for them."""
    contest = site.contest
    pages = [f"/leagues/hungry-geese/{page}" for page in HOST_PAGES]
    pages.append("/leagues/hungry-geese#hosting")
    people = f"/admin/users/{contest.owner.id}"
    return [
        (contest.host_token, pages),
        (
            contest.admin_token,
            ["/admin", "/admin/settings", "/admin/machines", "/admin/audits", people],
        ),
    ]


def settle(page: Page) -> None:
    """Wait for the player if the page has one."""
    if page.locator("[data-player]").count():
        page.wait_for_selector("[data-ready]")


WIDER_THAN_THE_SCREEN = """() => [
  ...(document.documentElement.scrollWidth > 360 ? ['the page scrolls sideways'] : []),
  ...[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1)
    .map((e) => 'scrolls sideways: ' + e.outerHTML.slice(0, 80)),
]"""


def problems(page: Page) -> list[str]:
    """Check an open page: its width on a phone, its names and roles, its contrast in both themes.

    Each page is loaded once, because loading takes most of the time. In the suite axe runs once, by
    the rules that NAMES and CONTRAST do not show, without most rows of tables and lists. In the
    drill it runs by all rules over everything, on a phone and in each theme.
    """
    settle(page)
    found = page.evaluate(WIDER_THAN_THE_SCREEN) + page.evaluate(NAMES)
    if ALL_RULES:
        found += [f"phone: {problem}" for problem in axe_problems(page)]
    page.set_viewport_size({"width": 1200, "height": 900})
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        seen = page.evaluate(CONTRAST)
        if ALL_RULES or scheme == "light":
            seen += axe_problems(page)
        found += [f"{scheme}: {problem}" for problem in seen]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 360, "height": 900})
    return list(found)


def axe_problems(page: Page) -> list[str]:
    """What axe finds on an open page, with the first element of each finding."""
    if not page.evaluate("'axe' in globalThis"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(RUN_AXE, [list(REPEATED), AXE_OPTIONS])
    return [f"axe {rule}: {html[:120]}" for rule, html in found]


def test_every_page_is_accessible_in_both_themes_and_fits_a_small_phone(
    site: Site, tab: Callable[..., Tab]
) -> None:
    found = {}
    stranger = tab(width=360)
    stranger.page.add_init_script(AXE_SCRIPT)
    for path in ("/sign-in", "/sign-up"):
        found[path] = problems(stranger.open(path))
    for token, their_paths in [(site.contest.owner_token, paths(site)), *pages_of_others(site)]:
        person = tab(width=360)
        person.page.add_init_script(AXE_SCRIPT)
        person.sign_in(token)
        for path in their_paths:
            found[path] = problems(person.open(path))
    assert {path: text for path, text in found.items() if text} == {}


WATCH_FOCUS = """() => {
  const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled
    && e.tabIndex >= 0;
  const kinds = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
  window.stops = [...document.querySelectorAll(kinds)].filter(shown)
    .filter((e) => e.type !== 'radio' || e.checked);
  window.reached = [];
  window.unseen = [];
  document.addEventListener('focusin', ({ target }) => {
    if (window.reached.slice(1).includes(window.stops[0])) return;  // around once
    const style = getComputedStyle(target);
    const box = target.getBoundingClientRect();
    window.reached.push(target);
    const drawn = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
    if (!drawn || box.bottom < 0 || box.top > innerHeight) window.unseen.push(target.outerHTML);
  });
  return window.stops.length;
}"""
WALKED = """() => {
  const same = (e) => window.reached.some((one) => one === e || one.outerHTML === e.outerHTML);
  const after = (e, i) => !i || e.className === 'skip' || !window.reached[i - 1].isConnected
    || window.reached[i - 1].compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING;
  return {
    first: window.reached[0]?.className,
    missed: window.stops.filter((e) => !same(e)).map((e) => e.outerHTML),
    backwards: window.reached.filter((e, i) => !after(e, i)).map((e) => e.outerHTML),
    unseen: window.unseen,
  };
}"""
ROUND = "window.reached.slice(1).includes(window.stops[0])"
AT_ONCE: Final = 8  # keys between two questions


def test_tab_reaches_every_control_of_the_most_used_pages_and_leaves_them(
    site: Site, tab: Callable[..., Tab]
) -> None:
    person = tab()
    person.sign_in(site.contest.owner_token)
    walks = {}
    for path in most_used_pages(site.contest):
        page = person.open(path)
        settle(page)
        for _ in range(0, page.evaluate(WATCH_FOCUS) + MORE_STOPS, AT_ONCE):
            for _ in range(AT_ONCE):
                page.keyboard.press("Tab")
            if page.evaluate(ROUND):
                break
        else:
            pytest.fail(f"the focus does not leave {path}")
        walks[path] = page.evaluate(WALKED)
    well = {"first": "skip", "missed": [], "backwards": [], "unseen": []}
    assert {path: walk for path, walk in walks.items() if walk != well} == {}


def test_the_first_four_geese_are_visually_distinct(site: Site, tab: Callable[..., Tab]) -> None:
    for scheme in ("light", "dark"):
        page = tab(scheme=scheme).open(f"/matches/{site.contest.failed_match}")
        page.wait_for_selector("[data-ready]")
        looks = page.evaluate(
            "[0, 1, 2, 3].map((seat) => { const e = document.querySelector("
            "`.goose.seat-${seat}`); const s = getComputedStyle(e.querySelector('.stripe'));"
            " return [getComputedStyle(e.querySelector('.body')).stroke,"
            " s.strokeDasharray + s.opacity]; })"
        )
        assert len({colour for colour, _ in looks}) == 4
        assert len({stripe for _, stripe in looks}) == 4
