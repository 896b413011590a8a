"""Our ladder in the simulation: the fit, the standing and the pairing of the service.

``ladder.ratings.official`` and ``ladder.scheduling.season_cache`` make every decision, with the
settings of the service. ``test_simulated_ladder`` compares the decisions with those of a real
season in Postgres.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating.baselines import Known, Matchmaker, View
from benchmarks.rating.worlds import Flags, Floats, Ints
from ladder.ids import AgentId, EntryId, SeasonId, SubmissionId, TeamId
from ladder.leagues.medals import MedalRules
from ladder.leagues.seasons import SeasonColumns
from ladder.matches.pairing import Candidate
from ladder.ratings.official.fit import GROWTH, Fit, fit_season, season_seed
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.representatives import Entrant
from ladder.ratings.official.season_suspects import SeasonSuspects, find_suspects
from ladder.ratings.official.standing import (
    FINAL_WEIGHT,
    OfficialPlace,
    PairingPlaces,
    build_standing,
)
from ladder.scheduling.season_cache import PairingTerms, SeasonField

DEFAULTS: Final = SeasonColumns(configuration={}, configuration_digest="", clock={}, seats=4)
"""The default settings of a season."""
START, BETA = DEFAULTS.mu0, DEFAULTS.beta
"""The first mean and one beta, in points."""


class Official:
    """A season of the service: fits after each growth of the log, and a cold fit at the end.

    There are no live ratings: an entry starts at the first mean until a fit includes it.
    ``matchmaker`` replaces the pairing, to test the fit alone. If ``parents`` is False, new
    versions start like new agents. ``growth`` is the growth of the log after which a fit is due.
    The service also makes one 10 s after the last, so 1.0 is right for a league that plays slowly.
    Without ``paced``, entries that fail and groups of equals play like the others.
    """

    def __init__(
        self,
        seats: int,
        *,
        matchmaker: Matchmaker | None = None,
        parents: bool = True,
        growth: float = GROWTH,
        paced: bool = True,
    ) -> None:
        self._terms = PairingTerms(seats, BETA)
        self._matchmaker, self._parents = matchmaker, parents
        self.most_in_flight = DEFAULTS.max_in_flight if matchmaker is None else None
        self.growth = growth
        self.season_id = SeasonId("sea_simulated")
        self._parent: list[int] = []
        self.declared: set[int] = set()
        """Entries that their teams declared."""
        self.paused: set[int] = set()
        """Entries on the board that get no match."""
        self.most_of_entry: dict[int, int] = {}
        """Limits of matches in flight of remote entries."""
        self._are_anchors: list[bool] = []
        self._team: list[int] = []
        """By entry: the first entry of its team. A new version belongs to its parent's team."""
        self._games = np.zeros(0, np.int64)
        self._in_flight = np.zeros(0, np.int64)
        self._contender = np.zeros(0, np.int32)
        """By entry; -1 before its first game."""
        self._numbers: dict[EntryId, int] = {}
        self._contender_parents: list[int] = []
        self._log = GameTable.empty(seats)
        self._field = SeasonField() if paced else _UnpacedField()
        self._fit: Fit | None = None
        self._fitted_games, self._is_stale = 0, False
        self._entrants: list[Entrant] = []
        self._places: dict[EntryId, OfficialPlace] = {}
        self.suspects = SeasonSuspects()
        """Those of the newest standing."""

    def enter(self, parents: Ints, *, are_anchors: bool = False) -> None:
        """Adds newcomers, and new versions that start from the estimate of the old ones."""
        count = len(parents)
        self._are_anchors += [are_anchors] * count
        for entry, parent in enumerate(parents.tolist(), len(self._team)):
            self._team.append(entry if parent < 0 else self._team[parent])
        self._parent += parents.tolist() if self._parents else [-1] * count
        self._games = np.append(self._games, np.zeros(count, np.int64))
        self._in_flight = np.append(self._in_flight, np.zeros(count, np.int64))
        self._contender = np.append(self._contender, np.full(count, -1, np.int32))

    def lineups(self, active: Ints, count: int, rng: np.random.Generator) -> Ints:
        """The next games, by the current official standing."""
        if self.is_fit_due():
            self.refit(active)
        if self._matchmaker is not None:
            board = self._read_board(active)
            known = Known(board.mu, board.sigma, self._games[active])
            found = active[self._matchmaker(known, self._terms.seats, count, rng)]
        else:
            found = self.propose(active, count, Random(int(rng.integers(2**63))))
        self.start(found)
        return found

    def start(self, lineups: Ints) -> None:
        """Counts these matches as in flight."""
        np.add.at(self._in_flight, lineups.ravel(), 1)

    def propose(self, active: Ints, count: int, rng: Random) -> Ints:
        """The lineups of one round of the scheduler."""
        self._field.set_entries([self._candidate(entry) for entry in active.tolist()])
        proposal = self._field.propose_lineups(self._terms, lineups=count, rng=rng)
        found = [[int(str(seat.entry_id)[4:]) for seat in one] for one in proposal.lineups]
        return np.array(found, dtype=np.int32).reshape(-1, self._terms.seats)

    def learn(self, lineups: Ints, ranks: NDArray[np.int16], faults: Flags) -> None:
        """Appends results to the log."""
        if not len(lineups):
            return
        for entry in dict.fromkeys(lineups.ravel().tolist()):
            self._number(entry)
        log = self._log
        self._log = GameTable(
            np.concatenate([log.contenders, self._contender[lineups]]),
            np.concatenate([log.ranks, ranks]),
            np.concatenate([log.faults, faults]),
        )
        np.add.at(self._games, lineups.ravel(), 1)
        np.add.at(self._in_flight, lineups.ravel(), -1)
        self._field.count_games(self._numbers, self._log)

    def void(self, lineups: Ints) -> None:
        """Counts these matches as no longer in flight."""
        np.add.at(self._in_flight, lineups.ravel(), -1)

    def close_uploads(self) -> None:
        """Spends later games on the medal boundaries, with nearer partners; ends declarations.

        The next fit is due at once.
        """
        self._terms, self._is_stale = replace(self._terms, is_open=False), True
        self.declared = set()

    def finish_season(self) -> None:
        """Makes the final standing: a cold fit."""
        self._fit = None
        self.refit(np.array([int(each.entry_id[4:]) for each in self._entrants], np.int32))

    def view(self, active: Ints) -> View:
        """The official standing with its displayed uncertainty."""
        placed = self._places.keys() == {entry_id(entry) for entry in active.tolist()}
        if len(self._log) and not (placed and self._fitted_games == len(self._log)):
            self.refit(active)
        return self._read_board(active)

    def ranked(self, active: Ints) -> Flags:
        """Which of these stand for a team in the newest standing."""
        ranks = [self._places[entry_id(entry)].rank for entry in active.tolist()]
        return np.array([rank is not None for rank in ranks], np.bool_)

    def place_of(self, entry: int) -> OfficialPlace:
        """The official place of an entry in the newest standing."""
        return self._places[entry_id(entry)]

    def games_of(self, entry: int) -> int:
        """The games that an entry has played and the newest standing includes."""
        return int(self._games[entry]) if entry_id(entry) in self._places else 0

    def is_fit_due(self) -> bool:
        """Whether the log has grown enough since the last fit, or uploads have closed.

        A new entry gets its first place with the next fit, as in the service.
        """
        games = len(self._log)
        if games == 0 or self._fit is None or self._is_stale:
            return games > 0
        return games > self._fitted_games and games >= self.growth * self._fitted_games

    def refit(self, active: Ints) -> None:
        """Fits the whole log and draws up the standing of these entries."""
        warm = None if self._fit is None else self._fit.messages
        parents = np.array(self._contender_parents, np.int32)
        self._fit = fit_season(self._log, parents, warm=warm)
        self._fitted_games, self._is_stale = len(self._log), False
        self._entrants = [self._entrant(entry) for entry in active.tolist()]
        standing = build_standing(
            self._fit,
            self._entrants,
            mu0=START,
            beta=BETA,
            seed=season_seed(self.season_id),
            boundary_weight=None if self._terms.is_open else FINAL_WEIGHT,
            rules=MedalRules(),
        )
        places = zip(self._entrants, standing.places, strict=True)
        self._places = {each.entry_id: place for each, place in places}
        self.suspects = find_suspects(self._fit, self._entrants, self.suspects)
        rows = [(each.score, each.sigma, each.loss) for each in standing.places]
        columns = np.array(rows).reshape(-1, 3).T
        self._field.set_places(PairingPlaces(list(self._places), columns), self.suspects)

    def _number(self, entry: int) -> None:
        """Numbers a contender by its first game, as ``SeasonLog`` does."""
        if self._contender[entry] >= 0:
            return
        number = len(self._contender_parents)
        self._contender[entry] = self._numbers[entry_id(entry)] = number
        self._contender_parents.append(self._parent_number(entry))

    def _parent_number(self, entry: int) -> int:
        parent = self._parent[entry]
        return -1 if parent < 0 else int(self._contender[parent])

    def _entrant(self, entry: int) -> Entrant:
        return Entrant(
            entry_id(entry),
            TeamId(f"tea_{self._team[entry]:026d}"),
            int(self._contender[entry]),
            self._parent_number(entry),
            is_anchor=self._are_anchors[entry],
            is_declared=entry in self.declared,
            games=int(self._games[entry]),
        )

    def _candidate(self, entry: int) -> Candidate:
        return Candidate(
            entry_id=entry_id(entry),
            submission_id=SubmissionId(f"sub_{entry:026d}"),
            agent_id=AgentId(f"age_{entry:026d}"),
            team_id=TeamId(f"tea_{self._team[entry]:026d}"),
            digest=str(entry),
            profile="numpy",
            mu=START,
            sigma=DEFAULTS.sigma0,
            games=int(self._games[entry]),
            in_flight=int(self._in_flight[entry]),
            weight=0.0 if entry in self.paused else 1.0,
            is_anchor=self._are_anchors[entry],
            most_in_flight=self.most_of_entry.get(entry),
        )

    def _read_board(self, active: Ints) -> View:
        if self._fit is None:
            return View(np.zeros(len(active)), np.ones(len(active)), np.zeros(len(active)))
        places = [self._places.get(entry_id(entry)) for entry in active.tolist()]
        mu = np.array([START if place is None else place.score for place in places]) / BETA
        sigma = [DEFAULTS.sigma0 if place is None else place.sigma for place in places]
        return View(mu, np.array(sigma) / BETA, mu)


class _UnpacedField(SeasonField):
    """The field before entries had a pace."""

    def row_paces(self) -> Floats:
        return np.ones(len(super().row_paces()))

    def _failing_paces(self) -> Floats:
        return np.ones(len(super()._failing_paces()))


def entry_id(entry: int) -> EntryId:
    """The id of an entry of the simulation; ids sort like numbers."""
    return EntryId(f"ent_{entry:026d}")
