"""Counts the frames that Chromium drops while the player plays, at a quarter of the cpu's speed.

    python -m benchmarks.player_frames [--seconds 10] [--throttle 4]

The site is the one of the page tests. Each game is played at 1x and at 8x speed. The counts are
from Chromium's own trace (PipelineReporter): each frame ends as presented, as presented in part, or
as dropped. The last two count only where the reader could see it. The board draws 5 steps a second
at 1x. The last column is the longest task of the page's main thread, throttled as well.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from playwright.sync_api import Browser

from benchmarks.report_tables import aligned, describe_machine
from benchmarks.site_weight import site
from tests.browsers import chromium

CATEGORIES: Final = ["cc", "benchmark", "viz", "toplevel", "devtools.timeline"]
MOST_DROPPED: Final = 0.01
SPEEDS: Final = ("1", "8")
SIZE: Final = {"width": 1280, "height": 800}


def main() -> int:
    """Print one row for each game and speed. Exit status 1 if more than one frame in 100 drops."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=10.0, help="playing time of each row")
    parser.add_argument("--throttle", type=float, default=4.0, help="slowdown of the cpu")
    asked = parser.parse_args()
    print(describe_machine())
    counted = ["steps", "presented", "in part", "dropped"]
    rows = [["game", "speed", *counted, "share", "longest task ms"]]
    worst = 0.0
    with site() as (address, contest), chromium() as browser:
        matches = {"hungry_geese": contest.rated[3], **contest.other_games}
        for game, match in sorted(matches.items()):
            for speed in SPEEDS:
                page = f"{address}/matches/{match}?step=0"
                found = measured(browser, page, speed, asked.seconds, asked.throttle)
                frames = found["presented"] + found["partial"] + found["dropped"]
                share = found["dropped"] / frames if frames else 1.0
                worst = max(worst, share)
                cells = [found[name] for name in ("steps", "presented", "partial", "dropped")]
                rows.append(
                    [game, f"{speed}x", *map(str, cells), f"{share:.2%}", f"{found['longest']:.0f}"]
                )
    print(aligned(rows))
    print(f"aim: at most {MOST_DROPPED:.0%} dropped with the cpu slowed {asked.throttle:g} times")
    return int(worst > MOST_DROPPED)


def measured(
    browser: Browser, address: str, speed: str, seconds: float, throttle: float
) -> Mapping[str, Any]:
    """Frames by their end, steps and the longest task in ms, while the replay plays in a loop."""
    context = browser.new_context(viewport=SIZE, reduced_motion="no-preference")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("[data-ready]")
    page.locator("[data-choose=speed]").select_option(speed)
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": throttle})
    # Plays again from the start whenever the replay is over, so that each row has equal time.
    page.evaluate(
        "window.shown = 0; const root = document.querySelector('[data-player]');"
        "const seen = new MutationObserver(() => { shown += 1; });"
        "seen.observe(root, {attributeFilter: ['data-step']});"
        "setInterval(() => { if (root.dataset.playing !== 'true') root.player.toggle(); }, 50);"
    )
    page.wait_for_timeout(1000)
    browser.start_tracing(page=page, categories=CATEGORIES)
    before = page.evaluate("shown")
    page.wait_for_timeout(1000 * seconds)
    steps = page.evaluate("shown") - before
    events = json.loads(browser.stop_tracing())["traceEvents"]
    context.close()
    ends = frame_ends(events)
    return {
        "steps": steps,
        **ends,
        "longest": longest_task(events),
    }


def frame_ends(events: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Frames that were presented, presented in part, and dropped. Where nobody could see that a
    frame came in part, it counts as presented; where nobody could miss it, it does not count."""
    ends = Counter(presented=0, partial=0, dropped=0)
    for event in events:
        if event.get("name") != "PipelineReporter":
            continue
        report = event.get("args", {}).get("chrome_frame_reporter") or event.get("args", {}).get(
            "frame_reporter", {}
        )
        is_seen = report.get("affects_smoothness", True)
        match report.get("state"):
            case "STATE_DROPPED":
                ends["dropped"] += is_seen
            case "STATE_PRESENTED_PARTIAL":
                ends["partial" if is_seen else "presented"] += 1
            case "STATE_PRESENTED_ALL":
                ends["presented"] += 1
    return dict(ends)


def longest_task(events: Sequence[Mapping[str, Any]]) -> float:
    """The longest task in ms of the threads that run script."""
    threads = {event.get("tid") for event in events if event.get("name") == "FunctionCall"}
    return max(
        (
            event.get("dur", 0) / 1000
            for event in events
            if event.get("name") in ("RunTask", "ThreadControllerImpl::RunTask")
            and event.get("tid") in threads
        ),
        default=0.0,
    )


if __name__ == "__main__":
    sys.exit(main())
