// What mattered in a replay: [{ step, kind, seat, text }] in order of the steps. Pure.
//
// "out": a seat is out. "lead": another seat than before has the most. "food": a seat grew, in games
// whose replay says `eats`.

const KINDS = { matters: ["out", "lead"], out: ["out"], lead: ["lead"], food: ["food"] };

// The seat that has more than every other seat; null if seats share the most.
function leader(seats) {
  const values = seats.map((one) => (one.out ? -1 : one.value));
  const most = Math.max(...values);
  return values.filter((value) => value === most).length === 1 ? values.indexOf(most) : null;
}

export function momentsOf(replay, names) {
  const found = [];
  let leads = null;
  replay.frames.forEach((frame, step) => {
    const before = replay.frames[step - 1];
    if (!before) return;
    frame.seats.forEach((now, seat) => {
      const was = before.seats[seat];
      if (now.out && !was.out) {
        found.push({ step, kind: "out", seat, text: `${names[seat]} is out${now.how ? `: ${now.how}` : ""}` });
      } else if (replay.eats && !now.out && now.value > was.value) {
        found.push({ step, kind: "food", seat, text: `${names[seat]} eats` });
      }
    });
    const first = frame.seats.length > 1 ? leader(frame.seats) : null;
    if (first === null || first === leads) return;
    if (leads !== null) found.push({ step, kind: "lead", seat: first, text: `${names[first]} takes the lead` });
    leads = first;
  });
  return found;
}

// The step of the nearest moment of this choice after `step`, or before it where `by` is -1.
export function nearest(moments, choice, step, by) {
  const steps = moments.filter((one) => KINDS[choice].includes(one.kind)).map((one) => one.step);
  if (by > 0) return steps.find((one) => one > step) ?? null;
  return steps.findLast((one) => one < step) ?? null;
}
