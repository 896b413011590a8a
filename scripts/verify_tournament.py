#!/usr/bin/env python3
"""Draws a finished tournament again and compares: python3 verify_tournament.py EXPORT.json

EXPORT.json is the export of a tournament. This file needs Python 3.9 and nothing else. It checks

- that the revealed seed is the one whose digest was published before,
- the seed order: by score, and drawn among equal and missing scores,
- round robins, groups and gauntlets, brackets, the first round of a Swiss stage and its colors,
- that agents of one team met in a Swiss stage only in rounds that gave up a rule,
- how even the seats of heats are,
- seats and seeds of all games, and the points of every pairing,
- that those who left stand behind all who stayed, and that the champion stayed.

It does not pair later Swiss rounds again: give the exported TRF to any pairing program for that.
"""

import hashlib
import json
import sys
from collections import Counter

problems = []


def check(what, found, drawn):
    """Prints and remembers a difference."""
    if found != drawn:
        problems.append(what)
        print(f"DIFFERS  {what}: the export has {found}, the draw gives {drawn}")


def draw_bytes(seed, label):
    return hashlib.sha256(seed + b"/" + label.encode()).digest()


def draw_order(seed, label, items):
    return sorted(items, key=lambda item: (draw_bytes(seed, f"{label}/{item}"), item))


def check_seed_order(seed, entrants):
    """The best score is first; equal and missing scores are in the drawn order."""
    names = [each["drawn_by"] for each in entrants]
    if all(names):
        drawn = draw_order(seed, "seed order", names)
        order = sorted(
            entrants,
            key=lambda each: (
                each["score"] is None,
                -(each["score"] or 0.0),
                drawn.index(each["drawn_by"]),
            ),
        )
        check("seed order", names, [each["drawn_by"] for each in order])


