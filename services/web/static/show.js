// A show: scenes of a tournament on a screen. Keys or a clock move it, and it follows other screens
// with the same address. Parts are replaced in the page, so that it can fill the screen.

import { start } from "./player.js";

const LOOK_MS = 2000; // how often the page looks where the show is
const REST_MS = 5000; // the end of a replay stays in view this long
const LONGEST_REPLAY_MS = 20 * 60_000;
const KEYS = { PageDown: "next", PageUp: "back", r: "result", e: "round" };
const show = document.getElementById("show");
let clock = 0;
let isMoving = false;

function take(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("show");
  if (!fresh) throw new Error("no page");
  show.querySelector("[data-player]")?.player?.stop();
  const focused = document.activeElement?.closest("#show button");
  const value = focused?.value;
  show.replaceChildren(...fresh.childNodes);
  for (const name of ["scene", "kind"]) show.dataset[name] = fresh.dataset[name];
  if (value) show.querySelector(`button[value=${value}]`)?.focus();
  begin();
}

async function fetchPage(address, options = {}) {
  const answer = await fetch(address, { cache: "no-store", ...options });
  if (answer.status === 204) return;
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  take(await answer.text());
}

function say(text) {
  const says = document.getElementById("show-says");
  if (says) says.textContent = text;
}

async function move(go) {
  if (isMoving) return;
  isMoving = true;
  const form = show.querySelector("form");
  const body = new URLSearchParams(new FormData(form));
  body.set("go", go);
  try {
    await fetchPage(form.action, { method: "POST", body });
  } catch {
    say("The server is away, or this address has ended.");
    if (show.dataset.seconds) wait(REST_MS);
  } finally {
    isMoving = false;
  }
}

async function look() {
  if (!document.hidden && !isMoving) {
    try {
      await fetchPage(`${location.pathname}?was=${show.dataset.scene}`);
    } catch {
      say("The server is away, or this address has ended.");
    }
  }
  setTimeout(look, LOOK_MS);
}

function wait(pause) {
  clearTimeout(clock);
  clock = setTimeout(() => move("next"), pause);
}

function begin() {
  const fill = show.querySelector("[data-show=fill]");
  fill.hidden = !document.fullscreenEnabled;
  fill.addEventListener("click", () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen();
  });
  show.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    move(event.submitter?.value || "next");
  });
  const root = show.querySelector("[data-player]");
  if (root) start(root);
  clearTimeout(clock);
  if (!show.dataset.seconds) return;
  if (root) {
    root.addEventListener("peck-end", () => wait(REST_MS), { once: true });
    wait(LONGEST_REPLAY_MS);
  } else {
    wait(1000 * Number(show.dataset.seconds));
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("select, input:not([type=range])")) return;
  const go = KEYS[event.key];
  if (!go) return;
  event.preventDefault();
  move(go);
});

begin();
setTimeout(look, LOOK_MS);
