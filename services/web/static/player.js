// The replay player. Its frame is in parts/player.html; this wires it to the module of the game,
// which has `read` (the episode as frames, pure) and `Board` (draws a frame):
// replay = { seats, frames: [{ seats: [seat], ... }], ends: [step or null] }
// seat = { value, out, status, how, told, charged, gauge: { text, value, max } or null }

import { find } from "./dom.js";
import { Lengths } from "./lengths.js";

const STEPS_PER_SECOND = 5;

class Player {
  constructor(root, replay, board, names) {
    this.root = root;
    this.replay = replay;
    this.names = names;
    this.last = replay.frames.length - 1;
    this.step = -1;
    this.timer = 0;
    this.board = board;
    this.lengths = new Lengths(find(root, ".lengths"), replay, (step) => this.visit(step));
    this.scrub = find(root, "input[type=range]");
    this.scrub.max = String(this.last);
    this.speed = find(root, "select");
    this.playButton = find(root, "[data-do=play]");
    this.rows = [...root.querySelectorAll("[data-seat]")];
    find(root, ".step-last").textContent = String(this.last);

    const deeds = {
      play: () => this.toggle(),
      first: () => this.visit(0),
      back: () => this.visit(this.step - 1),
      forward: () => this.visit(this.step + 1),
      last: () => this.visit(this.last),
    };
    for (const [name, deed] of Object.entries(deeds)) {
      find(root, `[data-do=${name}]`).addEventListener("click", deed);
    }
    this.scrub.addEventListener("input", () => this.visit(Number(this.scrub.value)));
    this.speed.addEventListener("change", () => this.playing && this.play());
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => this.followLink());
    if (!this.followLink()) this.show(0);
  }

  get playing() {
    return this.timer !== 0;
  }

  followLink() {
    const found = /^#step=(\d+)$/.exec(location.hash);
    if (!found) return false;
    this.pause();
    this.show(Number(found[1]));
    return true;
  }

  // Going somewhere by hand: stops playing and keeps the address in step.
  visit(step) {
    this.pause();
    this.show(step);
    this.note();
  }

  note() {
    clearTimeout(this.noting);
    this.noting = setTimeout(() => {
      const address = this.step ? `#step=${this.step}` : location.pathname + location.search;
      history.replaceState(null, "", address);
    }, 120);
  }

  toggle() {
    if (this.playing) {
      this.pause();
      this.note();
    } else {
      if (this.step >= this.last) this.show(0);
      this.play();
    }
  }

  play() {
    clearInterval(this.timer);
    const pause = 1000 / (STEPS_PER_SECOND * Number(this.speed.value));
    this.timer = setInterval(() => {
      this.show(this.step + 1);
      if (this.step >= this.last) {
        this.pause();
        this.note();
      }
    }, pause);
    this.reflect();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.reflect();
  }

  reflect() {
    this.root.dataset.playing = String(this.playing);
    this.playButton.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    find(this.root, ".counter").setAttribute("aria-live", this.playing ? "off" : "polite");
  }

  faster(by) {
    const next = this.speed.selectedIndex + by;
    if (next < 0 || next >= this.speed.options.length) return;
    this.speed.selectedIndex = next;
    if (this.playing) this.play();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (target.closest("input:not([type=range]), textarea, select, [contenteditable]")) return;
    if (event.key === " " && target.closest("button, a, summary")) return;
    const far = event.shiftKey ? 10 : 1;
    const deeds = {
      " ": () => this.toggle(),
      ArrowLeft: () => this.visit(this.step - far),
      ArrowRight: () => this.visit(this.step + far),
      Home: () => this.visit(0),
      End: () => this.visit(this.last),
      "+": () => this.faster(1),
      "=": () => this.faster(1),
      "-": () => this.faster(-1),
    };
    const deed = deeds[event.key];
    if (!deed) return;
    event.preventDefault();
    deed();
  }

  show(step) {
    const wanted = Math.min(this.last, Math.max(0, step));
    if (wanted === this.step) return;
    this.step = wanted;
    const frame = this.replay.frames[wanted];
    this.board.draw(frame, this.replay.frames[wanted - 1]);
    this.lengths.mark(wanted);
    this.root.dataset.step = String(wanted);
    this.scrub.value = String(wanted);
    this.scrub.setAttribute("aria-valuetext", `step ${wanted} of ${this.last}`);
    find(this.root, ".step-now").textContent = String(wanted);
    const told = [];
    for (const row of this.rows) {
      const seat = Number(row.dataset.seat);
      const now = frame.seats[seat];
      told.push(`${this.names[seat]} ${now.told}`);
      this.fill(row, now);
    }
    find(this.root, ".arena").setAttribute("aria-label", `Step ${wanted}. ${told.join(", ")}.`);
  }

  fill(row, now) {
    row.classList.toggle("out", now.out);
    find(row, ".status").textContent = now.status;
    find(row, ".how").textContent = now.how;
    find(row, ".value").textContent = String(now.value);
    find(row, ".charged").textContent = now.charged === null ? "–" : seconds(now.charged);
    find(row, ".gauge").textContent = now.gauge?.text ?? "–";
    const meter = find(row, "meter");
    meter.max = now.gauge?.max ?? 1;
    meter.low = meter.max / 4;
    meter.value = Math.max(0, now.gauge?.value ?? 0);
  }
}

function seconds(value) {
  if (value > 0 && value < 0.0001) return "<0.1 ms";
  return value < 1 ? `${(value * 1000).toFixed(value < 0.01 ? 1 : 0)} ms` : `${value.toFixed(2)} s`;
}

async function start(root) {
  const state = find(root, ".loading");
  try {
    const answer = await fetch(root.dataset.episode);
    const game = await import(`./${root.dataset.game}.js`);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const episode = await answer.json();
    const rows = [...root.querySelectorAll("[data-seat]")];
    const names = rows.map((row) => row.dataset.name);
    const replay = game.read(episode, names);
    root.player = new Player(root, replay, new game.Board(find(root, ".arena"), replay), names);
    state.hidden = true;
    root.dataset.ready = "true";
  } catch (error) {
    state.textContent = `The replay could not be shown: ${error.message}. Download it below.`;
    state.classList.add("bad");
  }
}

for (const root of document.querySelectorAll("[data-player]")) start(root);
