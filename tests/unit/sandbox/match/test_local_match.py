"""Local batches of matches: names, seats, seeds, rates."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from games import GAMES
from games.episode import Episode
from games.protocol import Verdict
from sandbox.match.clock import Clock
from sandbox.match.local_match import (
    LocalPlan,
    LocalResult,
    longest_episode_seconds,
    rotated_seats,
    seed_of_game,
    summarize_agents,
)
from sandbox.match.match_record import PlayedMatch, SeatReport

GEESE = GAMES["hungry_geese"]


def _plan(*paths: str) -> LocalPlan:
    agents = tuple(map(Path, paths))
    return LocalPlan(
        GEESE, GEESE.configure({}), Clock(), agents, 2, bytes(16), max_parallel_seats=1
    )


def _result(number: int, placements: tuple[int, ...]) -> LocalResult:
    seats = tuple(
        SeatReport(place, 1.0, Verdict.DONE, None, None, 0.1, 0.01 * place, b"")
        for place in placements
    )
    verdicts = ("DONE",) * len(placements)
    rewards = (1.0,) * len(placements)
    episode = Episode("g", "1", {}, {}, len(placements), None, (), placements, rewards, verdicts)
    lineup = rotated_seats(len(placements), number)
    return LocalResult(number, bytes(16), lineup, PlayedMatch(episode, seats), 1.0)


def test_agents_are_named_by_file_or_folder() -> None:
    plan = _plan("/a/greedy/main.py", "x/greedy.py", "y/mine.tar.gz", "y/mine.zip", "z/search")
    assert plan.names == ("greedy#1", "greedy#2", "mine#1", "mine#2", "search")


@given(st.integers(1, 8))
def test_each_agent_plays_every_seat_once(agents: int) -> None:
    seatings = [rotated_seats(agents, number) for number in range(1, agents + 1)]
    assert seatings[0] == tuple(range(agents))
    for seat in range(agents):
        assert {lineup[seat] for lineup in seatings} == set(range(agents))


def test_later_games_have_derived_seeds() -> None:
    seed = bytes(range(16))
    assert seed_of_game(seed, 1) == seed
    assert len({seed_of_game(seed, number) for number in range(1, 50)}) == 49
    assert seed_of_game(seed, 7) == seed_of_game(seed, 7)


def test_shared_first_places_split_the_win() -> None:
    plan = _plan("a.py", "b.py")
    # In the second game the seats are swapped: the first seat belongs to b.
    first, second = summarize_agents(plan, [_result(1, (1, 2)), _result(2, (1, 1))])
    assert (first.agent, first.wins, first.mean_placement) == ("a", 1.5, 1.0)
    assert (second.agent, second.wins, second.mean_placement) == ("b", 0.5, 1.5)
    assert first.win_rate == 0.75


def test_the_longest_match_covers_the_full_clock_of_every_seat() -> None:
    assert longest_episode_seconds(_plan("a.py", "b.py"), 2, 1) > 2 * 200 * 1.0 + 2 * 60.0
