"""Plays seasons in which teams try tricks, and measures what they gain.

Five of 100 teams try a trick. Their agents do not change, so their ranks and scores at the end
should be those of one upload. Uploads are open for 10 days and then locked for three.

- *one*: a team uploads once.
- *newest*: it enters the same agent five times a day, each time with other bytes.
- *lucky*: it also declares the entry with the best official score, after each upload. It may do so
  only while that entry stands for it, and the declaration ends when uploads lock.
- *freeze*: it uploads until an entry is lucky, and keeps this score: the agent no longer answers.
- *withdraw*: it uploads until an entry is lucky, and withdraws the others.
- *skip*: games have two seats and pairwise advantages. The agent does not answer its worst
  opponents, as often as no loss follows. *answer* is the same league without this.

A team knows its true strength. An entry is lucky if its score is ``LUCK`` points above it after
``TRIED_GAMES`` games. *before* are earlier rules: a team freezes or keeps the luckiest of all its
uploads, since paused entries count in no limit, and withdraws the others at any time, also after
uploads lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.rating import worlds
from benchmarks.rating.official_ladder import BETA, Official
from benchmarks.rating.seasons import MOST_OF_TEAM, Flight
from benchmarks.rating.worlds import Ints

AGENTS, TEAMS = 100, 5
"""All teams, and those that try the trick."""
OPEN_DAYS, FINAL_DAYS = 10, 3
UPLOADS = 5
"""Uploads a day of a team that tries."""
GAMES = 8
"""Games per agent and day."""
GROWTH = 1.01
"""Growth of the log after which a fit is due. The service fits more often."""
SEATS, SKIP_SEATS, SKIP_CYCLE = 4, 2, 1.0
DUELS = ("answer", "skip")
TRIED_GAMES = 12
"""Games after which a team judges the luck of an entry."""
LUCK = 40.0
WORST = 0.3
"""Share of the opponents that an agent leaves unanswered."""
MOST_STRIKES: Final = 3
ANSWERS: Final = 10
"""Answered matches after which a strike goes."""
WAITS: Final = (10 / 60 / 24, 1 / 24, 6 / 24, 1.0)
"""In days: how long a pause lasts after so many tries, the last also after more."""
MOST_IN_FLIGHT, LEAST_IN_FLIGHT = 4, 1
"""Matches in flight of a remote entry that has strikes left, and of one without."""


@dataclass
class RemoteEntry:
    """Strikes and pauses of a remote entry; ``entries.sql`` holds the rules of the service."""

    first_rules: bool = False
    strikes: int = 0
    answered: int = 0
    tries: int = 0
    paused_days: float | None = None
    """Days of the pause; None: it plays."""

    @property
    def is_excused(self) -> bool:
        """Whether a match without an answer is void."""
        return self.first_rules or self.strikes < MOST_STRIKES

    @property
    def most_in_flight(self) -> int:
        return LEAST_IN_FLIGHT if self.strikes == MOST_STRIKES else MOST_IN_FLIGHT

    def answer(self) -> None:
        """Counts a match that it answered."""
        if self.strikes:
            self.answered += 1
        if self.answered == ANSWERS:
            self.answered, self.strikes = 0, self.strikes - 1

    def leave(self) -> None:
        """Counts a match that it did not answer, a minute or more after the last one."""
        self.tries = 0 if self.strikes < MOST_STRIKES else self.tries
        self.strikes, self.answered = min(self.strikes + 1, MOST_STRIKES), min(self.answered, 0)
        if self.strikes == MOST_STRIKES:
            self.paused_days = WAITS[min(self.tries, len(WAITS) - 1)]

    def wait(self) -> None:
        """Ends a pause after its time."""
        self.paused_days, self.tries = None, self.tries + 1

    def resume(self) -> None:
        """Ends a pause by a try that the owner asked for and the agent answers."""
        self.paused_days, self.tries, self.answered = None, 0, 0
        if self.first_rules:
            self.strikes = 0


@dataclass
class Team:
    """A team that tries a trick."""

    own: list[int]
    """Its entries on the board, the oldest first."""
    remote: RemoteEntry
    kept: int | None = None
    """The lucky entry."""
    plays_at: float | None = None
    """Day on which a pause of the frozen entry ends; None: it is not paused by the second rules."""


@dataclass(frozen=True)
class Outcome:
    """The teams that tried, at the end; each value is their mean."""

    gain_points: float
    """Score minus true strength, on the scale of the others."""
    gain_ranks: float
    """True rank minus rank."""


class _Season:
    """One season in which some teams try a trick."""

    def __init__(self, seed: int, trick: str, first_rules: bool) -> None:
        self.trick, self.first_rules = trick, first_rules
        seats, cycle = (SKIP_SEATS, SKIP_CYCLE) if trick in DUELS else (SEATS, 0.0)
        world = worlds.normal(AGENTS + seats, seats, np.random.default_rng([seed, 0]), cycle=cycle)
        self.world = worlds.with_anchors(world, seats)
        self.rng = np.random.default_rng([seed, 7])
        self.ladder = Official(seats, growth=GROWTH)
        self.ladder.enter(np.full(AGENTS, -1, np.int32))
        self.ladder.enter(np.full(seats, -1, np.int32), are_anchors=True)
        self.others = np.arange(AGENTS - TEAMS, dtype=np.int32)
        self.anchors = np.arange(AGENTS, AGENTS + seats, dtype=np.int32)
        self.teams = [
            Team([entry], RemoteEntry(first_rules)) for entry in range(AGENTS - TEAMS, AGENTS)
        ]
        answered = self._answered if trick == "skip" else None
        self.flight = Flight(self.ladder, self.world, self.rng, answered)
        self.day = 0.0

    def play(self) -> Outcome:
        """Plays the season."""
        for turn in range((OPEN_DAYS + FINAL_DAYS) * UPLOADS):
            if turn == OPEN_DAYS * UPLOADS:
                self.ladder.close_uploads()
            self._play_turn()
            if turn < OPEN_DAYS * UPLOADS:
                for team in self.teams:
                    self._try(team)
        if self.first_rules and self.trick in ("freeze", "withdraw"):
            for team in self.teams:
                team.own = [team.kept or max(team.own, key=self._luck)]
        self.world.crash[:] = 0.0  # strength is that of an agent that answers
        self.ladder.refit(self._active())
        return self._outcome()

    def _active(self) -> Ints:
        own = [entry for team in self.teams for entry in team.own]
        return np.concatenate([self.others, self.anchors, own]).astype(np.int32)

    def _play_turn(self) -> None:
        """Plays a fifth of a day. A frozen entry that gets a match after a pause loses it."""
        matches = round(AGENTS * GAMES / UPLOADS / self.world.seats)
        left = matches
        while left > 0:
            for team in self.teams:
                if team.plays_at is not None and self.day >= team.plays_at:
                    team.remote.wait()
                    team.plays_at = None
                    self.ladder.paused.discard(team.own[-1])
            played = self.flight.play(self._active(), left)
            left -= len(played)
            self.day += len(played) / matches / UPLOADS
            for team in self.teams:
                if self.world.crash[team.own[-1]] and team.own[-1] in played:
                    self._be_away(team)

    def _try(self, team: Team) -> None:
        """What a team does five times a day."""
        if self.trick in ("freeze", "withdraw"):
            new = [entry for entry in team.own if entry != team.kept]
            if min(self.ladder.games_of(entry) for entry in new or team.own) < TRIED_GAMES:
                return
            if self.first_rules:
                self._keep_luckiest(team)
            elif team.kept is None and self._luck(team.own[-1]) >= LUCK:
                team.own = team.own[-1:]  # entries leave oldest first
                team.kept = team.own[0]
                while self.trick == "freeze" and team.plays_at is None:
                    self._be_away(team)  # these matches are void
            if team.kept is not None and not self.first_rules:
                return  # another upload would stand instead of the lucky one
        if self.trick == "one" or self.trick in DUELS:
            return
        team.own.append(self._upload(team.own[-1]))
        if self.trick == "lucky":
            self._declare_best(team)
        if len(team.own) > MOST_OF_TEAM:
            self.ladder.declared.discard(team.own.pop(0))

    def _keep_luckiest(self, team: Team) -> None:
        """Keeps the luckiest entry by the first rules, and enters new ones beside it."""
        team.kept = max(team.own, key=self._luck)
        self.ladder.paused.difference_update(team.own)
        if self.trick == "freeze":
            self.ladder.paused.add(team.kept)
        team.own = [team.kept]
        while len(team.own) < MOST_OF_TEAM - 1:
            team.own.append(self._upload(team.kept))

    def _be_away(self, team: Team) -> None:
        """Lets a match of the frozen entry end without an answer."""
        entry = team.own[-1]
        team.remote.leave()
        self.world.crash[entry] = 1.0
        if team.remote.paused_days is not None:
            team.plays_at = self.day + team.remote.paused_days
            self.ladder.paused.add(entry)
            self.ladder.most_of_entry[entry] = team.remote.most_in_flight

    def _answered(self, lineups: Ints) -> Ints:
        """The matches that are not void, since an agent that skips was not excused or answered."""
        team_of = {team.own[0]: team for team in self.teams}
        edges, void = self.world.seat_advantages(lineups), np.zeros(len(lineups), np.bool_)
        for row, seat in np.argwhere(np.isin(lineups, list(team_of))).tolist():
            entry = int(lineups[row, seat])
            remote = team_of[entry].remote
            if remote.is_excused and edges[row, seat] < self._worst_edge(entry):
                void[row] = True
                remote.leave()
                remote.resume()
            else:
                remote.answer()
            self.ladder.most_of_entry[entry] = remote.most_in_flight
        self.ladder.void(lineups[void])
        return lineups[~void]

    def _worst_edge(self, entry: int) -> float:
        pairs = np.column_stack([np.full(AGENTS, entry), np.arange(AGENTS)]).astype(np.int32)
        return float(np.quantile(self.world.seat_advantages(pairs)[:, 0], WORST))

    def _luck(self, entry: int) -> float:
        """The score above the true strength, in points."""
        others = [self.ladder.place_of(each).score for each in self.others.tolist()]
        middle = float(np.mean(others)) - BETA * float(self.world.skill[self.others].mean())
        return self.ladder.place_of(entry).score - BETA * float(self.world.skill[entry]) - middle

    def _upload(self, parent: int) -> int:
        self.world.enter(np.array([parent], np.int32), self.rng)
        self.world.skill[-1], self.world.crash[-1] = self.world.skill[parent], 0.0
        self.ladder.enter(np.array([parent], np.int32))
        return len(self.world.skill) - 1

    def _declare_best(self, team: Team) -> None:
        played = [entry for entry in team.own if self.ladder.games_of(entry) > 0]
        best = max(played, key=lambda entry: self.ladder.place_of(entry).score, default=None)
        if best is not None and (self.first_rules or self.ladder.place_of(best).rank is not None):
            self.ladder.declared = self.ladder.declared.difference(team.own) | {best}

    def _outcome(self) -> Outcome:
        active = self._active()
        truth = dict(zip(active.tolist(), self.world.truth(active).tolist(), strict=True))
        gaps = {entry: self.ladder.place_of(entry).score - BETA * truth[entry] for entry in truth}
        middle = float(np.mean([gaps[entry] for entry in self.others.tolist()]))
        skills = np.array([truth[entry] for entry in self.others.tolist()])
        gains = list[tuple[float, float]]()
        for team in self.teams:
            places = [(each, self.ladder.place_of(each)) for each in team.own]
            ((entry, place),) = (pair for pair in places if pair[1].rank is not None)
            scores = np.array([self.ladder.place_of(each).score for each in self.others.tolist()])
            better = int((scores > place.score).sum())
            stronger = int((skills > truth[entry]).sum())
            gains.append((gaps[entry] - middle, stronger - better))
        return Outcome(*np.mean(gains, axis=0).tolist())


def play_season(seed: int, trick: str, *, first_rules: bool = False) -> Outcome:
    """Play one season in which five teams try this trick."""
    return _Season(seed, trick, first_rules).play()
