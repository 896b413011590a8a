// Draws one frame of Hungry Geese as SVG. The board is a torus: a body that leaves at one edge is
// drawn up to that edge and goes on from the opposite one.

import { svg } from "./dom.js";

const CELL = 40;

export class Pond {
  constructor(root, rows, columns) {
    this.root = root;
    this.rows = rows;
    this.columns = columns;
    const width = columns * CELL;
    const height = rows * CELL;
    root.setAttribute("viewBox", `-3 -3 ${width + 6} ${height + 6}`);
    const clip = svg("clipPath", { id: "pond-clip" }, svg("rect", { width, height, rx: 6 }));
    const tiles = svg("g", { class: "tiles" });
    for (let cell = 0; cell < rows * columns; cell += 1) {
      const row = Math.floor(cell / columns);
      const column = cell % columns;
      if ((row + column) % 2) {
        const place = { x: column * CELL, y: row * CELL, width: CELL, height: CELL };
        tiles.append(svg("rect", place));
      }
    }
    this.layer = svg("g");
    const inside = svg("g", { "clip-path": "url(#pond-clip)" });
    inside.append(svg("rect", { class: "water", width, height }), tiles, this.layer);
    const edge = { class: "edge", x: -1, y: -1, width: width + 2, height: height + 2, rx: 7 };
    root.replaceChildren(svg("defs", {}, clip), inside, svg("rect", edge));
  }

  centre(cell) {
    const row = Math.floor(cell / this.columns);
    return [((cell % this.columns) + 0.5) * CELL, (row + 0.5) * CELL];
  }

  // One step from `from` to the neighbour `to`, each part -1, 0 or 1, across an edge if need be.
  direction(from, to) {
    const fold = (difference, size) => {
      if (size > 1 && difference === size - 1) return -1;
      if (size > 1 && difference === 1 - size) return 1;
      return difference;
    };
    const rows = Math.floor(to / this.columns) - Math.floor(from / this.columns);
    const columns = (to % this.columns) - (from % this.columns);
    return [fold(columns, this.columns), fold(rows, this.rows)];
  }

  // Path through a body's cells, from tail to head.
  path(body) {
    const cells = [...body].reverse();
    const [x, y] = this.centre(cells[0]);
    const parts = [`M${x} ${y}h.01`];
    for (let index = 1; index < cells.length; index += 1) {
      const [ax, ay] = this.centre(cells[index - 1]);
      const [bx, by] = this.centre(cells[index]);
      const [dx, dy] = this.direction(cells[index - 1], cells[index]);
      const straight = ax + dx * CELL === bx && ay + dy * CELL === by;
      if (!straight) {
        parts.push(`L${ax + dx * CELL} ${ay + dy * CELL}M${bx - dx * CELL} ${by - dy * CELL}`);
      }
      parts.push(`L${bx} ${by}`);
    }
    return parts.join("");
  }

  goose(seat, body, action, ghost) {
    const group = svg("g", { class: `goose seat-${seat}${ghost ? " ghost" : ""}` });
    const path = this.path(body);
    group.append(svg("path", { class: "outline", d: path }), svg("path", { class: "body", d: path }));
    group.append(svg("path", { class: "stripe", d: path }));
    const [x, y] = this.centre(body[0]);
    if (ghost) {
      const cross = `M${x - 9} ${y - 9}l18 18M${x + 9} ${y - 9}l-18 18`;
      group.append(svg("path", { class: "cross", d: cross }));
      return group;
    }
    const turns = { NORTH: -90, EAST: 0, SOUTH: 90, WEST: 180 };
    let angle = turns[action] ?? 0;
    if (body.length > 1) {
      const [dx, dy] = this.direction(body[1], body[0]);
      angle = (Math.atan2(dy, dx) * 180) / Math.PI;
    }
    const head = svg("g", { transform: `translate(${x} ${y}) rotate(${angle})` });
    head.append(
      svg("path", { class: "beak", d: "M12 -7L23.5 0L12 7z" }),
      svg("circle", { class: "skull", r: 16 }),
      svg("circle", { class: "eye", cx: 5, cy: -7.5, r: 4.4 }),
      svg("circle", { class: "eye", cx: 5, cy: 7.5, r: 4.4 }),
      svg("circle", { class: "pupil", cx: 6.6, cy: -7.5, r: 2.1 }),
      svg("circle", { class: "pupil", cx: 6.6, cy: 7.5, r: 2.1 }),
    );
    group.append(head);
    return group;
  }

  draw(frame, before) {
    const nodes = [];
    frame.geese.forEach((body, seat) => {
      if (body.length === 0 && before?.geese[seat].length) {
        nodes.push(this.goose(seat, before.geese[seat], null, true));
      }
    });
    for (const cell of frame.food) {
      const [x, y] = this.centre(cell);
      const food = svg("g", { class: "food", transform: `translate(${x} ${y})` });
      food.append(
        svg("path", { class: "stem", d: "M0 -8C1 -13 5 -15 9 -14C8 -10 5 -8 0 -8z" }),
        svg("circle", { class: "berry", r: 9.5, cy: 1.5 }),
        svg("circle", { class: "shine", r: 2.6, cx: -3.2, cy: -1.6 }),
      );
      nodes.push(food);
    }
    frame.geese.forEach((body, seat) => {
      if (body.length) nodes.push(this.goose(seat, body, frame.seats[seat].action, false));
    });
    this.layer.replaceChildren(...nodes);
  }
}
