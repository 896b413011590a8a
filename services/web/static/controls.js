// The controls of a player: its buttons, the keyboard, gestures, and links to a step.

import { find } from "./dom.js";
import { addGestures } from "./gestures.js";

// Listens until ``signal`` is aborted.
export function addControls(player, signal) {
  const { root } = player;
  const deeds = {
    play: () => player.toggle(),
    first: () => player.visit(0),
    back: () => player.visit(player.step - 1),
    forward: () => player.visit(player.step + 1),
    last: () => player.visit(player.last),
    before: () => player.jump(-1),
    after: () => player.jump(1),
    fill: () => fillScreen(root),
  };
  for (const [name, deed] of Object.entries(deeds)) {
    find(root, `[data-do=${name}]`).addEventListener("click", deed);
  }
  find(root, "[data-do=fill]").hidden = !document.fullscreenEnabled;
  player.scrub.addEventListener("input", () => player.visit(Number(player.scrub.value)));
  player.speed.addEventListener("change", () => player.playing && player.play());
  addGestures(find(root, ".arena"), {
    toggle: () => player.toggle(),
    visitFrom: (step) => player.visit(step),
    stepNow: () => player.step,
  });
  player.liveButton?.addEventListener("click", () => player.goLive());
  document.addEventListener("keydown", (event) => obeyKey(player, event), { signal });
  addEventListener("hashchange", () => player.followLink(), { signal });
  document.addEventListener("click", (event) => {
    if (event.target.closest('a[href^="#step="]')) player.bringIntoView();
  }, { signal });
  addEventListener("peck-results", () => player.reveal(), { signal });
}

function obeyKey(player, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (target.closest("input:not([type=range]), textarea, select, [contenteditable]")) return;
  if (event.key === " " && target.closest("button, a, summary")) return;
  const far = event.shiftKey ? 10 : 1;
  const deeds = {
    " ": () => player.toggle(),
    ArrowLeft: () => player.visit(player.step - far),
    ArrowRight: () => player.visit(player.step + far),
    Home: () => player.visit(0),
    End: () => player.visit(player.last),
    "+": () => player.faster(1),
    "=": () => player.faster(1),
    "-": () => player.faster(-1),
    n: () => player.jump(1),
    p: () => player.jump(-1),
    f: () => fillScreen(player.root),
    l: () => player.liveButton && player.goLive(),
  };
  const deed = deeds[event.key];
  if (!deed) return;
  event.preventDefault();
  deed();
}

function fillScreen(root) {
  if (document.fullscreenElement) document.exitFullscreen();
  else if (document.fullscreenEnabled) root.requestFullscreen();
}
