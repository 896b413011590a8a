// A Kaggle episode of Hungry Geese as frames that can be drawn. Pure: no document here.
//
// frame = { step, geese, food, seats: [{ length, status, action, charged, bank, reward, out }] }
// `out` is null while the goose lives, else { step, how }.

const MOVES = { NORTH: [-1, 0], EAST: [0, 1], SOUTH: [1, 0], WEST: [0, -1] };
const OPPOSITE = { NORTH: "SOUTH", SOUTH: "NORTH", EAST: "WEST", WEST: "EAST" };
const FAULTS = {
  ERROR: "its program failed",
  INVALID: "its answer was no move",
  TIMEOUT: "it ran out of time",
};

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

export function readEpisode(episode, names) {
  const steps = episode.steps.length;
  const seats = episode.steps[0].length;
  const peck = episode.info?.Peck ?? {};
  const frames = [];
  const outs = Array(seats).fill(null);
  for (let step = 0; step < steps; step += 1) {
    const records = episode.steps[step];
    const shared = records[0].observation;
    const frame = { step, geese: shared.geese, food: shared.food, seats: [] };
    const before = frames[step - 1];
    for (let seat = 0; seat < seats; seat += 1) {
      const record = records[seat];
      if (before && !outs[seat] && frame.geese[seat].length === 0) {
        outs[seat] = { step, how: cause(episode, step, seat, before, frame, names) };
      }
      const overage = record.observation.remainingOverageTime;
      frame.seats.push({
        length: frame.geese[seat].length,
        status: record.status,
        action: step > 0 && before.geese[seat].length > 0 ? record.action : null,
        reward: record.reward,
        charged: timing(peck.charged_seconds, step, seat, steps),
        bank: timing(peck.bank_seconds, step, seat, steps) ?? overage ?? null,
        out: outs[seat],
      });
    }
    frames.push(frame);
  }
  const { rows, columns } = episode.configuration;
  return { rows, columns, seats, frames, ends: outs };
}
