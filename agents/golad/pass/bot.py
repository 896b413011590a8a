"""Always passes, so that the board alone decides.

A move takes microseconds. It needs no libraries.
"""

import sys


def decide(width, height, me, field):
    return "pass"


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
