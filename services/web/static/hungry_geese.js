// The frames of Hungry Geese with what to tell of each goose. Pure: no document here.

import { FAULTS, WORDS, bankGauge, lastStep, records } from "./frames.js";

export { Board } from "./pond.js";

const MOVES = { NORTH: [-1, 0], EAST: [0, 1], SOUTH: [1, 0], WEST: [0, -1] };
const ENDS = { reversed: "turned back on itself", "bit itself": "bit itself", starved: "starved" };

function neighbour(cell, action, rows, columns) {
  const [down, right] = MOVES[action] ?? [0, 0];
  const row = (Math.floor(cell / columns) + down + rows) % rows;
  const column = ((cell % columns) + right + columns) % columns;
  return row * columns + column;
}

// How a goose that lives in `before` and is gone in `after` came to its end.
function cause(episode, moves, seat, before, after, names) {
  const { rows, columns } = episode.configuration;
  const { move, fault } = moves[seat];
  if (fault) return FAULTS[fault];
  if (ENDS[after.endings[seat]]) return ENDS[after.endings[seat]];
  const head = neighbour(before.geese[seat][0], move, rows, columns);
  for (let other = 0; other < before.geese.length; other += 1) {
    if (other === seat || before.geese[other].length === 0) continue;
    const theirs = neighbour(before.geese[other][0], moves[other].move, rows, columns);
    if (theirs === head) return `met ${names[other]} head-on`;
    if (after.geese[other].includes(head) || before.geese[other].slice(0, -1).includes(head)) {
      return `ran into ${names[other]}`;
    }
  }
  return "collided";
}

// What a goose's card says in words; `out` is null while it lives, else { step, how, fault }.
function words(move, length, out, isLast) {
  if (out) {
    return { status: `${WORDS[out.fault] ?? "out"} at step ${out.step}`, how: out.how, told: "out" };
  }
  const told = `length ${length}`;
  if (isLast) return { status: "survived", how: "", told, decides: told };
  return { status: "alive", how: move ? `heading ${move.toLowerCase()}` : "", told };
}

export function read(episode, names) {
  const told = records(episode);
  const last = lastStep(episode);
  const outs = Array(episode.seats).fill(null);
  const frames = episode.frames.map((frame, step) => {
    const before = episode.frames[step - 1];
    const seats = frame.geese.map((body, seat) => {
      const { move, fault, charged, bank } = told[step][seat];
      if (before && !outs[seat] && body.length === 0) {
        const how = cause(episode, told[step], seat, before, frame, names);
        outs[seat] = { step, how, fault };
      }
      return {
        value: body.length,
        out: Boolean(outs[seat]),
        ...words(move, body.length, outs[seat], step === last),
        action: move,
        charged,
        gauge: bankGauge(bank, told[0][seat].bank),
      };
    });
    return { ...frame, seats };
  });
  const { rows, columns } = episode.configuration;
  const ends = outs.map((out) => out && out.step);
  return { rows, columns, seats: episode.seats, frames, ends, eats: true };
}
