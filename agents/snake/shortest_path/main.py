"""Takes the shortest path to the apple if it could still reach its own tail from there.

Otherwise it follows its tail at a distance. A move takes a millisecond. It needs no libraries.
"""

from collections import deque

OFFSETS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def neighbours(cell, size):
    x, y = cell
    for move, (right, down) in OFFSETS.items():
        u, v = x + right, y + down
        if 0 <= u < size[0] and 0 <= v < size[1]:
            yield move, (u, v)


def way(start, goal, taken, size):
    """The moves of a shortest path over free cells, or None; the goal itself may be taken."""
    came = {start: None}
    queue = deque([start])
    while queue:
        cell = queue.popleft()
        for move, near in neighbours(cell, size):
            if near == goal:
                moves, at = [move], cell
                while came[at]:
                    step, at = came[at]
                    moves.append(step)
                return moves[::-1]
            if near not in came and near not in taken:
                came[near] = (move, cell)
                queue.append(near)
    return None


def follow(snake, moves):
    """The snake after these moves; it eats on the last one."""
    snake = list(snake)
    for move in moves:
        right, down = OFFSETS[move]
        snake = [(snake[0][0] + right, snake[0][1] + down), *snake]
    return snake[: len(snake) - len(moves) + 1]


def agent(observation, configuration):
    size = observation["width"], observation["height"]
    snake, apple = list(map(tuple, observation["snake"])), tuple(observation["apple"])
    moves = way(snake[0], apple, set(snake), size)
    if moves:
        there = follow(snake, moves)
        if len(there) == size[0] * size[1] or way(there[0], there[-1], set(there), size):
            return moves[0]

    def safety(option):
        """Sort key: paths that keep the tail in reach first, then longer paths."""
        _, cell = option
        after = [cell, *snake[:-1]]
        back = way(cell, after[-1], set(after), size)
        return len(back) if back else -1

    free = [option for option in neighbours(snake[0], size) if option[1] not in snake]
    return max(free, key=safety)[0]
