// Many games at once on one timeline: each [data-board] is a small board with the values of its
// seats. A game that is over keeps its last position.

import { find } from "./dom.js";

const STEPS_PER_SECOND = 5;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

class SmallBoard {
  constructor(root, replay, board) {
    Object.assign(this, { root, replay, board });
    this.last = replay.frames.length - 1;
    this.values = [...root.querySelectorAll("[data-seat]")];
  }

  show(step) {
    const at = Math.min(step, this.last);
    if (String(at) === this.root.dataset.step) return;
    const frame = this.replay.frames[at];
    this.root.dataset.step = String(at);
    this.board.draw(frame, this.replay.frames[at - 1]);
    for (const value of this.values) {
      const now = frame.seats[Number(value.dataset.seat)];
      find(value, "b").textContent = String(now.value);
      value.classList.toggle("out", now.out);
      value.title = now.status;
    }
    find(this.root, ".at").textContent = at < this.last ? `step ${at}` : `over at step ${at}`;
  }
}

async function load(root) {
  const [answer, game] = await Promise.all([
    fetch(root.dataset.episode, { cache: "no-cache" }),
    import(`./${root.dataset.game}.js`),
  ]);
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const names = [...root.querySelectorAll("[data-seat]")].map((seat) => seat.dataset.name);
  const replay = game.read(await answer.json(), names);
  const board = new SmallBoard(root, replay, new game.Board(find(root, ".arena"), replay));
  root.dataset.ready = "true";
  return board;
}

class Timeline {
  constructor(root) {
    this.root = root;
    this.boards = [];
    this.timer = 0;
    this.step = Number(root.dataset.start ?? 0);
    this.scrub = find(root, "input[type=range]");
    this.speed = find(root, "[data-choose=speed]");
    this.playButton = find(root, "[data-do=play]");
    const deeds = {
      first: () => this.visit(Number(root.dataset.start ?? 0)),
      back: () => this.visit(this.step - 1),
      play: () => (this.timer ? this.pause() : this.play()),
      forward: () => this.visit(this.step + 1),
      last: () => this.visit(this.last),
    };
    for (const [name, deed] of Object.entries(deeds)) {
      find(root, `[data-do=${name}]`).addEventListener("click", deed);
    }
    this.scrub.addEventListener("input", () => this.visit(Number(this.scrub.value)));
    this.speed.addEventListener("change", () => this.timer && this.play());
  }

  get last() {
    return Math.max(0, ...this.boards.map((board) => board.last));
  }

  add(board) {
    this.boards.push(board);
    this.scrub.max = String(this.last);
    find(this.root, ".step-last").textContent = String(this.last);
    board.show(this.step);
    this.show(this.step);
  }

  visit(step) {
    this.pause();
    this.show(step);
  }

  show(step) {
    this.step = Math.min(this.last, Math.max(0, step));
    this.root.dataset.step = String(this.step);
    this.scrub.value = String(this.step);
    find(this.root, ".step-now").textContent = String(this.step);
    for (const board of this.boards) board.show(this.step);
  }

  play() {
    clearInterval(this.timer);
    if (this.step >= this.last) this.show(Number(this.root.dataset.start ?? 0));
    this.timer = setInterval(() => {
      this.show(this.step + 1);
      if (this.step >= this.last) this.pause();
    }, 1000 / (STEPS_PER_SECOND * Number(this.speed.value)));
    this.reflect();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.reflect();
  }

  reflect() {
    this.root.dataset.playing = String(this.timer !== 0);
    this.playButton.setAttribute("aria-label", this.timer ? "Pause" : "Play");
  }
}

async function start(root) {
  const timeline = new Timeline(root);
  const loads = [...root.querySelectorAll("[data-board]")].map(async (one) => {
    try {
      timeline.add(await load(one));
    } catch (error) {
      find(one, ".at").textContent = `not shown: ${error.message}`;
    }
  });
  await Promise.all(loads);
  root.dataset.ready = "true";
  if (!STILL.matches && timeline.boards.length) timeline.play();
}

for (const root of document.querySelectorAll("[data-boards]")) start(root);
