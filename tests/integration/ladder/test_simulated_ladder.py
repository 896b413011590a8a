"""The simulated ladder of the benchmark decides like the service on the same log."""

from __future__ import annotations

from random import Random

import numpy as np

from benchmarks.rating.official_ladder import Official
from ladder.database.db import Connection
from ladder.entries import entries
from ladder.ids import EntryId
from ladder.leagues import seasons
from ladder.ratings import fitting, live_ratings
from ladder.ratings.fitting import OfficialFitter
from ladder.scheduling.season_cache import SeasonCache
from tests.integration.ladder.contest import Contest, make_contest

AT_ONCE = 3


def play(contest: Contest, simulated: Official, lineups: list[list[int]], rng: Random) -> None:
    """Plays these matches in both, with the same results."""
    simulated.start(np.array(lineups, np.int32))
    ranks, faults = [], []
    for lineup in lineups:
        order = sorted(range(4), key=lambda seat: lineup[seat] + rng.gauss(0, 3))
        placements = [order.index(seat) + 1 for seat in range(4)]
        verdicts = ["DONE"] * 4
        if rng.random() < 0.2:
            verdicts[order[-1]] = "ERROR"
        match_id = contest.rated(*(contest.entries[each] for each in lineup))
        contest.play(match_id, placements, verdicts)
        ranks.append(placements)
        faults.append([verdict != "DONE" for verdict in verdicts])
    while live_ratings.rate_season(contest.conn, contest.season.id):
        pass
    simulated.learn(np.array(lineups, np.int32), np.array(ranks, np.int16), np.array(faults))


def service_lineups(contest: Contest, cache: SeasonCache, rng: Random) -> list[list[int]]:
    season = seasons.get_season(contest.conn, contest.season.id)
    cache.read_entries(contest.conn, season.id)
    cache.read_log(contest.conn, season)
    proposal = cache.propose_lineups(season, lineups=AT_ONCE, rng=rng)
    number = {entry: n for n, entry in enumerate(contest.entries)}
    return [[number[EntryId(str(seat.entry_id))] for seat in one] for one in proposal.lineups]


def test_the_benchmark_chooses_the_lineups_of_the_service(conn: Connection) -> None:
    contest = make_contest(conn)
    agents = [contest.agent() for _ in range(9)]
    for agent in agents:
        contest.active(agent)
    contest.active(is_anchor=True)
    cache, fitter, rng = SeasonCache(), OfficialFitter(), Random(1)
    simulated = Official(4)
    simulated.season_id = contest.season.id
    simulated.enter(np.full(9, -1, np.int32))
    simulated.enter(np.array([-1], np.int32), are_anchors=True)
    active = np.arange(10, dtype=np.int32)
    fits = 0
    for turn in range(14):
        if turn == 8:  # a new version of the first agent; the old one plays on
            contest.active(agents[0])
            simulated.enter(np.array([0], np.int32))
            active = np.arange(11, dtype=np.int32)
        if turn == 11:
            seasons.set_season_state(conn, contest.season.id, "locked")
            simulated.close_uploads()
        conn.execute("update seasons set official_at = official_at - interval '2 s'")
        due = contest.season.id in fitting.seasons_to_fit(conn)
        assert due == simulated.is_fit_due()
        if due and turn % 3:  # some rounds pair before the fit that is due
            fitter.refit(conn, contest.season.id)
            simulated.refit(active)
            fits += 1
        lineups = service_lineups(contest, cache, Random(turn))
        assert len(lineups) == AT_ONCE
        assert lineups == simulated.propose(active, AT_ONCE, Random(turn)).tolist()
        play(contest, simulated, lineups, rng)
    assert fits > 5


def test_matches_in_flight_count_in_both(conn: Connection) -> None:
    contest = make_contest(conn)
    for _ in range(9):
        contest.active()
    cache, rng = SeasonCache(), Random(2)
    simulated = Official(4)
    simulated.season_id = contest.season.id
    simulated.enter(np.full(9, -1, np.int32))
    active = np.arange(9, dtype=np.int32)
    play(contest, simulated, simulated.propose(active, 6, Random(3)).tolist(), rng)
    OfficialFitter().refit(conn, contest.season.id)
    simulated.refit(active)
    before = simulated.propose(active, AT_ONCE, Random(4)).tolist()
    begun = simulated.propose(active, 8, Random(5))
    simulated.start(begun)
    for lineup in begun.tolist():
        contest.rated(*(contest.entries[each] for each in lineup))
    assert sum(entries.get_entry(conn, each).in_flight for each in contest.entries) == 32
    after = service_lineups(contest, cache, Random(4))
    assert after == simulated.propose(active, AT_ONCE, Random(4)).tolist()
    assert after != before
