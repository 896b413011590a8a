from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

from py4swiss.trf import TrfParser

from ladder.tournaments.formats.course import play
from ladder.tournaments.formats.export import export_trf
from ladder.tournaments.formats.plan import TEAM_RULE, Plan, Swiss, describe_plan
from ladder.tournaments.formats.records import By, Event, Game, Progress, WantedGame
from ladder.tournaments.formats.trf import Player, Report, RoundOf, write_report
from tests.unit.ladder.tournaments.dutch_tournaments import ANSWERS, digest_of, pair_here
from tests.unit.ladder.tournaments.simulated import Played, play_out


def rounds_for(size: int) -> int:
    return min(size - 1, max(2, size.bit_length()))


def pairs(played: Played) -> list[tuple[int, ...]]:
    return [
        tuple(sorted(each or 0 for each in pairing.entrants)) for pairing in played.course.pairings
    ]


def test_nobody_meets_twice_and_byes_come_once() -> None:
    for size in (*range(6, 20), 33, 64):
        played = play_out(Swiss(rounds=min(5, size // 2)), size, size, withdrawing=0.02)
        counts = Counter(pairs(played))
        assert max(counts.values()) == 1
        notes = {paired.note for paired in played.course.published.values()}
        assert notes == {""}


def test_prohibited_pairs_never_meet() -> None:
    prohibited = frozenset((n, n + 1) for n in range(1, 24, 2))
    for seed in range(5):
        played = play_out(Swiss(rounds=6), 24, seed, prohibited=prohibited)
        assert not prohibited & set(pairs(played))


def test_as_many_rounds_as_possible_are_always_paired() -> None:
    for size in range(2, 14):
        played = play_out(Swiss(rounds=size - 1 + size % 2), size, size, withdrawing=0.03)
        assert played.course.finished
        for each in played.course.pairings:
            if each.outcome and each.outcome.by is By.WALK_OVER:
                assert set(each.entrants) & set(played.withdrawn)


def test_py4swiss_reads_an_exported_stage(tmp_path: Path) -> None:
    played = play_out(Swiss(rounds=5), 15, 3, withdrawing=0.05)
    names = {n: f"Agent {n}" for n in range(1, 16)}
    text = export_trf(played.event, played.progress, played.course, 1, names)
    (tmp_path / "report.trf").write_text(text)
    parsed = TrfParser.parse(tmp_path / "report.trf", strict=True)
    assert [player.name for player in parsed.player_sections] == list(names.values())
    assert {len(player.results) for player in parsed.player_sections} == {5}


def test_report_keeps_its_columns_whatever_a_name_holds() -> None:
    hostile = Player("evil\n001    9 \x1b[31m name that is far too long for it", (), 1)
    text = write_report(Report("T\n001", 3, (hostile,)))
    line = next(line for line in text.splitlines() if line.startswith("001"))
    assert line[80:89] == " 0.0    1"
    assert text.count("\n001") == 1
    assert "\x1b" not in text


def test_py4swiss_reads_the_points_of_a_report(tmp_path: Path) -> None:
    player = Player("one", (RoundOf(2, "w", "1"),), 1), Player("two", (RoundOf(1, "b", "0"),), 2)
    (tmp_path / "report.trf").write_text(write_report(Report("Cup", 3, player)))
    parsed = TrfParser.parse(tmp_path / "report.trf", strict=True)
    assert [each.points_times_ten for each in parsed.player_sections] == [10, 0]


def test_pairings_equal_those_of_bbp_pairings() -> None:
    answers = ANSWERS.read_text().split()
    assert len(answers) == 1000
    for number in (*range(1, 7), 38, 200):
        assert digest_of(number, pair_here) == answers[number - 1]


def test_a_swiss_stage_ends_if_all_withdrew_before_its_start() -> None:
    event = Event(Plan((Swiss(rounds=1),)), 2, b"s" * 32)
    course = play(event, Progress({}, {1: (1, 0), 2: (1, 0)}))
    assert course.finished
    assert course.ranking == (1, 2)


def test_the_reason_of_a_floated_pairing_names_agents_of_one_team() -> None:
    def better_wins(wanted: WantedGame, rng: Random) -> Game:
        best = min(wanted.entrants)
        return Game(wanted.number, wanted.entrants, tuple(1 + (e != best) for e in wanted.entrants))

    mates = frozenset({(1, 2)})
    played = play_out(Swiss(rounds=3), 6, result=better_wins, prohibited=mates)
    floated = [each.reason for each in played.course.pairings if "Floated" in each.reason]
    told = [reason for reason in floated if "of one team" in reason]
    assert told
    assert all(
        reason.endswith(("{1} and {2} are of one team.", "{2} and {1} are of one team."))
        for reason in told
    )
    free = play_out(Swiss(rounds=3), 6, result=better_wins)
    assert not [each for each in free.course.pairings if "of one team" in each.reason]


def test_a_plan_tells_the_rule_of_teams() -> None:
    assert TEAM_RULE in describe_plan(Plan((Swiss(rounds=3),)))[0]
