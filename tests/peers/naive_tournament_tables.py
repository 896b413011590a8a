"""Computes the tables of a tournament a second time, only from the sentences of the documentation.

Its author did not read the code of the product. Each function follows a paragraph of the pages on
results, tables and places of tournaments. It is slow and plain on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import Any

Round = tuple[int, int]
TABLES_BY_POINTS = ("round_robin", "groups", "swiss", "gauntlet")
BRACKETS = ("single_elimination", "double_elimination")
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Line:
    """One line of a table."""

    entrant: int
    rank: int
    group: int
    score: Fraction
    played: int
    wins: int
    values: dict[str, Fraction]


@dataclass(frozen=True)
class Tables:
    """All that follows from the results of a tournament."""

    stages: list[list[Line]]
    fields: list[list[int]]
    places: list[int]
    champion: int | None
    drawn: list[int]


@dataclass(frozen=True)
class Result:
    """The result of a finished pairing."""

    entrants: list[int]
    """Best first."""
    gains: dict[int, Fraction]
    game_points: dict[int, Fraction] = field(default_factory=dict)
    is_bye: bool = False
    is_walk_over: bool = False

    @property
    def is_played(self) -> bool:
        return not self.is_bye and not self.is_walk_over

    def opponent(self, entrant: int) -> int:
        first, second = self.entrants
        return second if entrant == first else first


@dataclass(frozen=True)
class Stage:
    """One stage with its field and its pairings that are not void."""

    number: int
    plan: dict[str, Any]
    field: list[int]
    pairings: list[dict[str, Any]]
    left: dict[int, Round]

    @property
    def format(self) -> str:
        return str(self.plan["format"])

    def seed(self, entrant: int) -> int:
        return self.field.index(entrant) + 1

    def has_left(self, entrant: int) -> bool:
        return entrant in self.left and self.left[entrant][0] <= self.number

    def pairings_of(self, entrant: int) -> list[dict[str, Any]]:
        return [pairing for pairing in self.pairings if entrant in pairing["entrants"]]

    def result(self, pairing: dict[str, Any]) -> Result | None:
        """The result of a pairing; None if it has not ended."""
        if self.format == "solo":
            return solo_result(self, pairing)
        if None in pairing["entrants"]:
            return None
        if self.format == "heats":
            return heat_result(self, pairing)
        return series_result(self, pairing)


def compute(tournament: dict[str, Any]) -> Tables:
    """Returns the tables of all stages that have begun, and the places at the end."""
    left: dict[int, Round] = {
        entrant: (remembered[0], remembered[1])
        for entrant, remembered in tournament["left"].items()
    }
    stages: list[Stage] = []
    tables: list[list[Line]] = []
    entrants = list(range(1, tournament["size"] + 1))
    for number in range(1, tournament["begun"] + 1):
        if number > 1:
            entrants = who_goes_on(stages[-1], tables[-1])
        pairings = [
            pairing
            for pairing in tournament["pairings"]
            if pairing["stage"] == number and not pairing["void"]
        ]
        stage = Stage(number, tournament["stages"][number - 1], entrants, pairings, left)
        stages.append(stage)
        tables.append(table_of(stage))
    places = final_places(tables, left) if tournament["finished"] else []
    champion = places[0] if places and places[0] not in left else None
    is_solo_alone = len(tournament["stages"]) == 1 and stages[0].format == "solo"
    drawn = best_rewards(stages[0], tables[0]) if tournament["finished"] and is_solo_alone else []
    return Tables(tables, [stage.field for stage in stages], places, champion, drawn)


def who_goes_on(stage: Stage, table: list[Line]) -> list[int]:
    """The field of the next stage, in the order of its seeds."""
    groups = [list(lines) for _, lines in groupby(table, lambda line: line.group)]
    going = []
    for lines in groups:
        stayed = [line.entrant for line in lines if not stage.has_left(line.entrant)]
        going.append(stayed[: stage.plan["advance"]] or [lines[0].entrant])
    longest = max(len(entrants) for entrants in going)
    return [
        entrants[place] for place in range(longest) for entrants in going if place < len(entrants)
    ]


def final_places(tables: list[list[Line]], left: dict[int, Round]) -> list[int]:
    """All entrants, best first. Who left at any time stands behind all that never left."""
    places: list[int] = []
    for table in reversed(tables):
        lines = sorted(table, key=lambda line: (line.rank, line.group))
        places += [line.entrant for line in lines if line.entrant not in places]
    stayed = [entrant for entrant in places if entrant not in left]
    return stayed + [entrant for entrant in places if entrant in left]


def best_rewards(stage: Stage, table: list[Line]) -> list[int]:
    """Those who stayed and have the last round and the reward of the champion, if several."""
    last = {}
    for line in table:
        finished = finished_results(stage, line.entrant)
        if line.entrant not in stage.left and finished:
            pairing, result = max(finished, key=lambda pair: int(pair[0]["round"]))
            last[line.entrant] = (int(pairing["round"]), result.gains[line.entrant])
    best = max(last.values(), default=None)
    several = sorted((one for one, reached in last.items() if reached == best), key=stage.seed)
    return several if len(several) > 1 else []


# Results of pairings


def series_result(stage: Stage, pairing: dict[str, Any]) -> Result | None:
    """The result of a series or of a bye."""
    entrants: list[int] = pairing["entrants"]
    if len(entrants) == 1:
        return Result(entrants, {entrants[0]: Fraction(1)}, is_bye=True)
    needs_winner = does_need_winner(stage, pairing)
    points = points_at_the_end(stage.plan, pairing, needs_winner)
    if points is None:
        return walk_over(stage, pairing, needs_winner)
    order = sorted(entrants, key=lambda entrant: (-points[entrant], stage.seed(entrant)))
    is_tie = points[order[0]] == points[order[1]] and not needs_winner
    gains = [HALF, HALF] if is_tie else [Fraction(1), Fraction(0)]
    return Result(order, dict(zip(order, gains, strict=True)), points)


def does_need_winner(stage: Stage, pairing: dict[str, Any]) -> bool:
    """Brackets need a winner. So does a play-off of two."""
    if stage.format in BRACKETS:
        return True
    if pairing["section"] != "play-off":
        return False
    return not any(
        other is not pairing
        and other["section"] == "play-off"
        and set(other["entrants"]) & set(pairing["entrants"])
        for other in stage.pairings
    )


def points_at_the_end(
    plan: dict[str, Any], pairing: dict[str, Any], needs_winner: bool
) -> dict[int, Fraction] | None:
    """The points of the pairs that are looked at; None if the series has not ended."""
    games = {game["number"]: game for game in pairing["games"]}
    last_pair = (max(games, default=0) + 1) // 2
    complete = []
    for pair in range(1, last_pair + 1):
        if 2 * pair - 1 not in games or 2 * pair not in games:
            break
        complete.append((games[2 * pair - 1], games[2 * pair]))
    points = dict.fromkeys(pairing["entrants"], Fraction(0))
    for looked_at, pair_of_games in enumerate(complete, start=1):
        for game in pair_of_games:
            for entrant, place in zip(game["entrants"], game["places"], strict=True):
                better = sum(place < other for other in game["places"])
                equal = sum(place == other for other in game["places"]) - 1
                points[entrant] += better + HALF * equal
        first, second = points.values()
        pairs_left = plan["pairs"] - looked_at
        if pairs_left <= 0 and (first != second or not needs_winner):
            return points
        if plan["stop_when_decided"] and pairs_left >= 0 and abs(first - second) > 2 * pairs_left:
            return points
        if looked_at >= plan["pairs"] + plan["more_pairs"]:
            return points
    return None


def walk_over(stage: Stage, pairing: dict[str, Any], needs_winner: bool) -> Result | None:
    """The result of a series that has not ended; None if nobody has left."""
    entrants: list[int] = pairing["entrants"]
    gone = [entrant for entrant in entrants if stage.has_left(entrant)]
    if not gone:
        return None
    if len(gone) == 1:
        order = sorted(entrants, key=lambda entrant: entrant in gone)
        return Result(order, {order[0]: Fraction(1), order[1]: Fraction(0)}, is_walk_over=True)
    latest = max(stage.left[entrant] for entrant in entrants)
    order = sorted(
        entrants, key=lambda entrant: (stage.left[entrant] != latest, stage.seed(entrant))
    )
    this_round = (stage.number, int(pairing["round"]))
    left_later = [entrant for entrant in entrants if stage.left[entrant] > this_round]
    gains = {order[0]: Fraction(needs_winner or len(left_later) == 1), order[1]: Fraction(0)}
    return Result(order, gains, is_walk_over=True)


def exact(number: float) -> Fraction:
    """The fraction that a number of points stands for."""
    return Fraction(number).limit_denominator(1_000_000)


def heat_result(stage: Stage, pairing: dict[str, Any]) -> Result | None:
    """The result of a heat; None if it has not ended."""
    entrants: list[int] = pairing["entrants"]
    games = [game for game in pairing["games"] if game["number"] <= stage.plan["games"]]
    if len(games) < stage.plan["games"]:
        return None
    seats = stage.plan["seats"]
    scale = [exact(points) for points in stage.plan["points"]]
    scale = scale or [Fraction(seats - place) for place in range(1, seats + 1)]
    points = dict.fromkeys(entrants, Fraction(0))
    firsts = dict.fromkeys(entrants, 0)
    for game in games:
        place_of = dict(zip(game["entrants"], game["places"], strict=True))
        for entrant in entrants:
            better = sum(place < place_of[entrant] for place in game["places"])
            equal = sum(place == place_of[entrant] for place in game["places"])
            points[entrant] += sum(scale[better : better + equal], Fraction(0)) / equal
            firsts[entrant] += place_of[entrant] == 1
    order = sorted(
        entrants,
        key=lambda one: (-points[one], -firsts[one], stage.seed(one)),
    )
    return Result(order, points)


def solo_result(stage: Stage, pairing: dict[str, Any]) -> Result | None:
    """The reward of an entrant in a solo round; None if the round has not ended."""
    (entrant,) = pairing["entrants"]
    games = [game for game in pairing["games"] if game["number"] <= stage.plan["solo_games"]]
    if len(games) < stage.plan["solo_games"] and not stage.has_left(entrant):
        return None
    rewards = [Fraction(str(game["rewards"][0])) for game in games]
    return Result([entrant], {entrant: sum(rewards, Fraction(0))})


# Tables


def table_of(stage: Stage) -> list[Line]:
    """The table of a stage, best first; groups one after another."""
    if stage.format in TABLES_BY_POINTS:
        groups = stage.plan.get("groups") if stage.format == "groups" else None
        if groups:
            return [
                line
                for number, members in enumerate(groups, start=1)
                for line in table_by_points(stage, list(members), number)
            ]
        return table_by_points(stage, stage.field, 0)
    if stage.format in BRACKETS:
        return bracket_table(stage)
    if stage.format == "solo":
        return solo_table(stage)
    return heats_table(stage)


def split_by_leaving(stage: Stage, entrants: Iterable[int]) -> list[list[int]]:
    """Those who stayed, then those who left, in the order of their seeds."""
    by_seed = sorted(entrants, key=stage.seed)
    return [
        [entrant for entrant in by_seed if stage.has_left(entrant) is has_left]
        for has_left in (False, True)
    ]


def finished_results(
    stage: Stage, entrant: int, *, in_play_off: bool = False
) -> list[tuple[dict[str, Any], Result]]:
    """The finished pairings of an entrant, with their results."""
    pairs = [
        (pairing, stage.result(pairing))
        for pairing in stage.pairings_of(entrant)
        if (pairing["section"] == "play-off") is in_play_off
    ]
    return [(pairing, result) for pairing, result in pairs if result is not None]


def divide(total: Fraction, divisor: int) -> Fraction:
    return total / max(1, divisor)


def table_by_points(stage: Stage, members: list[int], group: int) -> list[Line]:
    """The table of a round robin, of a group, of a Swiss stage or of a gauntlet."""
    results = {one: [result for _, result in finished_results(stage, one)] for one in members}
    sums = {
        one: sum((result.gains[one] for result in results[one]), Fraction(0)) for one in members
    }
    by_mean = stage.format == "gauntlet"
    divisors = {one: len(results[one]) if by_mean else 1 for one in members}
    scores = {one: divide(sums[one], divisors[one]) for one in members}
    named: dict[str, dict[int, Fraction]] = {
        name: {one: divide(value(one, results[one], scores), divisors[one]) for one in members}
        for name, value in TIE_BREAKS.items()
        if name in stage.plan["tie_breaks"]
    }
    order = [
        entrant
        for class_of_entrants in split_by_leaving(stage, members)
        for equal in order_by(class_of_entrants, scores)
        for entrant in break_ties(stage, equal, list(stage.plan["tie_breaks"]), results, named)
    ]
    lines = []
    for rank, entrant in enumerate(order, start=1):
        values = {name: of_entrant[entrant] for name, of_entrant in named.items()}
        if by_mean:
            values["score"] = scores[entrant]
        own = results[entrant]
        played = sum(not result.is_bye for result in own)
        wins = sum(result.gains[entrant] == 1 for result in own)
        lines.append(Line(entrant, rank, group, sums[entrant], played, wins, values))
    return lines


def order_by(entrants: Sequence[int], values: dict[int, Fraction]) -> list[list[int]]:
    """The entrants in sets of equal values, the highest value first."""
    ordered = sorted(entrants, key=lambda entrant: -values[entrant])
    return [list(equal) for _, equal in groupby(ordered, lambda entrant: values[entrant])]


def break_ties(
    stage: Stage,
    equal: list[int],
    names: list[str],
    results: dict[int, list[Result]],
    named: dict[str, dict[int, Fraction]],
) -> list[int]:
    """Orders equal entrants by the tie-breaks of the plan, one after the other, then by seed."""
    if len(equal) == 1 or not names:
        return sorted(equal, key=stage.seed)
    name, *others = names
    if name == "direct encounter":
        values = direct_encounter(equal, results)
    elif name == "more games":
        values = more_games(stage, equal)
    else:
        values = named[name]
    return [
        entrant
        for still_equal in order_by(equal, values)
        for entrant in break_ties(stage, still_equal, others, results, named)
    ]


def direct_encounter(equal: list[int], results: dict[int, list[Result]]) -> dict[int, Fraction]:
    """What tied entrants gained against each other, if each has met each other one."""
    gained = dict.fromkeys(equal, Fraction(0))
    for entrant in equal:
        against = [
            result
            for result in results[entrant]
            if not result.is_bye and result.opponent(entrant) in equal
        ]
        if {result.opponent(entrant) for result in against} != set(equal) - {entrant}:
            return dict.fromkeys(equal, Fraction(0))
        gained[entrant] = sum((result.gains[entrant] for result in against), Fraction(0))
    return gained


def more_games(stage: Stage, equal: list[int]) -> dict[int, Fraction]:
    """What each gained in the play-off."""
    return {
        entrant: sum(
            (
                result.gains[entrant]
                for _, result in finished_results(stage, entrant, in_play_off=True)
            ),
            Fraction(0),
        )
        for entrant in equal
    }


def buchholz(entrant: int, results: list[Result], scores: dict[int, Fraction]) -> Fraction:
    return sum(
        (scores[result.opponent(entrant) if result.is_played else entrant] for result in results),
        Fraction(0),
    )


def sonneborn_berger(entrant: int, results: list[Result], scores: dict[int, Fraction]) -> Fraction:
    return sum(
        (
            scores[result.opponent(entrant)] * result.gains[entrant]
            for result in results
            if result.is_played
        ),
        Fraction(0),
    )


def wins(entrant: int, results: list[Result], scores: dict[int, Fraction]) -> Fraction:
    return Fraction(sum(result.is_played and result.gains[entrant] == 1 for result in results))


def game_points(entrant: int, results: list[Result], scores: dict[int, Fraction]) -> Fraction:
    return sum((result.game_points.get(entrant, Fraction(0)) for result in results), Fraction(0))


TIE_BREAKS: dict[str, Callable[[int, list[Result], dict[int, Fraction]], Fraction]] = {
    "Buchholz": buchholz,
    "Sonneborn-Berger": sonneborn_berger,
    "wins": wins,
    "game points": game_points,
}
"""The value of each tie-break before a division, from entrant, finished results and scores."""


def heats_table(stage: Stage) -> list[Line]:
    """The table of heats: by points per heat, heats won per heat, seed."""
    lines = []
    for entrant in stage.field:
        finished = finished_results(stage, entrant)
        points = sum((result.gains[entrant] for _, result in finished), Fraction(0))
        won = sum(result.entrants[0] == entrant for _, result in finished)
        divisor = len(finished) + missed_heats(stage, entrant)
        values = {
            "points per heat": divide(points, divisor),
            "wins per heat": divide(Fraction(won), divisor),
        }
        lines.append(Line(entrant, 0, 0, points, len(finished), won, values))
    return numbered(
        stage,
        lines,
        lambda line: (-line.values["points per heat"], -line.values["wins per heat"]),
    )


def missed_heats(stage: Stage, entrant: int) -> int:
    """The later heats of the plan that was in force when the entrant left the stage."""
    if not stage.has_left(entrant) or stage.left[entrant][0] < stage.number:
        return 0
    remembered = stage.left[entrant][1]
    made = [number for number in stage.plan["plans"] if number <= remembered]
    if not made:
        return 0
    planned = stage.plan["plans"][max(made)]
    return sum(entrant in planned[number] for number in planned if number > remembered)


def solo_table(stage: Stage) -> list[Line]:
    """The table of solo rounds: by the last round of each entrant, then by its reward."""
    keys: dict[int, tuple[Any, ...]] = {}
    lines = []
    for entrant in stage.field:
        finished = finished_results(stage, entrant)
        last = max(
            stage.pairings_of(entrant), key=lambda pairing: int(pairing["round"]), default=None
        )
        result = None if last is None else stage.result(last)
        last_round = 0 if last is None else last["round"]
        if result is None:
            keys[entrant] = (-last_round, 0)
        else:
            keys[entrant] = (-last_round, 1, -result.gains[entrant])
        newest = max(finished, key=lambda pair: int(pair[0]["round"]), default=None)
        score = Fraction(0) if newest is None else newest[1].gains[entrant]
        lines.append(Line(entrant, 0, 0, score, len(finished), 0, {}))
    return numbered(stage, lines, lambda line: keys[line.entrant])


def numbered(stage: Stage, lines: list[Line], key: Callable[[Line], tuple[Any, ...]]) -> list[Line]:
    """The lines in order: those who stayed, then those who left; by ``key``, then by seed."""
    ordered = sorted(
        lines, key=lambda line: (stage.has_left(line.entrant), key(line), stage.seed(line.entrant))
    )
    return [
        Line(line.entrant, rank, line.group, line.score, line.played, line.wins, line.values)
        for rank, line in enumerate(ordered, start=1)
    ]


def bracket_table(stage: Stage) -> list[Line]:
    """The table of a bracket: by the last pairing of each entrant. Equal ones share a rank."""
    lines: list[Line] = []
    for class_of_entrants in split_by_leaving(stage, stage.field):
        ordered = sorted(class_of_entrants, key=lambda one: bracket_key(stage, one))
        previous: tuple[int, bool, bool] | None = None
        for entrant in ordered:
            key = bracket_key(stage, entrant)
            rank = lines[-1].rank if key == previous else len(lines) + 1
            previous = key
            met = [result for _, result in finished_results(stage, entrant) if not result.is_bye]
            won = sum(result.entrants[0] == entrant for result in met)
            lines.append(Line(entrant, rank, 0, Fraction(won), len(met), won, {}))
    return lines


def bracket_key(stage: Stage, entrant: int) -> tuple[int, bool, bool]:
    """Later rounds first; the match for the third place behind the final; losers behind winners."""
    last = max(
        stage.pairings_of(entrant),
        key=lambda pairing: (int(pairing["round"]), int(pairing["number"])),
        default=None,
    )
    if last is None:
        return (0, False, False)
    result = stage.result(last)
    has_lost = result is not None and result.entrants[0] != entrant
    return (-int(last["round"]), last["section"] == "third place", has_lost)
