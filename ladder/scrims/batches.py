"""Batches: many scrims with one id.

A gauntlet plays one submission against up to 50 opponents, a batch of versions plays own
submissions against each other. Each pairing is one scrim of at most 20 games. In a game with more
than two seats both alternate by seat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import combinations
from typing import Annotated, Final

from pydantic import Field, computed_field

from estimates.intervals import wilson_interval
from ladder import ids
from ladder.database.db import Connection, atomic_function, fetch, fetch_one, insert
from ladder.entries import agents
from ladder.enums import VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, Key, RequestModel
from ladder.ids import (
    AgentId,
    LeagueId,
    MatchId,
    ScrimBatchId,
    ScrimId,
    SeasonId,
    SubmissionId,
    TeamId,
    UserId,
    is_id,
)
from ladder.leagues.records import Season
from ladder.matches import matches
from ladder.scrims import policies, scrims
from ladder.scrims.policies import GamesToday, ScrimLimitReached
from ladder.scrims.scrims import Asker, NewPrivacy, ScrimOrder, newest_submission

MOST_PAIRINGS: Final = 50
MOST_GAMES: Final = 20
"""Games of a pairing."""
MOST_VERSIONS: Final = 10
"""Own versions against each other: 45 pairings."""
BATCH: Final = """
    select b.id, b.season_id, s.league_id, b.team_id, b.requested_by, b.kind, b.games_each,
      b.created_at, b.ended_at
    from scrim_batches b join seasons s on s.id = b.season_id"""


class BatchKind(StrEnum):
    GAUNTLET = "gauntlet"
    """The first one against each of the others."""
    VERSIONS = "versions"
    """Own submissions against each other."""


class NewBatch(RequestModel):
    season: Key
    """Season with the game and clock to use."""
    kind: BatchKind
    """gauntlet: the first agent against each other one; versions: own submissions against each
    other"""
    agents: Annotated[list[Key], Field(min_length=2, max_length=MOST_PAIRINGS + 1)]
    """Agent ids, or ids of own submissions."""
    games: Annotated[int, Field(ge=1, le=MOST_GAMES)] = 10
    """Of each pairing."""
    privacy: NewPrivacy = Field(default_factory=NewPrivacy)
    team: Key | None = None
    """Required if you are in several teams."""


@dataclass(frozen=True, slots=True)
class Competitor:
    """A submission in a batch, with its agent."""

    __pydantic_config__ = RECORD
    submission_id: SubmissionId
    submission_number: int
    agent_id: AgentId
    agent_name: str
    team_id: Annotated[TeamId, Field(exclude=True)]


@dataclass(frozen=True, slots=True)
class PlannedPairing:
    """Two competitors, and why they cannot play."""

    __pydantic_config__ = RECORD
    first: Competitor
    second: Competitor
    refusal: str | None
    """Why they cannot play."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What a batch would play and take, before it starts."""

    __pydantic_config__ = RECORD
    pairings: tuple[PlannedPairing, ...]
    games: int
    """Games that the batch takes of the daily limit."""
    today: GamesToday
    """The team's daily limit, without this batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    __pydantic_config__ = RECORD
    id: Annotated[ScrimBatchId, Field(examples=["sbt_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    season_id: SeasonId
    league_id: LeagueId
    team_id: TeamId
    requested_by: UserId | None
    """Null for people of other teams."""
    kind: BatchKind
    games_each: int
    created_at: datetime
    ended_at: datetime | None
    """When its last scrim ended."""


def plan_batch(conn: Connection, asker: Asker, batch: NewBatch) -> BatchPlan:
    """Says what a batch would play, whom policies refuse, and what it takes of the daily limit.

    Raises Invalid, NotFound, and Conflict for an agent of the team without an active version.
    """
    _check_numbers(asker.season, batch)
    competitors = _competitors(conn, asker, batch)
    others = {agent.agent_id for agent in competitors if agent.team_id != asker.team_id}
    opponents = {
        opponent.agent_id: opponent
        for opponent in policies.read_opponents(conn, asker.season, asker.team_id, others)
    }
    pairings = []
    for first, second in _pairs(batch.kind, competitors):
        refusal = None
        if opponent := opponents.get(second.agent_id):
            answer = opponent.answer_to(batch.games)
            refusal = answer.reason
            if answer.is_allowed and not answer.is_automatic:
                refusal = f"it accepts no scrim by itself: send a request to {opponent.team_name}"
        pairings.append(PlannedPairing(first, second, refusal))
    games = batch.games * sum(1 for pairing in pairings if pairing.refusal is None)
    today = policies.games_today(conn, asker.season, asker.team_id)
    return BatchPlan(tuple(pairings), games, today)


@atomic_function
def start_batch(conn: Connection, asker: Asker, batch: NewBatch) -> Batch:
    """Creates a batch and its scrims.

    Raises Invalid and NotFound as ``plan_batch``, Conflict if an opponent refuses, and
    ScrimLimitReached.
    """
    scrims.lock_team(conn, asker.team_id)
    plan = plan_batch(conn, asker, batch)
    for pairing in plan.pairings:
        if pairing.refusal is not None:
            name = pairing.second.agent_name
            raise Conflict(f"leave {name} out: {pairing.refusal}", field="agents")
    if plan.games > plan.today.left:
        today = plan.today
        raise ScrimLimitReached(
            f"your team's scrim games a day, of which this batch takes {plan.games}",
            *(today.used, today.allowed, today.resets_at),
        )
    batch_id = ScrimBatchId(ids.new_id("sbt"))
    insert(
        conn,
        "scrim_batches",
        id=batch_id,
        season_id=asker.season.id,
        team_id=asker.team_id,
        requested_by=asker.user_id,
        kind=batch.kind,
        games_each=batch.games,
    )
    privacy = scrims.narrow_privacy(conn, asker.season, batch.privacy)
    for pairing in plan.pairings:
        pair = (pairing.first.submission_id, pairing.second.submission_id)
        order = ScrimOrder(
            asker=asker,
            lineup=[pair[seat % 2] for seat in range(asker.season.seats)],
            games=batch.games,
            privacy=privacy,
            batch_id=batch_id,
        )
        scrims.create_scrim(conn, order)
    return get_batch(conn, batch_id)


def get_batch(conn: Connection, batch_id: ScrimBatchId) -> Batch:
    """Returns the batch with this id. Raises NotFound."""
    return fetch_one(conn, Batch, f"{BATCH} where b.id = %s", (batch_id,), NotFound.of("batch"))


def list_batches(
    conn: Connection,
    team_ids: Sequence[TeamId],
    after: ScrimBatchId | None = None,
    limit: int = 50,
) -> list[Batch]:
    """Returns these teams' batches, newest first, older than ``after``."""
    query = f"""{BATCH}
        where b.team_id = any (%(teams)s) and (%(after)s::text is null or b.id < %(after)s)
        order by b.id desc limit %(limit)s"""
    return fetch(conn, Batch, query, {"teams": sorted(team_ids), "after": after, "limit": limit})


