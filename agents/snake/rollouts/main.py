"""Cycle repair with rollouts: it takes the best of several repaired cycles.

At a new apple, and some moves later again, it makes random cycles. It plays all of them on with
random apples, side by side, and keeps the one with the fewest steps. Between these choices, and
inside the rollouts, it takes each repair that shortens the path. A choice takes about 10 ms, other
moves less. It needs numpy.
"""

import numpy as np

CYCLES = 8
"""The number of cycles to choose from."""
SIDEWAYS = 3
"""The number of repairs without gain before a cycle is shortened."""
ROLLOUTS = 8
"""The number of rollouts from each cycle."""
APPLES = 3
"""The number of apples in each rollout."""
STRIDE = 4
"""Moves between two repairs of an indirect path in rollouts; the game repairs at each move."""
AGAIN = 2
"""Moves after which it chooses again on an indirect path, because the tail has made room."""

OFFSETS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}

board = {}
rng = np.random.default_rng()


def free_moves(observation):
    """The allowed moves and their cells: not off the board and not into the snake."""
    x, y = observation["snake"][0]
    width, height = observation["width"], observation["height"]
    near = {move: [x + right, y + down] for move, (right, down) in OFFSETS.items()}
    return {
        move: [u, v]
        for move, (u, v) in near.items()
        if 0 <= u < width and 0 <= v < height and [u, v] not in observation["snake"]
    }


def round_trip(width, height):
    """A closed cycle over all cells, as [x, y]; None if both sides are odd."""
    if width % 2:
        if height % 2:
            return None
        return [[x, y] for y, x in round_trip(height, width)]
    way = [[x, 0] for x in reversed(range(width))]
    for x in range(width):
        column = [[x, y] for y in range(1, height)]
        way += column if x % 2 == 0 else column[::-1]
    return way


def start(width, height):
    """The tables for a board of this size, and a first cycle."""
    way = round_trip(width, height)
    board.update(
        width=width,
        cells=width * height,
        places=np.arange(width * height),
        cycle=None if way is None else np.array([y * width + x for x, y in way]),
    )


def parallels(cycles, lengths, ends):
    """For each 2 x 2 block with two parallel steps of the cycle, the two step numbers, lower first.

    The lower step lies before the row's end. Rows with fewer such blocks are filled with -1. The
    head is at place 0 of its cycle, and step n leads from place n to n + 1. The steps of the body
    come last and must stay.
    """
    rows = np.arange(len(cycles))[:, None]
    at = np.empty(cycles.shape, np.int16)
    at[rows, cycles] = board["places"]
    at = at.reshape(len(cycles), -1, board["width"])
    a, b, c, d = at[:, :-1, :-1], at[:, :-1, 1:], at[:, 1:, :-1], at[:, 1:, 1:]
    loose = (board["cells"] - lengths).astype(np.int16)[:, None, None]
    ends = ends.astype(np.int16)[:, None, None]

    def pair(a, b, c, d):
        one, other = np.minimum(a, b), np.minimum(c, d)
        low, high = np.minimum(one, other), np.maximum(one, other)
        both = (np.abs(a - b) == 1) & (np.abs(c - d) == 1) & (high <= loose) & (low < ends)
        return np.where(both, low, -1), np.where(both, high, -1)

    level, upright = pair(a, b, c, d), pair(a, c, b, d)
    low = np.maximum(level[0], upright[0]).reshape(len(cycles), -1)
    high = np.maximum(level[1], upright[1]).reshape(len(cycles), -1)
    most = max(1, int(np.count_nonzero(low >= 0, axis=1).max()))
    first = np.argpartition(low < 0, most - 1, axis=1)[:, :most]
    return low[rows, first], high[rows, first]


def repair(cycles, ahead, lengths, sideways):
    """One repair of each cycle: the rows with a repair, their new cycles and distances to the
    apple.

    A quarter turn of two parallel steps cuts off a loop; a second turn joins it again. Between them
    lie four stretches A B C D, which become A D C B. ``ahead`` is the place of the apple. With
    ``sideways`` a row without a shorter path takes one of equal length.
    """
    # Only a repair that begins before the apple shortens the path.
    ends = np.full_like(ahead, board["cells"]) if sideways else ahead
    low, high = parallels(cycles, lengths, ends)
    p, q, m, k = low[:, :, None], high[:, :, None], low[:, None, :], high[:, None, :]
    apple = ahead.astype(np.int16)[:, None, None]
    gain = 256 * (q - p) - 256 * (k - m) * (apple <= q)
    gain *= (m < apple) & (apple <= k)
    gain += rng.integers(0, 256, gain.shape, dtype=np.uint8)  # breaks ties at random
    crosses = (p < m) & (m < q) & (q < k)
    if sideways:
        crosses &= (apple <= p) | (m < apple)
    gain = np.where(crosses, gain, -1).reshape(len(cycles), -1)
    best = gain.argmax(1)
    value = gain[np.arange(len(cycles)), best]
    rows = np.flatnonzero(value >= (0 if sideways else 256))
    first, second = np.divmod(best[rows], low.shape[1])
    p, q = low[rows, first][:, None], high[rows, first][:, None]
    m, k = low[rows, second][:, None], high[rows, second][:, None]
    return rows, rejoined(cycles[rows], p, q, m, k), ahead[rows] - value[rows] // 256