def berger(size):
    even = size + size % 2
    order = list(range(1, even))
    for number in range(even - 1):
        pairs = [(order[0], even) if number % 2 == 0 else (even, order[0])]
        pairs += [(order[n], order[even - 1 - n]) for n in range(1, even // 2)]
        yield [pair for pair in pairs if max(pair) <= size]
        order = order[even // 2 :] + order[: even // 2]


def serpentine(field, parts):
    dealt = [[] for _ in range(parts)]
    for n, entrant in enumerate(field):
        row, place = divmod(n, parts)
        dealt[place if row % 2 == 0 else parts - 1 - place].append(entrant)
    return dealt


def table_pairs(stage, field):
    """Returns the pairs of a round robin or of groups, by round."""
    groups = serpentine(field, stage.get("groups", 2)) if stage["format"] == "groups" else [field]
    rounds = {}
    for members in groups:
        tables = list(berger(len(members)))
        if stage.get("cycles", 1) == 2:
            tables += [[(two, one) for one, two in pairs] for pairs in tables]
        for n, pairs in enumerate(tables, 1):
            drawn = [[members[one - 1], members[two - 1]] for one, two in pairs]
            rounds.setdefault(n, []).extend(drawn)
    return rounds


def bracket_order(size):
    order = [1]
    while len(order) < size:
        total = 2 * len(order) + 1
        order = [seed for one in order for seed in (one, total - one)]
    return order


def check_bracket(number, stage, field, pairings):
    """Checks the first round; each later pairing joins entrants who came from earlier ones."""
    places = 2 ** max(1, (len(field) - 1).bit_length())
    order = [field[s - 1] if s <= len(field) else 0 for s in bracket_order(places)]
    first = [p["entrants"] for p in pairings if p["key"].split(".")[1] == "1"]
    drawn = [
        [e for e in pair if e]
        for pair in zip(order[::2], order[1::2])  # noqa: B905 (Python 3.9)
    ]
    check(f"first round of stage {number}", first, drawn)
    lives = 2 if stage["format"] == "double_elimination" else 1
    lost = Counter()
    for pairing in pairings:
        if pairing["section"] != "third place":
            for entrant in pairing["entrants"]:
                check(
                    f"{pairing['key']}: losses of {entrant} below {lives}",
                    lost[entrant] < lives,
                    True,
                )
            lost.update((pairing["order"] or [])[1:])


def check_even_heats(number, stage, pairings):
    """Checks that the games and the seats of each entrant differ by at most one."""
    seats = stage.get("seats", 4)
    games, had = Counter(), Counter()
    for pairing in pairings:
        for seat, entrant in enumerate(pairing["entrants"]):
            games[entrant] += 1
            had[entrant, seat] += 1
    check(
        f"stage {number}: heats of each differ by",
        max(games.values()) - min(games.values()) <= 1,
        True,
    )
    for entrant in games:
        counts = [had[entrant, seat] for seat in range(seats)]
        check(f"stage {number}: seats of {entrant} are even", max(counts) - min(counts) <= 1, True)


def check_games(seed, stage, pairing):
    """Checks seats, seeds and points of the games of a pairing."""
    key, entrants = pairing["key"], pairing["entrants"]
    points = Counter()
    for game in pairing["games"]:
        number, size = game["number"], len(entrants)
        shift = (number - 1) % size
        seats = [entrants[(seat - shift) % size] for seat in range(size)]
        what = f"game {number} of {key}"
        check(f"seats of {what}", game["entrants"], seats)
        turn = f"{key}/{(number - 1) // size + 1}"
        if stage["format"] == "solo":
            turn = f"{key.rsplit('.', 1)[0]}/{number}"
        if game.get("seed"):
            drawn = draw_bytes(seed, f"game/{turn}")[:16].hex()
            check(f"seed of {what}", game["seed"], drawn)
        if size == 2:
            one, two = game["places"]
            points[game["entrants"][0]] += 0.5 * (one <= two) + 0.5 * (one < two)
            points[game["entrants"][1]] += 0.5 * (two <= one) + 0.5 * (two < one)
    if len(entrants) == 2 and pairing["order"] and pairing["decided_by"] in ("games", "more games"):
        one, two = pairing["order"]
        check(f"winner of {key} has the most points", points[one] >= points[two], True)


def check_teams(pairings, prohibited):
    """Checks that agents of one team met only in rounds that allowed no other pairing."""
    for pairing in pairings:
        if pairing["section"] == "play-off" or pairing.get("rule_given_up"):
            continue
        meets = sorted(pairing["entrants"]) in prohibited
        check(f"{pairing['key']} joins two agents of one team", meets, False)


def check_stage(data, seed, number, stage, field):
    pairings = [p for p in data["pairings"] if p["key"].split(".")[0] == str(number)]
    kind = stage["format"]
    if kind in ("round_robin", "groups"):
        for n, drawn in table_pairs(stage, field).items():
            start = f"{number}.{n}."
            check(
                f"round {start[:-1]}",
                [p["entrants"] for p in pairings if p["key"].startswith(start)],
                drawn,
            )
    elif kind in ("single_elimination", "double_elimination"):
        check_bracket(number, stage, field, pairings)
    elif kind == "swiss":
        top = [
            p["entrants"]
            for p in pairings
            if p["key"].startswith(f"{number}.1.") and field[0] in p["entrants"]
        ]
        first_seat = int.from_bytes(draw_bytes(seed, f"stage {number}/color"), "big") % 2 == 0
        for entrants in top:
            if len(entrants) == 2:
                check(
                    f"first seat of the first seed, stage {number}",
                    entrants[0] == field[0],
                    first_seat,
                )
        check_teams(pairings, data["prohibited"])
    elif kind == "heats" and not data["withdrawn"]:
        check_even_heats(number, stage, pairings)
    for pairing in pairings:
        if pairing["state"] == "finished":
            check_games(seed, stage, pairing)


def check_places(data):
    """Checks that those who left stand last, and that the champion stayed."""
    ranking, left = data["ranking"], {int(entrant) for entrant in data["withdrawn"]}
    check("final places", ranking, sorted(ranking, key=lambda entrant: entrant in left))
    stayed = [entrant for entrant in ranking if entrant not in left]
    check("champion", data["champion"], stayed[0] if stayed else None)


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)
    seed = bytes.fromhex(data["seed"])
    check("digest of the seed", data["commitment"], hashlib.sha256(seed).hexdigest())
    check_seed_order(seed, data["entrants"])
    check_places(data)
    for number, field in enumerate(data["fields"], 1):
        check_stage(data, seed, number, data["plan"]["stages"][number - 1], field)
    print(
        f"published digest: {data['commitment']} (compare it with what was shown before the start)"
    )
    print(f"{len(data['pairings'])} pairings, {len(problems)} differences")
    return min(1, len(problems))


if __name__ == "__main__":
    sys.exit(main())
