"""Half births, half kills, all at random; the random bot of the AlphaGOLADZero paper.

A birth that is impossible becomes a kill, and a kill is of any living cell, own ones too.
Microseconds a move. No dependency.
"""

import random
import sys


def decide(width, height, me, field):
    """``me`` is this player's letter on the field, which is a list of cells row by row."""

    def place(cell):
        return f"{cell % width},{cell // width}"

    dead = [i for i, cell in enumerate(field) if cell == "."]
    mine = [i for i, cell in enumerate(field) if cell == me]
    if random.random() < 0.5 and dead and len(mine) >= 2:
        return " ".join(["birth", *map(place, [random.choice(dead), *random.sample(mine, 2)])])
    living = [i for i, cell in enumerate(field) if cell != "."]
    return f"kill {place(random.choice(living))}" if living else "pass"


def main():
    """The site's protocol: one answer for each line that asks for a move."""
    settings, field = {}, []
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["settings"]:
            settings[words[1]] = words[2]
        elif words[:3] == ["update", "game", "field"]:
            field = words[3].split(",")
        elif words[:2] == ["action", "move"]:
            size = int(settings["field_width"]), int(settings["field_height"])
            print(decide(*size, settings["your_botid"], field), flush=True)


if __name__ == "__main__":
    main()
