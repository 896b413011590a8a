"""Plays births and kills at random, half of each; the random bot of the AlphaGOLADZero paper.

An impossible birth becomes a kill. A kill takes any living cell, own cells too. A move takes
microseconds. It needs no libraries.
"""

import random
import sys


def decide(width, height, me, field):
    """``me`` is this player's letter; ``field`` is a list of cells row by row."""

    def place(cell):
        return f"{cell % width},{cell // width}"

    dead = [i for i, cell in enumerate(field) if cell == "."]
    mine = [i for i, cell in enumerate(field) if cell == me]
    if random.random() < 0.5 and dead and len(mine) >= 2:
        return " ".join(["birth", *map(place, [random.choice(dead), *random.sample(mine, 2)])])
    living = [i for i, cell in enumerate(field) if cell != "."]
    return f"kill {place(random.choice(living))}" if living else "pass"


def main():
    """Speak the site's protocol: print one answer for each line that asks for a move."""
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
