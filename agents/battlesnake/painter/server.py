"""Weights each cell, then grows a tree of paths and takes the best one. A server for API version 1.

The idea comes from tournament snakes of 2017. Food gets a high weight; cells near the head of a
longer snake get a low one. Paths grow breadth-first, and each level drops its worst two fifths. The
server listens on PORT. It needs no libraries.
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
DEPTH = 10
KEPT = 0.6
FADE = 0.92
"""Each further step on a path multiplies the value of a cell by this factor."""
LOOKS = {"apiversion": "1", "author": "peck", "color": "#d55e00", "head": "default"}


def cell_of(point):
    return point["x"], point["y"]


class Canvas:
    """The board with a weight for each cell."""

    def __init__(self, request):
        board, self.you = request["board"], request["you"]
        self.width, self.height = board["width"], board["height"]
        self.wraps = request["game"]["ruleset"]["name"].startswith("wrapped")
        self.free_from = {}
        for snake in board["snakes"]:
            for place, part in enumerate(snake["body"]):
                cell, leaves = cell_of(part), len(snake["body"]) - place
                self.free_from[cell] = max(leaves, self.free_from.get(cell, 0))
        self.paint(request, board)

    def paint(self, request, board):
        self.weights = weights = {}
        for x in range(self.width):
            for y in range(self.height):
                at_edge = (x in (0, self.width - 1)) + (y in (0, self.height - 1))
                weights[x, y] = 2.0 - (0 if self.wraps else 0.6 * at_edge)
        length, health = self.you["length"], self.you["health"]
        longest = max((one["length"] for one in others(request)), default=0)
        hunger = 4 + (100 - health) / 8 + (6 if length <= longest + 1 else 0)
        for point in board["food"]:
            middle = cell_of(point)
            weights[middle] += hunger
            for x, y in weights:
                far = abs(x - middle[0]) + abs(y - middle[1])
                if 0 < far < 8:
                    weights[x, y] += hunger * 0.08 * (8 - far) / 8
        damage = request["game"]["ruleset"]["settings"]["hazardDamagePerTurn"]
        for point in board["hazards"]:
            weights[cell_of(point)] -= damage / 4
        for other in others(request):
            for near in self.around(cell_of(other["head"])):
                weights[near] += 3 if other["length"] < length else -25
                for further in self.around(near):
                    weights[further] += 0.3 if other["length"] < length else -1.5

    def around(self, cell):
        return [near for _, near in self.ways(cell)]

    def ways(self, cell):
        """The moves from a cell and the cells they lead to, without moves off the board."""
        for move, (right, up) in STEPS.items():
            x, y = cell[0] + right, cell[1] + up
            if self.wraps:
                x, y = x % self.width, y % self.height
            if (x, y) in self.weights:
                yield move, (x, y)


def others(request):
    own = request["you"]["id"]
    return [snake for snake in request["board"]["snakes"] if snake["id"] != own]


def decide(request):
    """The first move of the best path; a path that ends early ranks below all that continue."""
    canvas = Canvas(request)
    # A path: the value of its cells, its first move, and its cells.
    level = [(0.0, None, (cell_of(canvas.you["head"]),))]
    best = "up"
    for depth in range(1, DEPTH + 1):
        grown = []
        fade = FADE**depth
        for worth, first, cells in level:
            for move, cell in canvas.ways(cells[-1]):
                if canvas.free_from.get(cell, 0) <= depth and cell not in cells:
                    total = worth + fade * canvas.weights[cell]
                    grown.append((total, first or move, (*cells, cell)))
        if not grown:
            break
        grown.sort(key=lambda path: path[0], reverse=True)
        best = grown[0][1]
        level = grown[: max(1, round(len(grown) * KEPT))] if len(grown) > 3 else grown
    return best


class Handler(BaseHTTPRequestHandler):
    """``GET /`` returns the appearance, ``POST /move`` a move, /start and /end nothing."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(LOOKS)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer({"move": decide(request)} if self.path == "/move" else {})

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        """Turns off the log line for each request."""


if __name__ == "__main__":
    port = int(os.environ.get("PORT", "8000"))
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
