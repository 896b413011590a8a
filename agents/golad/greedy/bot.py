"""Looks one generation ahead at kills and births, and takes the best.

On small boards it tries every move. If there are too many births, it combines the cells with the
largest single effect. A move takes about 20 ms. It needs no libraries.
"""

import itertools
import random
import sys

MOST_BIRTHS = 4000
"""The largest number of births to try one by one."""
TARGETS, SACRIFICES = 40, 14
"""Above that number: how many targets and how many sacrifices to combine."""


def decide(width, height, me, field):
    """``me`` is this player's letter; ``field`` is a list of cells row by row."""
    mine, theirs, places = bits(width, height, me, field)
    board, stride = sum(places.values()), width + 1

    def value(gone, born):
        return worth(*generation((mine & ~gone) | born, theirs & ~gone, stride, board))

    living, own = mine | theirs, [bit for bit in places.values() if mine & bit]
    dead = [bit for bit in places.values() if not living & bit]
    tried = [(value(0, 0), random.random(), 0, 0)]
    tried += [(value(bit, 0), random.random(), bit, 0) for bit in places.values() if living & bit]
    if len(dead) * len(own) * (len(own) - 1) // 2 > MOST_BIRTHS:
        dead = sorted(dead, key=lambda bit: value(0, bit), reverse=True)[:TARGETS]
        own = sorted(own, key=lambda bit: value(bit, 0), reverse=True)[:SACRIFICES]
    given_up = [one | other for one, other in itertools.combinations(own, 2)]
    tried += [
        (value(gone, born), random.random(), gone, born) for born in dead for gone in given_up
    ]
    _, _, gone, born = max(tried)
    went = " ".join(f"{x},{y}" for (x, y), bit in places.items() if gone & bit)
    if born:
        x, y = next(place for place, bit in places.items() if bit == born)
        return f"birth {x},{y} {went}"
    return f"kill {went}" if gone else "pass"


def generation(mine, theirs, stride, board):
    """Both sides one generation later. Cells are bits, with one empty column after each row."""
    living = mine | theirs
    odd, few = near(living, stride)
    births = odd & few & ~living & board
    _, majority = near(mine, stride)
    return mine & few | births & majority, theirs & few | births & ~majority


def near(cells, stride):
    """For all cells at once: whether the number of neighbours is odd, and whether it is 2 or 3."""
    left, right = cells << 1, cells >> 1
    beside, pair = left ^ right, left & right
    row, row_pair = beside ^ cells, pair | beside & cells
    above, below = row << stride, row >> stride
    above_pair, below_pair = row_pair << stride, row_pair >> stride
    vertical = above ^ below
    carried = above & below | vertical & beside
    pairs, more_pairs = above_pair ^ below_pair, pair ^ carried
    many = above_pair & below_pair | pair & carried | pairs & more_pairs
    return vertical ^ beside, (pairs ^ more_pairs) & ~many


def worth(mine, theirs):
    """The lead in cells; a board without opponents is worth more than any lead."""
    if not mine or not theirs:
        return 1000 * (bool(mine) - bool(theirs))
    return mine.bit_count() - theirs.bit_count()


def bits(width, height, me, field):
    """The bits of own cells, of the opponent's cells, and of all cells on the board."""
    places = {
        (i % width, i // width): 1 << (i // width * (width + 1) + i % width)
        for i in range(width * height)
    }
    mine = theirs = 0
    for bit, cell in zip(places.values(), field, strict=True):
        if cell == me:
            mine |= bit
        elif cell != ".":
            theirs |= bit
    return mine, theirs, places


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