@atomic_function
def cancel_batch(conn: Connection, batch_id: ScrimBatchId) -> Batch:
    """Voids the unfinished games of a batch; the daily limit gets them back. A repeat is no error.

    Raises NotFound.
    """
    get_batch(conn, batch_id)
    rows = conn.execute(
        """
        select m.id, c.id from scrims c join matches m on m.scrim_id = c.id
        where c.batch_id = %s and m.state in ('queued', 'running') order by m.id
        """,
        (batch_id,),
    ).fetchall()
    playing = [MatchId(row[0]) for row in rows]
    matches.void_matches(conn, playing, VoidCause.CALLED_OFF, "the batch was cancelled")
    conn.execute(
        "update scrims set state = 'cancelled' where id = any (%s) and void_games > 0",
        (sorted({row[1] for row in rows}),),
    )
    return get_batch(conn, batch_id)


def _check_numbers(season: Season, batch: NewBatch) -> None:
    if season.seats < 2:
        raise Invalid("season", "choose one in which agents meet: its matches have one seat")
    if batch.kind is BatchKind.VERSIONS and len(batch.agents) > MOST_VERSIONS:
        raise Invalid("agents", f"give 2 to {MOST_VERSIONS}; they are {len(batch.agents)}")


def _pairs(
    kind: BatchKind, competitors: Sequence[Competitor]
) -> list[tuple[Competitor, Competitor]]:
    if kind is BatchKind.VERSIONS:
        return list(combinations(competitors, 2))
    return [(competitors[0], other) for other in competitors[1:]]


