"""Monte Carlo tree search with simultaneous moves, over a small copy of the rules.

In each node every snake picks its move by its own UCB (decoupled UCT). The value of a leaf depends
on the cells each snake reaches first, on length and on hunger. A move takes SIMULATIONS
simulations, or as many as fit in BUDGET_SECONDS. It needs no libraries.
"""

import math
import random
import time

SIMULATIONS = 250
BUDGET_SECONDS = 0.15
EXPLORATION = 0.5
DEPTH = 14
NEAR = 7
TAKEN = 1 << 30
FEAR = 0.35
NAMES = ("up", "down", "left", "right")
STEPS = ((0, 1), (0, -1), (-1, 0), (1, 0))


class Board:
    """The facts that stay constant in a turn: neighbours, hazards and the snakes to consider."""

    def __init__(self, observation):
        board, game = observation["board"], observation["game"]
        self.width, self.height = board["width"], board["height"]
        ruleset = game["ruleset"]["name"]
        self.wraps = ruleset.startswith("wrapped")
        self.constrictor = ruleset.endswith("constrictor")
        self.alone = len(board["snakes"]) == 1
        self.lengths = [snake["length"] for snake in board["snakes"]]
        self.damage = game["ruleset"]["settings"]["hazardDamagePerTurn"]
        self.hazards = {self.cell(point) for point in board["hazards"]}
        self.next = [
            [self.neighbour(cell, *step) for step in STEPS]
            for cell in range(self.width * self.height)
        ]
        self.near = [[one for one in cells if one is not None] for cells in self.next]

    def cell(self, point):
        return point["y"] * self.width + point["x"]

    def neighbour(self, cell, right, up):
        x, y = cell % self.width + right, cell // self.width + up
        if self.wraps:
            x, y = x % self.width, y % self.height
        return y * self.width + x if 0 <= x < self.width and 0 <= y < self.height else None

    def distance(self, one, other):
        width, height = self.width, self.height
        right, up = abs(one % width - other % width), abs(one // width - other // width)
        if self.wraps:
            right, up = min(right, width - right), min(up, height - up)
        return right + up

    def options(self, bodies, seat):
        """Moves that hit no wall and no body that stays; some move if there is none."""
        walls = set()
        for body in bodies:
            walls.update(body[:-1])
        ways = self.next[bodies[seat][0]]
        good = [move for move, cell in enumerate(ways) if cell is not None and cell not in walls]
        return good or [0]

    def advance(self, bodies, health, food, moves):
        """The board after a turn by the rules of the game, without new food; dead snakes become
        ``()``."""
        bodies, health = list(bodies), list(health)
        eaten = set()
        for seat, move in moves.items():
            body = bodies[seat]
            head = self.next[body[0]][move]
            if head is None:
                bodies[seat] = ()
                continue
            body, left = (head, *body[:-1]), health[seat] - 1
            if head in food:
                eaten.add(head)
                body, left = (*body, body[-1]), 100
            elif head in self.hazards:
                left = min(100, left - self.damage)
            if self.constrictor:
                left = 100
                if len(body) > 1 and body[-1] != body[-2]:
                    body = (*body, body[-1])
            bodies[seat], health[seat] = body if left > 0 else (), left
        tails = [set(body[1:]) for body in bodies]
        lost = []
        for seat in moves:
            body = bodies[seat]
            if not body:
                continue
            head = body[0]
            for other, tail in enumerate(tails):
                if head in tail:
                    lost.append(seat)
                    break
                rival = bodies[other]
                if other != seat and rival and rival[0] == head and len(rival) >= len(body):
                    lost.append(seat)
                    break
        for seat in lost:
            bodies[seat] = ()
        return bodies, health, food - eaten if eaten else food

    def judge(self, bodies, health, food, died, now):
        """The value of the position for each snake, from 0 to 1; for dead snakes by their time of
        death."""
        alive = [seat for seat, body in enumerate(bodies) if body]
        values = [0.0] * len(bodies)
        for seat, when in died.items():
            values[seat] = 0.12 * (when - now) / DEPTH
        if not alive:
            return values
        if len(alive) == 1 and not self.alone:
            values[alive[0]] = 1.0
            return values
        # The turn from which each cell is free; later, a value that marks a cell as reached.
        free_from = [0] * len(self.near)
        for body in bodies:
            for left, cell in enumerate(reversed(body), 1):
                free_from[cell] = left
        reach, bite = [0] * len(bodies), [None] * len(bodies)
        # Longer snakes come first, because they win a cell that two reach at once.
        heads = sorted(alive, key=lambda seat: -len(bodies[seat]))
        frontiers = [(seat, [bodies[seat][0]]) for seat in heads]
        for _, (head,) in frontiers:
            free_from[head] = TAKEN
        turns, near_of = 0, self.near
        while frontiers:
            turns += 1
            following = []
            for seat, cells in frontiers:
                grown = []
                for cell in cells:
                    for near in near_of[cell]:
                        if free_from[near] <= turns:
                            free_from[near] = TAKEN
                            grown.append(near)
                if grown:
                    reach[seat] += len(grown)
                    if bite[seat] is None and not food.isdisjoint(grown):
                        bite[seat] = turns
                    following.append((seat, grown))
            frontiers = following
        total = sum(reach) or 1
        lengths = [len(body) for body in bodies]
        for seat in alive:
            longest = max((lengths[other] for other in alive if other != seat), default=0)
            ahead = lengths[seat] / (lengths[seat] + longest)
            # Eaten food counts more than near food; otherwise the snake would wait beside it.
            eaten = min(4, lengths[seat] - self.lengths[seat])
            fed = min(1.0, health[seat] / 40)
            if bite[seat] is not None:
                fed = max(fed, 0.9) if bite[seat] < health[seat] else 0.2
            near_food = 0.0 if bite[seat] is None else 0.9 ** bite[seat]
            values[seat] = (
                0.10
                + 0.12 * min(1.0, reach[seat] / lengths[seat])
                + 0.20 * reach[seat] / total
                + 0.15 * ahead
                + (0.06 if lengths[seat] <= longest + 2 else 0.01) * eaten
                + 0.08 * fed
                + 0.05 * near_food
                + 0.05 / len(alive)
            )
        return values


class Node:
    """The statistics of one position: for each snake its moves, visits and sums of values.

    Distant snakes get one random move, so that the tree grows deep where it matters.
    """

    __slots__ = ("children", "choices", "sums", "total", "visits")

    def __init__(self, board, bodies, focus):
        self.choices = {}
        for seat, body in enumerate(bodies):
            if body:
                moves = board.options(bodies, seat)
                self.choices[seat] = moves if seat in focus else [random.choice(moves)]
        self.visits = {seat: [0] * len(moves) for seat, moves in self.choices.items()}
        self.sums = {seat: [0.0] * len(moves) for seat, moves in self.choices.items()}
        self.total = 0
        self.children = {}

    def pick(self):
        """For each snake, the index of the move with the highest UCB."""
        picked = {}
        log = math.log(self.total + 1)
        for seat, visits in self.visits.items():
            sums = self.sums[seat]
            best, best_value = 0, -1.0
            for index, count in enumerate(visits):
                if not count:
                    best = index
                    break
                value = sums[index] / count + EXPLORATION * math.sqrt(log / count)
                if value > best_value:
                    best, best_value = index, value
            picked[seat] = best
        return picked


def simulate(board, root, bodies, health, food, focus):
    """Descend the tree to a new node, then add its value to all nodes on the path."""
    node, path, died, depth = root, [], {}, 0
    enough = 0 if board.alone else 1
    while True:
        picked = node.pick()
        path.append((node, picked))
        moves = {seat: node.choices[seat][index] for seat, index in picked.items()}
        depth += 1
        before = bodies
        bodies, health, food = board.advance(bodies, health, food, moves)
        for seat, body in enumerate(before):
            if body and not bodies[seat]:
                died[seat] = depth
        alive = sum(1 for body in bodies if body)
        key = tuple(moves.values())
        child = node.children.get(key)
        if child is None or alive <= enough or depth >= DEPTH:
            if child is None and alive > enough:
                node.children[key] = Node(board, bodies, focus)
            break
        node = child
    values = board.judge(bodies, health, food, died, 0)
    for node, picked in path:
        node.total += 1
        for seat, index in picked.items():
            node.visits[seat][index] += 1
            node.sums[seat][index] += values[seat]


def agent(observation, configuration):
    """The most visited move after all simulations, less a penalty for a possible head collision."""
    until = time.perf_counter() + BUDGET_SECONDS
    board = Board(observation)
    snakes = observation["board"]["snakes"]
    bodies = [tuple(board.cell(part) for part in snake["body"]) for snake in snakes]
    health = [snake["health"] for snake in snakes]
    food = frozenset(board.cell(point) for point in observation["board"]["food"])
    mine = [snake["id"] for snake in snakes].index(observation["you"]["id"])
    focus = {
        seat for seat, body in enumerate(bodies) if board.distance(body[0], bodies[mine][0]) <= NEAR
    }
    root = Node(board, bodies, focus)
    if len(root.choices[mine]) > 1:
        for _ in range(SIMULATIONS):
            simulate(board, root, bodies, health, food, focus)
            if time.perf_counter() > until:
                break
    moves, visits = root.choices[mine], root.visits[mine]
    feared = {
        cell
        for seat, body in enumerate(bodies)
        if seat != mine and len(body) >= len(bodies[mine])
        for cell in board.near[body[0]]
    }
    # In the tree a rival moves at random. In a real head collision it may choose well.
    doubts = [FEAR * (board.next[bodies[mine][0]][move] in feared) for move in moves]
    total = sum(visits) or 1
    shares = [count / total - doubt for count, doubt in zip(visits, doubts, strict=True)]
    return NAMES[moves[shares.index(max(shares))]]
