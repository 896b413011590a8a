// Game of Life and Death: frames with what to tell of each player, and the board. Player 0's cells
// are squares and player 1's discs, so that colour is not the only sign.

import { svg } from "./dom.js";
import { FAULTS, bankGauge, lastStep, records } from "./frames.js";
import { CELL, Grid } from "./grid.js";

const INERT = ["ERROR", "TIMEOUT"];

const count = (frame, letter) => frame.field.join("").split(letter).length - 1;

function result(counts, seat) {
  if (Boolean(counts[0]) === Boolean(counts[1])) return "drew";
  return counts[seat] ? "won" : "lost";
}

export function read(episode) {
  const told = records(episode);
  const last = lastStep(episode);
  const latest = ["", ""];
  const frames = episode.frames.map((frame, step) => {
    const counts = [count(frame, "0"), count(frame, "1")];
    const mover = step > 0 ? episode.frames[step - 1].to_move : null;
    const seats = counts.map((cells, seat) => {
      const { move, fault, charged, bank } = told[step][seat];
      if (mover === seat) {
        latest[seat] = fault
          ? `${FAULTS[fault]}${INERT.includes(fault) ? ", it passes from now on" : ": a pass"}`
          : `last move ${move}`;
      }
      const status = step === last ? result(counts, seat) : frame.to_move === seat ? "to move" : "waits";
      return {
        value: cells,
        out: cells === 0,
        status: step === last ? status : `${status}, round ${frame.round}`,
        how: latest[seat],
        told: `${cells} cells`,
        charged,
        gauge: bankGauge(bank, told[0][seat].bank),
      };
    });
    const move = mover === null ? null : told[step][mover].move;
    return { ...frame, seats, marks: marks(move, mover) };
  });
  return { seats: 2, frames, ends: [null, null] };
}

// What a move touched: [{ kind: "gone" | "born", cell, seat }].
function marks(move, seat) {
  const [word, ...places] = (move ?? "pass").split(" ");
  return places.map((place, index) => {
    const cell = place.split(",").map(Number);
    return { kind: word === "birth" && index === 0 ? "born" : "gone", cell, seat };
  });
}

export class Board {
  constructor(root, replay) {
    const { width, height } = replay.frames[0];
    this.grid = new Grid(root, width, height);
  }

  draw(frame) {
    const nodes = [];
    frame.field.forEach((row, y) => [...row].forEach((owner, x) => {
      if (owner !== ".") nodes.push(this.cell(owner, [x, y]));
    }));
    for (const { kind, cell, seat } of frame.marks) {
      const [x, y] = this.grid.centre(cell);
      nodes.push(
        kind === "born"
          ? svg("circle", { class: `born seat-${seat}`, cx: x, cy: y, r: 17 })
          : this.grid.cross(cell),
      );
    }
    this.grid.show(nodes);
  }

  cell(owner, place) {
    const [x, y] = this.grid.centre(place);
    const looks = { class: `cell seat-${owner}` };
    if (owner === "1") return svg("circle", { ...looks, cx: x, cy: y, r: 14 });
    const side = CELL - 14;
    return svg("rect", { ...looks, x: x - side / 2, y: y - side / 2, width: side, height: side, rx: 4 });
  }
}