def _competitors(conn: Connection, asker: Asker, batch: NewBatch) -> list[Competitor]:
    """Returns the pinned submissions. Raises Invalid for foreign and repeated ones."""
    competitors = []
    for place, key in enumerate(batch.agents):
        competitor = _competitor(conn, asker.season, key)
        is_own = competitor.team_id == asker.team_id
        if not is_own and is_id(key, "sub"):
            raise NotFound(f"there is no agent {key} in this season", field="agents")
        if not is_own and (place == 0 or batch.kind is BatchKind.VERSIONS):
            raise Invalid("agents", f"{competitor.agent_name} must be your own")
        competitors.append(competitor)
    submissions = [competitor.submission_id for competitor in competitors]
    for competitor in competitors:
        if submissions.count(competitor.submission_id) > 1:
            name, number = competitor.agent_name, competitor.submission_number
            raise Invalid("agents", f"name {name} {number} once")
    return competitors


def _competitor(conn: Connection, season: Season, key: str) -> Competitor:
    if is_id(key, "sub"):
        submission = agents.get_submission(conn, SubmissionId(key))
        agent = agents.get_agent(conn, submission.agent_id)
    else:
        agent = agents.get_agent(conn, AgentId(key))
        submission = agents.get_submission(conn, newest_submission(conn, season, agent))
    return Competitor(submission.id, submission.number, agent.id, agent.name, agent.team_id)


PACE_SECONDS: Final = 600
"""The time until the end follows from the games of the last ten minutes."""
LEAST_GAMES: Final = 3
"""Finished games before there is an estimate."""


@dataclass(frozen=True, slots=True)
class BatchCell:
    """A pairing of a batch and its results so far. The interval is Wilson's, 95 %."""

    __pydantic_config__ = RECORD
    scrim_id: ScrimId
    state: str
    first_submission_id: SubmissionId
    first_number: int
    first_version: int
    """Place among the submissions of its agent, from 1."""
    first_agent_id: Annotated[AgentId, Field(exclude=True)]
    first_name: str
    second_submission_id: SubmissionId
    second_number: int
    second_version: int
    second_agent_id: Annotated[AgentId, Field(exclude=True)]
    second_name: str
    games: int
    finished_games: int
    void_games: int
    points: Annotated[float, Field(exclude=True)]
    """Sum over games of the share of meetings that the first one won; a tie counts half."""
    first_faults: int
    second_faults: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def score(self) -> float | None:
        """Share of meetings that the first one won; a tie counts half. None without games."""
        return self.points / self.finished_games if self.finished_games else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def interval(self) -> tuple[float, float]:
        return wilson_interval(self.points, self.finished_games)


