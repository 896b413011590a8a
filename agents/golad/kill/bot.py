"""Kills a random cell of the opponent.

A move takes microseconds. It needs no libraries.
"""

import random
import sys


def decide(width, height, me, field):
    """``me`` is this player's letter; ``field`` is a list of cells row by row."""
    theirs = [i for i, cell in enumerate(field) if cell not in (me, ".")]
    if not theirs:
        return "pass"
    chosen = random.choice(theirs)
    return f"kill {chosen % width},{chosen // width}"


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
