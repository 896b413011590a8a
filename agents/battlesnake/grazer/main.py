"""Takes the shortest path to the nearest food; if there is none, the step with the most room."""

from collections import deque

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


def agent(observation, configuration):
    board, you = observation["board"], observation["you"]
    width, height = board["width"], board["height"]
    wraps = observation["game"]["ruleset"]["name"].startswith("wrapped")
    taken = {(part["x"], part["y"]) for snake in board["snakes"] for part in snake["body"][:-1]}
    food = {(point["x"], point["y"]) for point in board["food"]}

    def after(cell, move):
        x, y = cell[0] + STEPS[move][0], cell[1] + STEPS[move][1]
        return (x % width, y % height) if wraps else (x, y)

    def is_free(cell):
        return 0 <= cell[0] < width and 0 <= cell[1] < height and cell not in taken

    def explored(first):
        """The distance to the nearest food, and the number of cells in reach."""
        seen, nearest, waiting = {first}, None, deque([(first, 1)])
        while waiting:
            cell, steps = waiting.popleft()
            if nearest is None and cell in food:
                nearest = steps
            for move in STEPS:
                following = after(cell, move)
                if following not in seen and is_free(following):
                    seen.add(following)
                    waiting.append((following, steps + 1))
        return nearest, len(seen)

    head = (you["head"]["x"], you["head"]["y"])
    choices = []
    for move in STEPS:
        cell = after(head, move)
        if is_free(cell):
            nearest, room = explored(cell)
            is_hole = room < len(you["body"])
            choices.append((is_hole, nearest is None, nearest or 0, -room, move))
    return min(choices)[-1] if choices else "up"
