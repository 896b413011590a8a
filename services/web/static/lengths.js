// What each seat has (length, cells) over the episode, as a chart one can click to go to a step.
// It shows the episode up to a step, so that it does not tell the end before.

import { svg } from "./dom.js";

const WIDTH = 1000;
const HEIGHT = 100;

export class Lengths {
  constructor(root, seek) {
    this.root = root;
    root.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    root.setAttribute("preserveAspectRatio", "none");
    this.seen = svg("rect", { height: HEIGHT, width: 0 });
    this.lines = svg("g", { "clip-path": "url(#lengths-seen)" });
    this.playhead = svg("line", { class: "playhead", y1: 0, y2: HEIGHT });
    const clip = svg("clipPath", { id: "lengths-seen" }, this.seen);
    root.replaceChildren(svg("defs", {}, clip), this.lines, this.playhead);

    const go = (event) => {
      const box = root.getBoundingClientRect();
      const part = (event.clientX - box.left) / box.width;
      seek(Math.round(Math.min(1, Math.max(0, part)) * this.last));
    };
    root.addEventListener("pointerdown", (event) => {
      root.setPointerCapture(event.pointerId);
      go(event);
    });
    root.addEventListener("pointermove", (event) => {
      if (root.hasPointerCapture(event.pointerId)) go(event);
    });
  }

  draw(replay, moments) {
    this.last = Math.max(1, replay.frames.length - 1);
    const longest = Math.max(
      2,
      ...replay.frames.flatMap((frame) => frame.seats.map((seat) => seat.value)),
    );
    const y = (length) => HEIGHT - 4 - (length / longest) * (HEIGHT - 10);
    const parts = [];
    for (let seat = 0; seat < replay.seats; seat += 1) {
      const end = replay.ends[seat] ?? this.last;
      const points = [];
      for (let step = 0; step <= Math.min(end, replay.frames.length - 1); step += 1) {
        const length = replay.frames[step].seats[seat].value;
        if (step > 0) points.push(`${this.x(step)},${y(replay.frames[step - 1].seats[seat].value)}`);
        points.push(`${this.x(step)},${y(length)}`);
      }
      parts.push(svg("polyline", { class: `seat-${seat}`, points: points.join(" ") }));
    }
    for (const { step, kind, seat } of moments) {
      if (kind === "food") continue;
      const x = this.x(step);
      parts.push(svg("line", { class: `moment ${kind} seat-${seat}`, x1: x, x2: x, y1: 0, y2: 16 }));
    }
    this.lines.replaceChildren(...parts);
  }

  x(step) {
    return (step / this.last) * WIDTH;
  }

  // The place of the playhead, and the step up to which the lines are shown.
  mark(step, seen) {
    this.playhead.setAttribute("x1", this.x(step));
    this.playhead.setAttribute("x2", this.x(step));
    this.seen.setAttribute("width", this.x(seen) + 2);
  }
}
