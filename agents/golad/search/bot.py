"""Searches over the opponent's reply, and over its own next move if time allows.

It takes the best moves after one generation and tries replies, dangerous ones first. It drops a
move when a reply makes it worse than another move. The bot is for small boards: if there are too
many births, it combines the cells with the largest single effect. A move takes about 50 ms on 6x6,
and less when the bank runs low. It needs no libraries.
"""

import itertools
import random
import sys

CANDIDATES = 30
"""The number of own moves to try against every reply."""
DEEP, REPLIES = 6, 5
"""The number of moves, and of replies to each, for which it also searches the next own move."""
MOST = 10_000
"""More than the value of any position."""
MOST_BIRTHS = 1500
"""The largest number of births to try one by one, for either side."""
TARGETS, SACRIFICES = 24, 8
"""Above that number: how many targets and how many sacrifices to combine."""
LOW_SECONDS, LOWEST_SECONDS = 4.0, 1.5
"""Bank levels: below the first it skips the next own move, below the second all replies."""


def decide(width, height, me, field, bank_seconds=10.0):
    """``me`` is this player's letter; ``field`` is a list of cells row by row."""
    mine, theirs, places = bits(width, height, me, field)
    board, stride = sum(places.values()), width + 1
    tried = outcomes(mine, theirs, stride, board)
    gone, born = chosen(tried, stride, board, bank_seconds)
    went = " ".join(f"{x},{y}" for (x, y), bit in places.items() if gone & bit)
    if born:
        x, y = next(place for place, bit in places.items() if bit == born)
        return f"birth {x},{y} {went}"
    return f"kill {went}" if gone else "pass"


def chosen(tried, stride, board, bank_seconds):
    """The cells to remove and the cell to add in the best of the moves."""
    best = []
    for value, _, move, after in tried[: CANDIDATES if bank_seconds > LOWEST_SECONDS else 1]:
        worst = best[DEEP - 1][0] if len(best) >= DEEP else -MOST
        replied = answered(*after, stride, board, worst) if all(after) else value
        best.append((replied, value, random.random(), move, after))
        best.sort(reverse=True)
    if bank_seconds < LOW_SECONDS or len(best) == 1:
        return best[0][3]
    deeper = [
        (followed(*after, stride, board) if all(after) else value, replied, dice, move)
        for replied, value, dice, move, after in best[:DEEP]
    ]
    return max(deeper)[3]


def answered(mine, theirs, stride, board, enough):
    """The value of a position after the opponent's best reply.

    It stops at the first reply that gives a value below ``enough``.
    """
    least = MOST
    for gone, born in changes(theirs, mine, stride, board):
        after = generation(mine & ~gone, (theirs & ~gone) | born, stride, board)
        value = worth(*after)
        if value < least:
            least = value
            if least < enough:
                break
    return least


def followed(mine, theirs, stride, board):
    """The value of a position after the best replies and the best own move after each."""
    least = MOST
    for value, _, _, (their_side, my_side) in outcomes(theirs, mine, stride, board)[:REPLIES]:
        if my_side and their_side:
            value = -outcomes(my_side, their_side, stride, board)[0][0]
        least = min(least, -value)
    return least


def outcomes(mine, theirs, stride, board):
    """All moves of one side, best first after one generation: value, dice, change, position."""
    tried = []
    for change in changes(mine, theirs, stride, board):
        gone, born = change
        after = generation((mine & ~gone) | born, theirs & ~gone, stride, board)
        tried.append((worth(*after), random.random(), change, after))
    tried.sort(reverse=True)
    return tried


def changes(mine, theirs, stride, board):
    """The cells to remove and the cell to add for each move; kills before births."""
    living = mine | theirs
    yield 0, 0
    for bit in each(theirs):
        yield bit, 0
    for bit in each(mine):
        yield bit, 0
    own, dead = each(mine), each(board & ~living)
    if len(dead) * len(own) * (len(own) - 1) // 2 > MOST_BIRTHS:

        def value(gone, born):
            return worth(*generation((mine & ~gone) | born, theirs & ~gone, stride, board))

        dead = sorted(dead, key=lambda bit: value(0, bit), reverse=True)[:TARGETS]
        own = sorted(own, key=lambda bit: value(bit, 0), reverse=True)[:SACRIFICES]
    given_up = [one | other for one, other in itertools.combinations(own, 2)]
    yield from itertools.product(given_up, dead)


def each(cells):
    """The bits of a number one by one."""
    found = []
    while cells:
        bit = cells & -cells
        found.append(bit)
        cells ^= bit
    return found


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
            answer = decide(*size, settings["your_botid"], field, int(words[2]) / 1000)
            print(answer, flush=True)


if __name__ == "__main__":
    main()
