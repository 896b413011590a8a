// Draws one frame of Hungry Geese: a torus whose cells are counted row by row.

import { Grid, gooseFace } from "./grid.js";

const TURNS = { NORTH: -90, EAST: 0, SOUTH: 90, WEST: 180 };

export class Board {
  constructor(root, replay) {
    this.columns = replay.columns;
    this.grid = new Grid(root, replay.columns, replay.rows);
  }

  cells(body) {
    return body.map((cell) => [cell % this.columns, Math.floor(cell / this.columns)]);
  }

  draw(frame, before) {
    const nodes = [];
    frame.geese.forEach((body, seat) => {
      if (body.length === 0 && before?.geese[seat].length) {
        nodes.push(this.grid.ghost("goose", seat, this.cells(before.geese[seat])));
      }
    });
    for (const cell of this.cells(frame.food)) nodes.push(this.grid.fruit(cell));
    frame.geese.forEach((body, seat) => {
      if (!body.length) return;
      const angle = TURNS[frame.seats[seat].action] ?? 0;
      nodes.push(this.grid.creature("goose", seat, this.cells(body), gooseFace(), angle));
    });
    this.grid.show(nodes);
  }
}
