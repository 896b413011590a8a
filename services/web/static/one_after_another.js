// One match after another in one part of a page: TV, which can fill the screen all day, and home.
// <div id="tv" data-goes-on="/tv" data-past="MATCH.MATCH"> gets the next one from that address.

import { hideResults } from "./results.js";
import { start } from "./player.js";

const REST_MS = 7000; // the result stays in view this long
const EMPTY_MS = 5000;
const LONGEST_MS = 20 * 60_000; // a reader who steps by hand is not pulled away sooner
const LOOK_MS = 10_000; // between two looks for a match that begins
const LIVE_MS = 4000; // between the notice that one has begun and the match
const REPLAY_SECONDS = 60; // longer replays play faster
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const box = document.querySelector("[data-goes-on]");
const isTv = box.id === "tv";
let timer = 0;

function nextAfter(pause, text) {
  clearTimeout(timer);
  timer = setTimeout(goOn, pause);
  const says = document.getElementById("shows-says");
  if (says && text) says.textContent = text;
}

async function goOn() {
  clearTimeout(timer);
  if (document.hidden) {
    nextAfter(EMPTY_MS);
    return;
  }
  try {
    const answer = await fetch(`${box.dataset.goesOn}?seen=${box.dataset.past}`, { cache: "no-store" });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = fresh.getElementById(box.id);
    if (!found) throw new Error("no page");
    const old = box.querySelector("[data-player]");
    old?.endLive?.();
    old?.player?.stop();
    hideResults();
    const focused = document.activeElement?.dataset?.tv;
    box.replaceChildren(...found.childNodes);
    box.dataset.past = found.dataset.past;
    box.dataset.page = found.dataset.page;
    begin();
    if (focused) box.querySelector(`[data-tv=${focused}]`)?.focus();
  } catch {
    nextAfter(EMPTY_MS, "The server is away. This page tries again.");
  }
}

// The result stays in view for a while. A reader who went back to another step stays there.
function rest(root) {
  if (!isTv && STILL.matches) return;
  nextAfter(REST_MS, "The next match comes in some seconds.");
  const wait = timer;
  root.addEventListener("peck-step", () => timer === wait && nextAfter(LONGEST_MS, " "), { once: true });
}

function begin() {
  const root = box.querySelector("[data-player]");
  if (!root) {
    nextAfter(EMPTY_MS);
    return;
  }
  box.querySelector("[data-tv=next]")?.addEventListener("click", goOn);
  const fill = box.querySelector("[data-tv=fill]");
  if (fill) {
    fill.hidden = !document.fullscreenEnabled;
    fill.addEventListener("click", () => {
      if (document.fullscreenElement) document.exitFullscreen();
      else box.requestFullscreen();
    });
  }
  root.addEventListener("peck-end", () => rest(root));
  for (const end of ["peck-next", "peck-gone"]) root.addEventListener(end, () => nextAfter(REST_MS / 4), { once: true });
  root.addEventListener("peck-over", () => {
    const chip = box.querySelector("[data-tv=live]");
    chip?.classList.remove("accent");
    if (chip) chip.textContent = "just played";
    if (!root.player?.follows) root.player?.finishWithin(REPLAY_SECONDS);
  });
  if (isTv) nextAfter(LONGEST_MS);
  start(root).then(() => root.dataset.liveFrames || root.player?.finishWithin(REPLAY_SECONDS));
}

// While a replay plays: goes on to a match that begins.
async function lookForLive() {
  setTimeout(lookForLive, LOOK_MS);
  const root = box.querySelector("[data-player]");
  if (document.hidden || root?.dataset.liveFrames || !root?.player?.playing) return;
  try {
    const answer = await fetch(`${box.dataset.goesOn}?live=true&seen=${box.dataset.past}`, { cache: "no-store" });
    if (answer.status === 200) nextAfter(LIVE_MS, "A match has begun. It comes in some seconds.");
  } catch {
    // the server is away: the replay plays on
  }
}

begin();
if (isTv) setTimeout(lookForLive, LOOK_MS);
