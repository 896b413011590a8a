"""Contract riddles: it checks the order of its input and kills its first cell."""

import sys

NAMES = ["player_names", "your_bot", "timebank", "time_per_move", "your_botid", "field_width"]
NAMES += ["field_height", "max_rounds"]
settings: list[str] = []
updates: list[str] = []
field: list[str] = []
for line in sys.stdin:
    kind, *words = line.split()
    if kind == "settings":
        settings.append(words[0])
    elif kind == "update":
        updates.append(words[1])
        if words[1] == "field":
            field = words[2].split(",")
    elif kind == "action":
        assert settings == NAMES, settings
        counts = ["living_cells", "living_cells", "move"]
        assert updates in (
            ["round", "field", *counts],
            ["round", "field", counts[0], "move", counts[0]],
        )
        updates = []
        at = field.index("0")
        print(f"kill {at % 6},{at // 6}")
        print("bank", words[1], file=sys.stderr)
