// What the owner's agent printed in the step in view. The log is fetched when it is first opened.

import { find } from "./dom.js";

export class StepLog {
  constructor(root, position) {
    this.root = root;
    this.position = position;
    this.moves = null;
    this.step = 0;
    root.addEventListener("toggle", () => this.open());
  }

  async open() {
    if (!this.root.open || this.moves) return this.fill();
    try {
      const answer = await fetch(this.root.dataset.log);
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const log = await answer.json();
      const mine = log.moves.filter((move) => (move.episode ?? 0) === this.position);
      this.moves = new Map(mine.map((move) => [move.step, move]));
    } catch (error) {
      find(this.root, "pre").textContent = `The log could not be read: ${error.message}.`;
    }
    this.fill();
  }

  show(step) {
    this.step = step;
    this.fill();
  }

  fill() {
    if (!this.root.open || !this.moves) return;
    const move = this.moves.get(this.step);
    const said = move ? [move.stdout, move.stderr].filter(Boolean).join("\n") : "";
    const silent = move ? "It printed nothing in this step." : "It was not asked in this step.";
    find(this.root, "pre").textContent = said || silent;
  }
}
