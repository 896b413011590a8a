// What each seat has (length, cells) over the episode, as a chart one can click to go to a step.

import { svg } from "./dom.js";

const WIDTH = 1000;
const HEIGHT = 100;

export class Lengths {
  constructor(root, replay, seek) {
    this.root = root;
    this.last = Math.max(1, replay.frames.length - 1);
    const longest = Math.max(
      2,
      ...replay.frames.flatMap((frame) => frame.seats.map((seat) => seat.value)),
    );
    const x = (step) => (step / this.last) * WIDTH;
    const y = (length) => HEIGHT - 4 - (length / longest) * (HEIGHT - 10);
    root.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    root.setAttribute("preserveAspectRatio", "none");
    const lines = [];
    for (let seat = 0; seat < replay.seats; seat += 1) {
      const end = replay.ends[seat] ?? this.last;
      const points = [];
      for (let step = 0; step <= Math.min(end, this.last); step += 1) {
        const length = replay.frames[step].seats[seat].value;
        if (step > 0) points.push(`${x(step)},${y(replay.frames[step - 1].seats[seat].value)}`);
        points.push(`${x(step)},${y(length)}`);
      }
      lines.push(svg("polyline", { class: `seat-${seat}`, points: points.join(" ") }));
    }
    this.playhead = svg("line", { class: "playhead", y1: 0, y2: HEIGHT });
    root.replaceChildren(...lines, this.playhead);

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

  mark(step) {
    const x = (step / this.last) * WIDTH;
    this.playhead.setAttribute("x1", x);
    this.playhead.setAttribute("x2", x);
  }
}
