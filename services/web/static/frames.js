// What the frames documents of all games have in common. Pure: no document of the page here.

export const FAULTS = {
  ERROR: "its program failed",
  INVALID: "its answer was no move",
  TIMEOUT: "it ran out of time",
};
export const WORDS = { ERROR: "failed", INVALID: "invalid move", TIMEOUT: "timed out" };

// The number of the frame after which the episode was over; Infinity while it is being played.
export function lastStep(episode) {
  return episode.placements ? episode.frames.length - 1 : Infinity;
}

// For each frame and seat what its step had: { move, fault, charged, bank }. A seat that was not
// asked has neither move nor fault; its bank is what it was.
export function records(episode) {
  const banks = Array(episode.seats).fill(episode.clock.bank_seconds ?? null);
  const seats = [...banks.keys()];
  const found = [seats.map((seat) => ({ move: null, fault: null, charged: null, bank: banks[seat] }))];
  for (const step of episode.steps) {
    found.push(
      seats.map((seat) => {
        banks[seat] = step.bank_seconds[seat] ?? banks[seat];
        const { moves, faults, charged_seconds: charged } = step;
        return { move: moves[seat], fault: faults[seat], charged: charged[seat], bank: banks[seat] };
      }),
    );
  }
  return found;
}

// The bank as the gauge of a seat.
export function bankGauge(bank, first) {
  if (bank === null) return null;
  return { text: `${bank.toFixed(1)} s`, value: bank, max: first > 0 ? first : 60 };
}
