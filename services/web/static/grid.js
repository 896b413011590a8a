// A board of square cells as SVG, and the bodies that lie on it. Cells are [column, row]; rows count
// downwards, or upwards from the bottom where `up` is set. Bodies may leave at one edge and come in
// at the opposite one: they are drawn up to the edge and go on from there.

import { svg } from "./dom.js";

export const CELL = 40;

export class Grid {
  constructor(root, columns, rows, { up = false } = {}) {
    this.root = root;
    this.columns = columns;
    this.rows = rows;
    this.up = up;
    const width = columns * CELL;
    const height = rows * CELL;
    root.setAttribute("viewBox", `-3 -3 ${width + 6} ${height + 6}`);
    const clip = svg("clipPath", { id: "arena-clip" }, svg("rect", { width, height, rx: 6 }));
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
    const inside = svg("g", { "clip-path": "url(#arena-clip)" });
    inside.append(svg("rect", { class: "ground", width, height }), tiles, this.layer);
    const edge = { class: "edge", x: -1, y: -1, width: width + 2, height: height + 2, rx: 7 };
    root.replaceChildren(svg("defs", {}, clip), inside, svg("rect", edge));
  }

  show(nodes) {
    this.layer.replaceChildren(...nodes);
  }

  centre([column, row]) {
    const down = this.up ? this.rows - 1 - row : row;
    return [(column + 0.5) * CELL, (down + 0.5) * CELL];
  }

  has([column, row]) {
    return column >= 0 && column < this.columns && row >= 0 && row < this.rows;
  }

  // One step on the screen from `from` to its neighbour `to`, each part -1, 0 or 1, across an edge
  // if need be.
  direction(from, to) {
    const fold = (difference, size) => {
      if (size > 2 && difference === size - 1) return -1;
      if (size > 2 && difference === 1 - size) return 1;
      return difference;
    };
    const rows = fold(to[1] - from[1], this.rows);
    return [fold(to[0] - from[0], this.columns), this.up ? -rows : rows];
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

  // A body with its stripe; what is drawn at its head looks to the right before it is turned.
  creature(kind, seat, body, face, angle = 0) {
    const path = this.path(body);
    const group = svg("g", { class: `${kind} creature seat-${seat}` });
    for (const part of ["outline", "body", "stripe"]) {
      group.append(svg("path", { class: part, d: path }));
    }
    const [x, y] = this.centre(body[0]);
    let turned = angle;
    if (body.length > 1 && String(body[0]) !== String(body[1])) {
      const [dx, dy] = this.direction(body[1], body[0]);
      turned = (Math.atan2(dy, dx) * 180) / Math.PI;
    }
    group.append(svg("g", { transform: `translate(${x} ${y}) rotate(${turned})` }, ...face));
    return group;
  }

  // A body that has just gone, with a cross where its head was last on the board.
  ghost(kind, seat, body) {
    const path = this.path(body);
    const group = svg("g", { class: `${kind} creature seat-${seat} ghost` });
    for (const part of ["outline", "body", "stripe"]) {
      group.append(svg("path", { class: part, d: path }));
    }
    group.append(this.cross(body.find((cell) => this.has(cell))));
    return group;
  }

  cross(cell) {
    const [x, y] = this.centre(cell);
    return svg("path", { class: "cross", d: `M${x - 9} ${y - 9}l18 18M${x + 9} ${y - 9}l-18 18` });
  }

  fruit(cell) {
    const [x, y] = this.centre(cell);
    return svg(
      "g",
      { class: "food", transform: `translate(${x} ${y})` },
      svg("path", { class: "stem", d: "M0 -8C1 -13 5 -15 9 -14C8 -10 5 -8 0 -8z" }),
      svg("circle", { class: "berry", r: 9.5, cy: 1.5 }),
      svg("circle", { class: "shine", r: 2.6, cx: -3.2, cy: -1.6 }),
    );
  }
}

const eyes = () => [
  svg("circle", { class: "skull", r: 16 }),
  svg("circle", { class: "eye", cx: 5, cy: -7.5, r: 4.4 }),
  svg("circle", { class: "eye", cx: 5, cy: 7.5, r: 4.4 }),
  svg("circle", { class: "pupil", cx: 6.6, cy: -7.5, r: 2.1 }),
  svg("circle", { class: "pupil", cx: 6.6, cy: 7.5, r: 2.1 }),
];

export const gooseFace = () => [svg("path", { class: "beak", d: "M12 -7L23.5 0L12 7z" }), ...eyes()];
export const snakeFace = () => [svg("path", { class: "tongue", d: "M14 0H21M21 0L25 -3M21 0L25 3" }), ...eyes()];
