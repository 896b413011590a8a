// The player of games without a script of their own: draws frames in the format of
// games/frames.py (board, tokens, text, seats). A frame in no format is shown as JSON.

import { svg } from "./dom.js";
import { FAULTS, bankGauge, lastStep, records } from "./frames.js";
import { CELL, Grid } from "./grid.js";

const RESULTS = { 1: "first" };

function moveText(move) {
  const text = typeof move === "string" ? move : JSON.stringify(move);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function textOf(frame) {
  if (frame.text !== undefined || frame.board) return frame.text ?? "";
  return JSON.stringify(frame, null, 1);
}

export function read(episode) {
  const told = records(episode);
  const last = lastStep(episode);
  const frames = episode.frames.map((frame, step) => {
    const seats = told[step].map(({ move, fault, charged, bank }, seat) => {
      const { value = 0, note = "", out = false } = frame.seats?.[seat] ?? {};
      const place = step === last ? episode.placements[seat] : null;
      const doing = fault ? FAULTS[fault] : move === null ? "" : `played ${moveText(move)}`;
      return {
        value,
        out,
        status: place ? RESULTS[place] ?? `place ${place}` : doing,
        how: place ? doing : note,
        told: `${value}${note ? `, ${note}` : ""}`,
        charged,
        gauge: bankGauge(bank, told[0][seat].bank),
      };
    });
    return { ...frame, shown: textOf(frame), seats };
  });
  return { seats: episode.seats, frames, ends: Array(episode.seats).fill(null), eats: false };
}

const INSIDE = CELL - 10;

export class Board {
  constructor(root, replay) {
    const { board } = replay.frames[0];
    this.text = root.parentElement.querySelector(".frame-text");
    this.text.hidden = false;
    root.classList.toggle("open", Boolean(board?.wraps));
    if (board) this.grid = new Grid(root, board.columns, board.rows);
    else root.classList.add("empty-board");
  }

  draw(frame) {
    this.text.textContent = frame.shown;
    this.grid?.show((frame.tokens ?? []).map((token) => this.token(token)));
  }

  token({ shape = "disc", cell, cells, seat, text }) {
    const kind = seat === undefined || seat === null ? "nobody" : `seat-${seat % 16}`;
    if (shape === "body") return this.grid.creature("token", seat ?? 0, cells, []);
    const drawn = this.shape(shape, cell, kind);
    if (!text) return drawn;
    const [x, y] = this.grid.centre(cell);
    const label = svg("text", { class: `label on-${shape}`, x, y, "text-anchor": "middle", dy: "0.36em" });
    label.textContent = text;
    return svg("g", {}, drawn, label);
  }

  shape(shape, cell, kind) {
    const [x, y] = this.grid.centre(cell);
    const square = (side, looks) =>
      svg("rect", { ...looks, x: x - side / 2, y: y - side / 2, width: side, height: side, rx: 3 });
    if (shape === "food") return this.grid.fruit(cell);
    if (shape === "cross") return this.grid.cross(cell);
    if (shape === "wall") return square(CELL, { class: "wall" });
    if (shape === "hazard") return square(CELL, { class: "hazard" });
    if (shape === "square") return square(INSIDE, { class: `cell ${kind}` });
    if (shape === "ring") return svg("circle", { class: `born ${kind}`, cx: x, cy: y, r: INSIDE / 2 - 2 });
    return svg("circle", { class: `cell ${kind}`, cx: x, cy: y, r: INSIDE / 2 });
  }
}
