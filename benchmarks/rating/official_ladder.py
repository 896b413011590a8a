"""Our ladder in the simulation: the real official fit and the real pairing."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating.baselines import Known, Matchmaker, View
from benchmarks.rating.worlds import Flags, Floats, Ints
from ladder.ids import AgentId, EntryId, SubmissionId, TeamId
from ladder.leagues.medals import MedalRules
from ladder.matches.pairing import Candidate, EncounterCounts, propose_lineups
from ladder.ratings import fitting
from ladder.ratings.official import resubmission_inheritance
from ladder.ratings.official.fit import Fit, Prior, fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.ranks import draw_ranks, remaining_uncertainty

START, BETA = 600.0, 150.0
"""The first mean and one beta, in points."""
DRAWS = 200
"""The number of draws of the ranks that estimate losses."""


class Official:
    """A ladder that fits all games before each batch of lineups, and makes a cold fit at the end.

    ``matchmaker`` replaces the pairing, to test the fit alone. If ``parents`` is False, new
    versions start like new agents. ``bundle`` gives the contender of each entry.
    """

    def __init__(
        self,
        seats: int,
        *,
        weight: float = fitting.OPEN_WEIGHT,
        finals_weight: float = fitting.FINAL_WEIGHT,
        matchmaker: Matchmaker | None = None,
        parents: bool = True,
        bundle: Ints | None = None,
    ) -> None:
        self._seats, self._matchmaker, self._parents = seats, matchmaker, parents
        self._weight, self._finals_weight = weight, finals_weight
        self._bundle = bundle
        self._parent = np.zeros(0, dtype=np.int32)
        self._games = np.zeros(0, dtype=np.int64)
        self._log = GameTable.empty(seats)
        self._fit: Fit | None = None
        self._stale = True

    def enter(self, parents: Ints) -> None:
        """Add newcomers, and new versions that start from the estimate of the old ones."""
        self._parent = np.append(
            self._parent, parents if self._parents else np.full_like(parents, -1)
        )
        self._games = np.append(self._games, np.zeros(len(parents), dtype=np.int64))
        self._stale = True

    def lineups(self, active: Ints, count: int, rng: np.random.Generator) -> Ints:
        """The next games, by the current official standing."""
        board = self._fitted()
        who = self._contender(active)
        games = self._games[active]
        if self._matchmaker is not None:
            known = Known(board.mu[who], board.sigma[who], games)
            return active[self._matchmaker(known, self._seats, count, rng)]
        losses = self._remaining_uncertainties(board, who, int(rng.integers(2**31)))
        candidates = [
            Candidate(
                entry_id=EntryId(f"ent_{entry:026d}"),
                submission_id=SubmissionId(f"sub_{entry:026d}"),
                agent_id=AgentId(f"age_{entry:026d}"),
                team_id=TeamId(f"tea_{entry:026d}"),
                digest=str(contender),
                profile="numpy",
                mu=START + BETA * float(board.mu[contender]),
                sigma=BETA * float(board.sigma[contender]),
                games=int(had),
                in_flight=0,
                weight=1.0,
                loss=float(lost),
            )
            for entry, contender, had, lost in zip(active, who, games, losses, strict=True)
        ]
        number = {each.entry_id: int(one) for each, one in zip(candidates, who, strict=True)}
        proposal = propose_lineups(
            candidates,
            seats=self._seats,
            lineups=count,
            rng=Random(int(rng.integers(2**63))),
            beta=BETA,
            met=EncounterCounts(number, self._log.contenders),
        )
        found = [[int(str(seat.entry_id)[4:]) for seat in one] for one in proposal.lineups]
        return np.array(found, dtype=np.int32).reshape(-1, self._seats)

    def learn(self, lineups: Ints, ranks: NDArray[np.int16], faults: Flags) -> None:
        """Append results to the log."""
        log = self._log
        self._log = GameTable(
            np.concatenate([log.contenders, self._contender(lineups)]),
            np.concatenate([log.ranks, ranks]),
            np.concatenate([log.faults, faults]),
        )
        np.add.at(self._games, lineups.ravel(), 1)
        self._stale = True

    def close_uploads(self) -> None:
        """Spend the following games on the medal boundaries."""
        self._weight = self._finals_weight

    def finish_season(self) -> None:
        """Make the final standing: a cold fit."""
        self._fit = self.refitted(self._log, np.arange(len(self._parent), dtype=np.int32))
        self._stale = False

    def view(self, active: Ints) -> View:
        """The official standing with its displayed uncertainty."""
        board, who = self._fitted(), self._contender(active)
        return View(board.mu[who], board.shown_sigma[who], board.mu[who])

    def shuffled_spread(self, seed: int) -> float:
        """The score change in beta if the log is permuted and all entries are renumbered."""
        rng = np.random.default_rng(seed)
        count = len(self._parent)
        straight = self.refitted(self._log, np.arange(count, dtype=np.int32)).mu
        number = rng.permutation(count).astype(np.int32)
        rows = self._log.take(rng.permutation(len(self._log)))
        renamed = GameTable(number[rows.contenders], rows.ranks, rows.faults)
        return float(np.abs(self.refitted(renamed, number).mu[number] - straight).max())

    def refitted(self, log: GameTable, number: Ints) -> Fit:
        """A cold fit that numbers contender i by ``number[i]``."""
        return fit(log, self._prior(log, number))

    def _fitted(self) -> Fit:
        if self._stale or self._fit is None:
            warm = None if self._fit is None else self._fit.messages
            number = np.arange(len(self._parent), dtype=np.int32)
            self._fit = fit(self._log, self._prior(self._log, number), warm=warm)
            self._stale = False
        return self._fit

    def _prior(self, log: GameTable, number: Ints) -> Prior:
        prior = Prior.unknown(len(number))
        has = self._parent >= 0
        prior.parent[number[has]] = number[self._parent[has]]
        return replace(prior, parent=resubmission_inheritance.parents_to_keep(log, prior.parent))

    def _contender(self, entries: Ints) -> Ints:
        return entries if self._bundle is None else self._bundle[entries]

    def _remaining_uncertainties(self, board: Fit, who: Ints, seed: int) -> Floats:
        everybody = np.arange(len(who))
        mu, sigma = board.mu[who], board.shown_sigma[who]
        ranks = draw_ranks(mu, sigma, everybody, everybody, DRAWS, seed)
        return remaining_uncertainty(ranks, MedalRules().cuts(len(who)), self._weight)
