// A Kaggle episode of Hungry Geese as frames that can be drawn. Pure: no document here.
//
// frame = { step, geese, food, seats: [{ value, out, status, how, told, action, charged, gauge }] }

import { FAULTS, WORDS, bankGauge } from "./frames.js";

export { Board } from "./pond.js";

const MOVES = { NORTH: [-1, 0], EAST: [0, 1], SOUTH: [1, 0], WEST: [0, -1] };
const OPPOSITE = { NORTH: "SOUTH", SOUTH: "NORTH", EAST: "WEST", WEST: "EAST" };
function neighbour(cell, action, rows, columns) {
  const [down, right] = MOVES[action] ?? [0, 0];
  const row = (Math.floor(cell / columns) + down + rows) % rows;
  const column = ((cell % columns) + right + columns) % columns;
  return row * columns + column;
}

// How a goose that lives in `before` and is gone in `after` came to its end.
function cause(episode, step, seat, before, after, names) {
  const { rows, columns, hunger_rate: hunger } = episode.configuration;
  const record = episode.steps[step][seat];
  if (FAULTS[record.status]) return FAULTS[record.status];
  const previous = step > 1 ? episode.steps[step - 1][seat].action : null;
  if (previous && OPPOSITE[record.action] === previous) return "turned back on itself";
  const body = before.geese[seat];
  const head = neighbour(body[0], record.action, rows, columns);
  const ate = before.food.includes(head);
  const rest = ate ? body : body.slice(0, -1);
  if (rest.includes(head)) return "bit itself";
  if (hunger && step % hunger === 0 && rest.length === 0) return "starved";
  for (let other = 0; other < before.geese.length; other += 1) {
    if (other === seat || before.geese[other].length === 0) continue;
    const action = episode.steps[step][other].action;
    const theirs = neighbour(before.geese[other][0], action, rows, columns);
    if (theirs === head) return `met ${names[other]} head-on`;
    if (after.geese[other].includes(head) || before.geese[other].slice(0, -1).includes(head)) {
      return `ran into ${names[other]}`;
    }
  }
  return "collided";
}

function timing(table, step, seat, steps) {
  if (!Array.isArray(table)) return null;
  const row = table.length === steps ? table[step] : table[step - 1];
  return row?.[seat] ?? null;
}

// What a goose's card says in words; `out` is null while it lives, else { step, how }.
function words(record, action, length, out, isLast) {
  if (out) {
    const status = `${WORDS[record.status] ?? "out"} at step ${out.step}`;
    return { status, how: out.how, told: "out" };
  }
  const how = action ? `heading ${action.toLowerCase()}` : "";
  return { status: isLast ? "survived" : "alive", how, told: `length ${length}` };
}

export function read(episode, names) {
  const steps = episode.steps.length;
  const seats = episode.steps[0].length;
  const peck = episode.info?.Peck ?? {};
  const frames = [];
  const outs = Array(seats).fill(null);
  const banks = Array(seats).fill(null);
  for (let step = 0; step < steps; step += 1) {
    const records = episode.steps[step];
    const shared = records[0].observation;
    const frame = { step, geese: shared.geese, food: shared.food, seats: [] };
    const before = frames[step - 1];
    for (let seat = 0; seat < seats; seat += 1) {
      const record = records[seat];
      const length = frame.geese[seat].length;
      if (before && !outs[seat] && length === 0) {
        outs[seat] = { step, how: cause(episode, step, seat, before, frame, names) };
      }
      const action = step > 0 && before.geese[seat].length > 0 ? record.action : null;
      const overage = record.observation.remainingOverageTime;
      const bank = timing(peck.bank_seconds, step, seat, steps) ?? overage ?? null;
      if (step === 0) banks[seat] = bank;
      frame.seats.push({
        value: length,
        out: Boolean(outs[seat]),
        ...words(record, action, length, outs[seat], step === steps - 1),
        action,
        charged: timing(peck.charged_seconds, step, seat, steps),
        gauge: bankGauge(bank, banks[seat]),
      });
    }
    frames.push(frame);
  }
  const { rows, columns } = episode.configuration;
  return { rows, columns, seats, frames, ends: outs.map((out) => out && out.step) };
}
