"""A tournament in a contest, whose games are played as a worker would."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ladder.entries import agents
from ladder.enums import VoidCause
from ladder.ids import AgentId, MatchId, TournamentId
from ladder.matches import lease, matches
from ladder.matches.records import EpisodeResult
from ladder.people.records import Viewer
from ladder.tournaments import advance, course_acts, courses, entrants, tournaments
from ladder.tournaments.formats.records import Course
from ladder.tournaments.records import NewTournament, Tournament, TournamentGame
from ladder.tournaments.views import TournamentView, view_tournament
from tests.integration.ladder.contest import Contest, digest, results

ADMIN = Viewer(is_admin=True)
SINGLE = {"stages": [{"format": "single_elimination"}]}
Winner = Callable[[TournamentGame], Sequence[int]]
"""The placements of a game, by seat."""


def better_seed_wins(game: TournamentGame) -> list[int]:
    order = sorted(game.entrants)
    return [1 + order.index(number) for number in game.entrants]


def worse_seed_wins(game: TournamentGame) -> list[int]:
    order = sorted(game.entrants, reverse=True)
    return [1 + order.index(number) for number in game.entrants]


@dataclass
class Cup:
    """A tournament of agents of different teams. Without ratings the draw gives the seeds."""

    contest: Contest
    id: TournamentId
    agents: list[AgentId] = field(default_factory=list)
    turns: int = 0

    @property
    def row(self) -> Tournament:
        return tournaments.get_tournament(self.contest.conn, self.id)

    def enter(self, count: int) -> None:
        for _ in range(count):
            agent = self.contest.agent()
            self.contest.active(agent)
            self.enter_agent(agent)

    def enter_agent(self, agent: AgentId) -> None:
        entrants.enter_agent(
            self.contest.conn, self.id, agents.get_agent(self.contest.conn, agent), None
        )
        self.agents.append(agent)

    def start(self) -> None:
        entrants.lock_entrants(self.contest.conn, self.id, None)
        course_acts.start_tournament(self.contest.conn, self.id, None)
        self.advance()

    def advance(self) -> int:
        with self.contest.conn.transaction():
            return advance.advance_one(self.contest.conn, self.id, self.turn)

    def turn(self, _maker: str) -> int:
        self.turns += 1
        return self.turns - 1

    def open_games(self) -> list[TournamentGame]:
        return [one for one in self.games() if one.outcome is None]

    def games(self) -> list[TournamentGame]:
        return courses.read_games(self.contest.conn, self.id)

    def play_round(self, winner: Winner = better_seed_wins) -> int:
        """Plays all queued games, then advances. Returns how many were played."""
        games = self.open_games()
        for one in games:
            self.contest.play(one.match_id, winner(one))
        self.advance()
        return len(games)

    def play_on(self, winner: Winner = better_seed_wins) -> None:
        """Plays until nothing is queued."""
        while self.play_round(winner):
            pass

    def play_solo_round(self, worst: int) -> None:
        """Plays all queued games of one seat, then advances. All but ``worst`` have one reward."""
        for one in self.open_games():
            order = self.contest.claim(one.match_id)
            (seat,) = results([1])
            lease.finish_match(
                self.contest.conn,
                one.match_id,
                order.attempt,
                "w1",
                [replace(seat, reward=0.0) if one.entrants == (worst,) else seat],
                [EpisodeResult(42, digest("replay"))],
                node="node",
                image_digest="",
                rules_digest="",
            )
        self.advance()

    def course(self) -> Course:
        inputs = courses.read_inputs(self.contest.conn, self.row)
        return courses.compute(inputs, self.games())

    def view(self, viewer: Viewer = ADMIN) -> TournamentView:
        return view_tournament(self.contest.conn, viewer, self.row)

    def agent_of(self, number: int) -> AgentId:
        return self.view().entrant(number).agent_id


def make_cup(contest: Contest, plan: dict[str, Any] | None = None, **terms: Any) -> Cup:
    """A tournament whose registration is open."""
    wanted = NewTournament.model_validate({"title": "Cup", "plan": plan or SINGLE, **terms})
    made = tournaments.create_tournament(
        contest.conn, contest.league, contest.season, wanted, contest.host
    )
    return Cup(contest, made.id)


def void(cup: Cup, match_id: MatchId) -> None:
    """Ends a match by a host's fault."""
    matches.void_matches(
        cup.contest.conn, [match_id], VoidCause.ATTEMPTS_USED_UP, "the machine burnt"
    )
