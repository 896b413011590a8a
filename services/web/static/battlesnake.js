// Battlesnake: frames with what to tell of each snake, and the board. Rows count upwards.

import { svg } from "./dom.js";
import { FAULTS, lastStep, records } from "./frames.js";
import { CELL, Grid, snakeFace } from "./grid.js";

const GONE_FIRST = ["out-of-health", "wall-collision", "hazard"];
const ENDS = {
  "out-of-health": "starved",
  hazard: "stayed in the hazard",
  "wall-collision": "hit the wall",
  "snake-self-collision": "bit itself",
};

const same = ([ax, ay], [bx, by]) => ax === bx && ay === by;

// How a snake that is out came to its end, from the frame in which it went.
function cause(frames, seat, snake, names) {
  if (ENDS[snake.cause]) return ENDS[snake.cause];
  const frame = frames[snake.eliminated_on];
  const head = frame.snakes[seat].body[0];
  const there = (other) => frames[snake.eliminated_on - 1].snakes[other].cause === null
    && !GONE_FIRST.includes(frame.snakes[other].cause);
  const other = frame.snakes.findIndex((one, place) => {
    if (place === seat || !there(place)) return false;
    if (snake.cause === "head-collision") return same(one.body[0], head);
    return one.body.slice(1).some((cell) => same(cell, head));
  });
  if (other < 0) return "ran into another";
  return snake.cause === "head-collision" ? `met ${names[other]} head-on` : `ran into ${names[other]}`;
}

function doing(snake, record) {
  if (record.fault) return `${FAULTS[record.fault]}: on as before`;
  return record.move ? `heading ${record.move}` : "";
}

export function read(episode, names) {
  const told = records(episode);
  const last = lastStep(episode);
  const frames = episode.frames.map((frame, step) => ({
    ...frame,
    seats: frame.snakes.map((snake, seat) => {
      const out = snake.cause !== null;
      const length = snake.body.length;
      return {
        value: length,
        out,
        status: out ? `out at step ${snake.eliminated_on}` : step === last ? "survived" : "alive",
        how: out
          ? cause(episode.frames, seat, snake, names)
          : step === last ? "" : doing(snake, told[step][seat]),
        told: out ? "out" : `length ${length}, health ${snake.health}`,
        charged: told[step][seat].charged,
        gauge: { text: out ? "–" : String(snake.health), value: out ? 0 : snake.health, max: 100 },
      };
    }),
  }));
  const ends = episode.frames.at(-1).snakes.map((snake) => snake.eliminated_on);
  const open = episode.configuration.ruleset.startsWith("wrapped");
  return { seats: episode.seats, frames, ends, open, eats: true };
}

export class Board {
  constructor(root, replay) {
    const { width, height } = replay.frames[0];
    this.grid = new Grid(root, width, height, { up: true });
    root.classList.toggle("open", replay.open);
  }

  draw(frame) {
    const { grid } = this;
    const nodes = frame.hazards.map((cell) => {
      const [x, y] = grid.centre(cell);
      return svg("rect", { class: "hazard", x: x - CELL / 2, y: y - CELL / 2, width: CELL, height: CELL });
    });
    frame.snakes.forEach((snake, seat) => {
      if (snake.eliminated_on === frame.turn) nodes.push(grid.ghost("snake", seat, snake.body));
    });
    for (const cell of frame.food) nodes.push(grid.fruit(cell));
    frame.snakes.forEach((snake, seat) => {
      if (snake.cause === null) nodes.push(grid.creature("snake", seat, snake.body, snakeFace(), -90));
    });
    grid.show(nodes);
  }
}