def rejoined(cycles, p, q, m, k):
    """The cycles with the stretches behind p, m, q and k in their new order."""
    t, to_c, to_b = board["places"], p + 1 + k - q, p + 1 + k - m
    place = np.where(t < to_c, t + q - p, np.where(t < to_b, t - to_c + m + 1, t - to_b + p + 1))
    return np.take_along_axis(cycles, np.where((t <= p) | (t > k), t, place), 1)


def shorten(cycles, ahead, lengths):
    """Repair until no single repair shortens the path to the apple."""
    cycles, ahead, rows = cycles.copy(), ahead.copy(), np.arange(len(cycles))
    while len(rows):
        found, better, nearer = repair(cycles[rows], ahead[rows], lengths[rows], False)
        rows = rows[found]
        cycles[rows], ahead[rows] = better, nearer
    return cycles, ahead


def turned(cycle, snake):
    """The cycle from the snake's head on, with the body at its end."""
    cycle = np.roll(cycle, -int(np.flatnonzero(cycle == snake[0])[0]))
    return np.roll(cycle[::-1], 1) if cycle[1] == snake[1] else cycle


def are_straight(cycles, ahead):
    """For each cycle, whether its path to the apple is the shortest possible."""
    heads, apples = cycles[:, 0], cycles[np.arange(len(cycles)), ahead]
    (y, x), (v, u) = np.divmod(heads, board["width"]), np.divmod(apples, board["width"])
    return ahead == abs(x - u) + abs(y - v)


def chosen(cycle, snake, apple):
    """The cycle to continue with: the old one made shorter, or at times one of several."""
    ahead, length = np.flatnonzero(cycle == apple), len(snake)
    is_straight = are_straight(cycle[None], ahead)[0]
    board["moves"] = 0 if board.get("apple") != apple else board["moves"] + 1
    board["apple"] = apple
    if board["moves"] % AGAIN or (board["moves"] and is_straight):
        return cycle if is_straight else shorten(cycle[None], ahead, np.array([length]))[0][0]
    cycles, ahead = np.repeat(cycle[None], CYCLES, 0), np.repeat(ahead, CYCLES)
    lengths = np.full(CYCLES, length)
    for _ in range(SIDEWAYS):
        rows, others, nearer = repair(cycles[1:], ahead[1:], lengths[1:], True)
        cycles[1 + rows], ahead[1 + rows] = others, nearer
    cycles, ahead = shorten(cycles, ahead, lengths)
    return cycles[expected(cycles, ahead, length).argmin()]


def expected(cycles, ahead, length):
    """The expected steps to this apple and the next ones for each cycle, by rollouts with repairs.

    All games run side by side: in each turn a game takes a repair or some moves. All cycles get the
    same apples, so that luck does not decide between them.
    """
    each, ahead, cells = np.repeat(cycles, ROLLOUTS, 0), np.repeat(ahead, ROLLOUTS), board["cells"]
    lengths, last = np.full(len(each), length), min(length + 1 + APPLES, cells)
    steps, playing = np.zeros(len(each)), np.arange(len(each))
    dealt = rng.random((APPLES, ROLLOUTS, cells))
    while len(playing):
        found, better, nearer = repair(each[playing], ahead[playing], lengths[playing], False)
        each[playing[found]], ahead[playing[found]] = better, nearer
        is_straight = are_straight(each[playing], ahead[playing])
        walks = is_straight.copy()
        walks[np.delete(np.arange(len(playing)), found)] = True
        rows = playing[walks]
        walked = np.where(is_straight[walks], ahead[rows], np.minimum(ahead[rows], STRIDE))
        onward = (board["places"] + walked[:, None]) % cells
        each[rows] = np.take_along_axis(each[rows], onward, 1)
        ahead[rows] -= walked
        steps[rows] += walked
        lengths[rows] += ahead[rows] == 0
        playing = playing[lengths[playing] < last]
        fed = playing[ahead[playing] == 0]
        # The head is on the apple. The next apple is the free cell with the highest random number.
        lots = dealt[lengths[fed] - length - 1, fed % ROLLOUTS]
        lots = np.take_along_axis(lots, each[fed], 1)
        lots[:, 0] = -1
        lots[board["places"] > cells - lengths[fed][:, None]] = -1
        ahead[fed] = lots.argmax(1)
    return steps.reshape(len(cycles), ROLLOUTS).mean(1)


def agent(observation, configuration):
    if observation["step"] == 0:
        start(observation["width"], observation["height"])
    free, cycle = free_moves(observation), board["cycle"]
    x, y = observation["apple"]
    if cycle is None:
        return min(free, key=lambda move: abs(free[move][0] - x) + abs(free[move][1] - y))
    width, snake = board["width"], [v * board["width"] + u for u, v in observation["snake"]]
    cycle = turned(cycle, snake)
    if list(cycle[: -len(snake) : -1]) == snake[1:]:
        cycle = chosen(cycle, snake, y * width + x)
    board["cycle"] = cycle
    onward = [int(cycle[1]) % width, int(cycle[1]) // width]
    return next((move for move, cell in free.items() if cell == onward), next(iter(free)))