@dataclass(frozen=True, slots=True)
class BatchTotal:
    """A submission over all its pairings. The interval is Wilson's, 95 %."""

    __pydantic_config__ = RECORD
    submission_id: SubmissionId
    number: int
    version: Annotated[int, Field(exclude=True)]
    """Place among the submissions of its agent, from 1."""
    agent_id: Annotated[AgentId, Field(exclude=True)]
    name: str
    points: Annotated[float, Field(exclude=True)]
    games: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def score(self) -> float | None:
        return self.points / self.games if self.games else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def interval(self) -> tuple[float, float]:
        return wilson_interval(self.points, self.games)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResults(Batch):
    """A batch with its matrix."""

    __pydantic_config__ = RECORD
    games: int
    finished_games: int
    void_games: int
    seconds_left: float | None
    """Until the end, at the pace of the last minutes. Null: unknown, or it has ended."""
    cells: tuple[BatchCell, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def totals(self) -> list[BatchTotal]:
        """Each submission over all its pairings, best first."""
        totals: dict[SubmissionId, BatchTotal] = {}
        for cell in self.cells:
            for side in (
                BatchTotal(
                    *(cell.first_submission_id, cell.first_number, cell.first_version),
                    *(cell.first_agent_id, cell.first_name),
                    *(cell.points, cell.finished_games),
                ),
                BatchTotal(
                    *(cell.second_submission_id, cell.second_number, cell.second_version),
                    *(cell.second_agent_id, cell.second_name),
                    *(cell.finished_games - cell.points, cell.finished_games),
                ),
            ):
                old = totals.get(side.submission_id)
                points, games = (old.points, old.games) if old else (0.0, 0)
                totals[side.submission_id] = replace(
                    side, points=points + side.points, games=games + side.games
                )
        return sorted(
            totals.values(), key=lambda total: (-(total.score or 0.0), total.submission_id)
        )


def read_results(conn: Connection, batch: Batch) -> BatchResults:
    """Returns a batch with its present matrix. Void games count nowhere."""
    cells = tuple(
        fetch(
            conn,
            BatchCell,
            """
            with met as (
              select m.scrim_id, m.id, avg(case when x.placement < y.placement then 1.0
                  when x.placement = y.placement then 0.5 else 0 end) as points,
                count(distinct x.seat) filter (where x.verdict <> 'DONE') as first_faults,
                count(distinct y.seat) filter (where y.verdict <> 'DONE') as second_faults
              from scrims c join matches m on m.scrim_id = c.id and m.state = 'finished'
              join seats x on x.match_id = m.id and x.submission_id = c.lineup ->> 0
              join seats y on y.match_id = m.id and y.submission_id = c.lineup ->> 1
              where c.batch_id = %(batch)s group by m.scrim_id, m.id
            )
            select c.id as scrim_id, c.state, f.id as first_submission_id,
              f.number as first_number, submission_version(fa.id, f.number) as first_version,
              fa.id as first_agent_id, fa.name as first_name,
              o.id as second_submission_id, o.number as second_number,
              submission_version(oa.id, o.number) as second_version,
              oa.id as second_agent_id, oa.name as second_name,
              c.games, c.finished_games, c.void_games,
              coalesce(r.points, 0)::float8 as points,
              coalesce(r.first_faults, 0)::integer as first_faults,
              coalesce(r.second_faults, 0)::integer as second_faults
            from scrims c
            join submissions f on f.id = c.lineup ->> 0
            join agents fa on fa.id = f.agent_id
            join submissions o on o.id = c.lineup ->> 1
            join agents oa on oa.id = o.agent_id
            left join (
              select scrim_id, sum(points) as points, sum(first_faults) as first_faults,
                sum(second_faults) as second_faults
              from met group by scrim_id
            ) r on r.scrim_id = c.id
            where c.batch_id = %(batch)s order by c.id
            """,
            {"batch": batch.id},
        )
    )
    games = sum(cell.games for cell in cells)
    finished = sum(cell.finished_games for cell in cells)
    void = sum(cell.void_games for cell in cells)
    return BatchResults(
        **asdict(batch),
        games=games,
        finished_games=finished,
        void_games=void,
        seconds_left=_seconds_left(conn, batch.id, games - finished - void),
        cells=cells,
    )


def _seconds_left(conn: Connection, batch_id: ScrimBatchId, left: int) -> float | None:
    query = """
        select count(*), extract(epoch from now()
          - greatest(min(m.finished_at), now() - make_interval(secs => %(pace)s)))
        from scrims c join matches m on m.scrim_id = c.id and m.state = 'finished'
        where c.batch_id = %(batch)s and m.finished_at > now() - make_interval(secs => %(pace)s)"""
    values = {"pace": PACE_SECONDS, "batch": batch_id}
    played, seconds = fetch_one(conn, tuple[int, float | None], query, values)
    seconds = float(seconds or 0)
    if left <= 0 or played < LEAST_GAMES or seconds <= 0:
        return None
    return left * seconds / played
