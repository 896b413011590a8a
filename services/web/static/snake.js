// Snake for one: frames with what to tell of it, and the board.

import { FAULTS, WORDS, bankGauge, lastStep, records } from "./frames.js";
import { Grid, snakeFace } from "./grid.js";

function ending(episode, frame) {
  const verdict = episode.verdicts[0];
  if (WORDS[verdict]) return [WORDS[verdict], FAULTS[verdict]];
  if (frame.snake.length === frame.width * frame.height) return ["won", "the board is full"];
  if (frame.step >= episode.configuration.maxSteps) return ["stopped", "the last step came"];
  return ["trapped", "no free cell was left beside its head"];
}

export function read(episode) {
  const told = records(episode);
  const last = lastStep(episode);
  const frames = episode.frames.map((frame, step) => {
    const { move, charged, bank } = told[step][0];
    const [status, how] = step === last
      ? ending(episode, frame)
      : ["alive", move ? `heading ${move}` : ""];
    const length = frame.snake.length;
    const gauge = bankGauge(bank, told[0][0].bank);
    const seat = { value: length, out: false, status, how, told: `length ${length}`, charged, gauge };
    return { ...frame, seats: [seat] };
  });
  return { seats: 1, frames, ends: [null], eats: true };
}

export class Board {
  constructor(root, replay) {
    const { width, height } = replay.frames[0];
    this.grid = new Grid(root, width, height);
  }

  draw(frame) {
    const nodes = frame.apple ? [this.grid.fruit(frame.apple)] : [];
    nodes.push(this.grid.creature("snake", 0, frame.snake, snakeFace(), 90));
    this.grid.show(nodes);
  }
}
