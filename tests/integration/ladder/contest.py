"""A small league in a real database, with functions that play its matches as a worker would."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg.rows import class_row

from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.entries.records import Submission
from ladder.enums import MatchKind
from ladder.ids import AgentId, EntryId, MatchId, TeamId, UserId
from ladder.leagues import leagues, seasons
from ladder.leagues.records import League, Season
from ladder.matches import lease, matches, workers
from ladder.matches.records import EpisodeResult, FinishResult, LineupSeat, MatchOrder, SeatResult
from ladder.matches.workers import WorkerHello
from ladder.people import users
from ladder.scrims import policies
from ladder.scrims.policies import ScrimPolicy, Whom

PLAYS = ("play.cpu", "scrim", "validate")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def hello(worker: str, **changes: Any) -> WorkerHello:
    """A worker that serves everything without a GPU."""
    given: dict[str, Any] = {
        "id": worker,
        "host": "host",
        "node": f"node-{worker}",
        "queues": PLAYS,
        "slots": 2,
        "profiles": ("numpy",),
    }
    return WorkerHello(**{**given, **changes})


def results(
    placements: Sequence[int], verdicts: Sequence[str] | None = None, *, answered: bool = True
) -> tuple[SeatResult, ...]:
    """Seat results with these placements; verdict DONE unless given."""
    return tuple(
        SeatResult(
            seat=seat,
            placement=place,
            reward=float(10 - place),
            verdict=verdict,
            reason=None if verdict == "DONE" else "it broke",
            failed_step=None if verdict == "DONE" else 7,
            charged_seconds=0.5,
            max_move_seconds=0.1,
            log_digest=digest(f"log {seat}"),
            answered=answered,
        )
        for seat, (place, verdict) in enumerate(
            zip(placements, verdicts or ["DONE"] * len(placements), strict=True)
        )
    )


@dataclass
class Contest:
    """A league with one season; ``team`` adds a team and ``active`` an active entry."""

    conn: Connection
    host: UserId
    league: League
    season: Season
    made: int = 0
    entries: list[EntryId] = field(default_factory=list)

    def team(self) -> tuple[UserId, TeamId]:
        """A new person with a team."""
        self.made += 1
        name = f"p{self.made}-{secrets.token_hex(4)}"
        user = users.create_user(self.conn, name)
        return user.id, users.create_team(self.conn, f"Team {name}", name, user.id).id

    def agent(self, team: TeamId | None = None) -> AgentId:
        """A new agent, of a new team unless given."""
        self.made += 1
        name = f"a{self.made}"
        return agents.create_agent(self.conn, team or self.team()[1], name, name).id

    def open_for_scrims(
        self, agent: AgentId, *, is_open: bool = True, games_daily: int | None = None
    ) -> None:
        """Lets every team play an agent without asking, or nobody."""
        policy = ScrimPolicy(
            whom=Whom.ANYONE if is_open else Whom.NOBODY,
            games_daily=games_daily,
            accepts_automatically=is_open,
        )
        policies.set_policy(self.conn, agents.get_agent(self.conn, agent), policy)

    def submission(self, agent: AgentId | None = None, content: str | None = None) -> Submission:
        """A new upload, of a new agent of a new team unless given."""
        self.made += 1
        name = digest(content or f"bundle {self.made}")
        return agents.add_submission(
            self.conn, agent or self.agent(), name, 2000, "main.py", "", None
        )[0]

    def pending(
        self, agent: AgentId | None = None, content: str | None = None, **terms: Any
    ) -> EntryId:
        """A new entry before its validation; it has its own bundle unless given."""
        made = self.submission(agent, content)
        return entries.enter_season(self.conn, self.season.id, made.id, **terms)[0].id

    def active(
        self, agent: AgentId | None = None, content: str | None = None, **terms: Any
    ) -> EntryId:
        """A new entry that has passed its validation."""
        entry_id = self.pending(agent, content, **terms)
        played = self.play(self.validation(entry_id), [1] * self.season.seats)
        assert played is FinishResult.ACCEPTED
        self.entries.append(entry_id)
        return entry_id

    def validation(self, entry_id: EntryId) -> MatchId:
        """The entry's newest validation match."""
        match_id = entries.get_entry(self.conn, entry_id).validation_match_id
        assert match_id is not None
        return match_id

    def seat(self, entry_id: EntryId) -> LineupSeat:
        return self.seats([entry_id])[0]

    def seats(self, lineup: Sequence[EntryId]) -> list[LineupSeat]:
        with self.conn.cursor(row_factory=class_row(LineupSeat)) as cur:
            found = cur.execute(
                "select id as entry_id, submission_id, agent_id, team_id, profile from entries"
                " where id = any (%s)",
                (list(lineup),),
            )
            by_id = {seat.entry_id: seat for seat in found}
        return [by_id[entry_id] for entry_id in lineup]

    def rated(self, *lineup: EntryId, **terms: Any) -> MatchId:
        """A queued rated match of these entries."""
        return matches.create_match(
            self.conn,
            season=self.season,
            kind=MatchKind.RATED,
            lineup=self.seats(lineup),
            **terms,
        )

    def claim(self, match_id: MatchId, worker: str = "w1") -> MatchOrder:
        """The match after a claim by a worker, which is registered first."""
        workers.register_worker(self.conn, hello(worker, profiles=("numpy", "remote")))
        order = lease.claim_match(self.conn, match_id, worker)
        assert order is not None
        return order

    def finish(
        self,
        match_id: MatchId,
        attempt: int,
        placements: Sequence[int],
        verdicts: Sequence[str] | None = None,
        worker: str = "w1",
        conn: Connection | None = None,
        answered: bool = True,
    ) -> FinishResult:
        return lease.finish_match(
            conn or self.conn,
            match_id,
            attempt,
            worker,
            results(placements, verdicts, answered=answered),
            [EpisodeResult(42, digest("replay"))],
            node="node",
            image_digest="sha256:image",
            rules_digest="sha256:rules",
        )

    def play(
        self,
        match_id: MatchId,
        placements: Sequence[int],
        verdicts: Sequence[str] | None = None,
    ) -> FinishResult:
        """Claim and finish at once."""
        # Else another validation with a lower turn may be claimed.
        self.conn.execute("update matches set turn = 0 where id = %s", (match_id,))
        order = self.claim(match_id)
        return self.finish(match_id, order.attempt, placements, verdicts)


def make_contest(conn: Connection, *, seats: int = 4, **terms: Any) -> Contest:
    """A public league of a four-seat game with an open season and a very high daily limit."""
    host = users.create_user(conn, f"host-{secrets.token_hex(4)}")
    league = leagues.create_league(
        conn,
        slug=f"league-{secrets.token_hex(4)}",
        title="League",
        game="hungry_geese",
        visibility=terms.pop("visibility", "public"),
        replay_visibility="public",
        created_by=host.id,
    )
    season = seasons.create_season(
        conn,
        league.id,
        seasons.SeasonColumns(
            configuration={"rows": 7},
            configuration_digest=digest("configuration"),
            clock={"act_seconds": 1.0, "bank_seconds": 60.0},
            seats=seats,
            **{"daily_limit": 1000, **terms},
        ),
    )
    return Contest(conn, host.id, league, season)
