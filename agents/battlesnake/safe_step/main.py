"""Takes a random step that hits no wall and no body in this turn. It looks no further ahead."""

import random

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


def agent(observation, configuration):
    board = observation["board"]
    width, height = board["width"], board["height"]
    wraps = observation["game"]["ruleset"]["name"].startswith("wrapped")
    # A tail leaves its cell in this turn, unless the snake has just eaten.
    taken = {(part["x"], part["y"]) for snake in board["snakes"] for part in snake["body"][:-1]}
    head = observation["you"]["head"]
    safe = []
    for move, (right, up) in STEPS.items():
        x, y = head["x"] + right, head["y"] + up
        if wraps:
            x, y = x % width, y % height
        if 0 <= x < width and 0 <= y < height and (x, y) not in taken:
            safe.append(move)
    return random.choice(safe or list(STEPS))
