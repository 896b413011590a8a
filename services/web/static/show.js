// A show: scenes of a tournament on a screen. Keys or a clock move it, and it follows other screens
// with the same address. Parts are replaced in the page, so that it can fill the screen.

import { start } from "./player.js";

const LOOK_MS = 2000; // how often the page looks where the show is
const REST_MS = 5000; // the end of a replay stays in view this long
const LONGEST_REPLAY_MS = 20 * 60_000;
const CONTROLS_MS = 4000; // buttons and key hints stay visible this long after a move of the mouse
const KEYS = { PageDown: "next", PageUp: "back", r: "result", e: "round" };
const show = document.getElementById("show");
let clock = 0;
let isMoving = false;
let rest = 0;

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
  showControls();
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
  show.querySelector("form").addEventListener("click", (event) => {
    // After a click with the mouse the focus would keep the buttons in view. Keys have no detail.
    if (event.detail) document.activeElement?.blur();
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

// Hides buttons and key hints from the audience. They stay while one of them has the focus.
function showControls() {
  show.classList.remove("resting");
  clearTimeout(rest);
  rest = setTimeout(() => show.classList.add("resting"), CONTROLS_MS);
}

document.addEventListener("pointermove", (event) => {
  // A browser may report a mouse that rests while the page changes under it.
  if (event.movementX || event.movementY) showControls();
});
document.addEventListener("pointerdown", showControls);
document.addEventListener("focusin", showControls);

document.addEventListener("keydown", (event) => {
  if (!KEYS[event.key]) showControls();
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("select, input:not([type=range])")) return;
  const go = KEYS[event.key];
  if (!go) return;
  event.preventDefault();
  move(go);
});

begin();
showControls();
setTimeout(look, LOOK_MS);
