// Parts of a page that renew themselves: <div id="x" data-live="/address" data-seconds="5">.
// The address answers with the part's new content and an ETag; unchanged content is not sent.
// Without script the page is complete as it came.

import { refreshTimes } from "./times.js";

const SLOWEST_MS = 60_000;

function signature(row) {
  return row.dataset.sign ?? row.textContent;
}

// Several links of a part may lead to one page, as in the two halves of a matrix.
function linksTo(part, address) {
  return [...part.querySelectorAll("a[href]")].filter(
    (link) => link.getAttribute("href") === address,
  );
}

function swap(part, html) {
  const before = new Map(
    [...part.querySelectorAll("[data-key]")].map((row) => [row.dataset.key, signature(row)]),
  );
  const focused = part.contains(document.activeElement)
    ? document.activeElement.getAttribute("href")
    : null;
  const place = focused ? linksTo(part, focused).indexOf(document.activeElement) : -1;
  const scrolled = [...part.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  const fresh = new DOMParser().parseFromString(html, "text/html");
  part.replaceChildren(...fresh.body.childNodes);
  part.querySelectorAll(".scroll").forEach((one, number) => {
    one.scrollLeft = scrolled[number] ?? 0;
  });
  for (const row of part.querySelectorAll("[data-key]")) {
    const was = before.get(row.dataset.key);
    if (was !== signature(row)) row.classList.add("changed");
  }
  if (focused) {
    const links = linksTo(part, focused);
    (links[place] ?? links[0])?.focus({ preventScroll: true });
  }
  refreshTimes(part);
}

function say(part, state, text) {
  const pulse = document.getElementById(part.dataset.pulse ?? "");
  if (!pulse) return;
  pulse.hidden = false;
  pulse.dataset.state = state;
  if (pulse.textContent !== text) pulse.textContent = text;
}

export function keepLive(part) {
  const pause = 1000 * Number(part.dataset.seconds || 5);
  let etag = part.dataset.etag ?? "";
  let wait = pause;
  let timer = 0;

  async function poll() {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        const answer = await fetch(part.dataset.live, {
          headers: etag ? { "If-None-Match": etag } : {},
          cache: "no-store",
        });
        if (answer.status === 200) {
          etag = answer.headers.get("ETag") ?? "";
          swap(part, await answer.text());
          part.dataset.renewed = String(Number(part.dataset.renewed ?? 0) + 1);
        } else if (answer.status === 205) {
          location.reload();
          return;
        } else if (answer.status !== 304) {
          throw new Error(`status ${answer.status}`);
        }
        wait = pause;
        say(part, "live", "Live");
      } catch {
        wait = Math.min(SLOWEST_MS, wait * 2);
        say(part, "away", "Server away, trying again");
      }
    }
    timer = setTimeout(poll, wait);
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) poll();
  });
  say(part, "live", "Live");
  timer = setTimeout(poll, pause);
}
