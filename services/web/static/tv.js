// TV: one match after another in one page, so that it can fill the screen all day.

import { hideResults } from "./results.js";
import { start } from "./player.js";

const REST_MS = 7000; // the result stays in view this long
const EMPTY_MS = 5000;
const LONGEST_MS = 20 * 60_000; // a reader who steps by hand is not pulled away sooner
const LOOK_MS = 10_000; // between two looks for a match that begins
const LIVE_MS = 4000; // between the notice that one has begun and the match
const REPLAY_SECONDS = 60; // longer replays play faster
const tv = document.getElementById("tv");
let timer = 0;

function nextAfter(pause, text) {
  clearTimeout(timer);
  timer = setTimeout(goOn, pause);
  const says = document.getElementById("tv-says");
  if (says && text) says.textContent = text;
}

async function goOn() {
  clearTimeout(timer);
  if (document.hidden) {
    nextAfter(EMPTY_MS);
    return;
  }
  try {
    const answer = await fetch(`/tv?seen=${tv.dataset.past}`, { cache: "no-store" });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = fresh.getElementById("tv");
    if (!found) throw new Error("no page");
    const old = tv.querySelector("[data-player]");
    old?.endLive?.();
    old?.player?.stop();
    // The step of the old match would stop the new one there.
    history.replaceState(null, "", location.pathname + location.search);
    hideResults();
    const focused = document.activeElement?.dataset?.tv;
    tv.replaceChildren(...found.childNodes);
    tv.dataset.past = found.dataset.past;
    tv.dataset.page = found.dataset.page;
    begin();
    if (focused) tv.querySelector(`[data-tv=${focused}]`)?.focus();
  } catch {
    nextAfter(EMPTY_MS, "The server is away. This page tries again.");
  }
}

function begin() {
  const root = tv.querySelector("[data-player]");
  if (!root) {
    nextAfter(EMPTY_MS);
    return;
  }
  tv.querySelector("[data-tv=next]").addEventListener("click", goOn);
  const fill = tv.querySelector("[data-tv=fill]");
  fill.hidden = !document.fullscreenEnabled;
  fill.addEventListener("click", () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else tv.requestFullscreen();
  });
  root.addEventListener("peck-end", () => nextAfter(REST_MS, "The next match comes in some seconds."), { once: true });
  for (const end of ["peck-next", "peck-gone"]) root.addEventListener(end, () => nextAfter(REST_MS / 4), { once: true });
  nextAfter(LONGEST_MS);
  start(root).then(() => root.dataset.liveFrames || root.player?.finishWithin(REPLAY_SECONDS));
}

// While a replay plays: goes on to a match that begins.
async function lookForLive() {
  setTimeout(lookForLive, LOOK_MS);
  const root = tv.querySelector("[data-player]");
  if (document.hidden || root?.dataset.liveFrames || !root?.player?.playing) return;
  try {
    const answer = await fetch(`/tv?live=true&seen=${tv.dataset.past}`, { cache: "no-store" });
    if (answer.status === 200) nextAfter(LIVE_MS, "A match has begun. It comes in some seconds.");
  } catch {
    // the server is away: the replay plays on
  }
}

begin();
setTimeout(lookForLive, LOOK_MS);
