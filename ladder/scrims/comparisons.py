"""Comparisons: is a new version better? Starts, reads and cancels them on the server.

``estimates.comparison`` calculates and decides it. A pair is two games with the same seed, seat and
opponents: one of the old version, one of the new. ``comparison_progress`` plays them.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Final

from psycopg import Rollback
from psycopg.types.json import Jsonb
from pydantic import Field, WithJsonSchema, computed_field

from estimates.comparison import (
    LEAST_MARGIN,
    MARGIN,
    MOST_MARGIN,
    MOST_PAIRS,
    MOST_VARIANTS,
    GameOfPair,
    PairPlan,
    PlayedPair,
    Report,
    Rule,
    RuleError,
    Verdict,
    default_pairs,
    picture_after,
    plan_pair,
    report_of,
)
from ladder import ids
from ladder.database.db import Connection, atomic_function, exists, fetch, fetch_one
from ladder.enums import VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, Key, RequestModel
from ladder.ids import (
    AgentId,
    ComparisonId,
    LeagueId,
    MatchId,
    SeasonId,
    SubmissionId,
    TeamId,
    UserId,
)
from ladder.leagues import seasons
from ladder.leagues.records import Season
from ladder.matches import matches
from ladder.people.resources import SubmissionResource
from ladder.scrims import policies, scrims
from ladder.scrims.policies import ScrimLimitReached
from ladder.scrims.scrims import Asker

MOST_RUNNING: Final = 5
"""Comparisons of a team at a time."""
MOST_OPPONENTS: Final = 16
OPPONENTS_SHOWN: Final = 40
COURSE_POINTS: Final = 100
LONGEST: Final = timedelta(days=7)
CANCELLED: Final = "the comparison was cancelled"
DECIDED: Final = "the comparison has its verdict"
COMPARISON: Final = """
    select x.id, x.season_id, s.league_id, s.seats as seat_count, x.team_id, x.requested_by,
      x.old_submission_id, x.new_submission_id, x.opponents as opponent_submission_ids,
      x.margin, x.most_pairs, x.variants, x.seed, x.state, x.verdict, x.ended_by, x.waits_until,
      x.replayed_pairs, x.created_at, x.deadline_at, x.finished_at
    from comparisons x join seasons s on s.id = x.season_id"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of two versions. Its submissions never change."""

    __pydantic_config__ = RECORD
    id: Annotated[ComparisonId, Field(examples=["cmp_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    season_id: SeasonId
    league_id: LeagueId
    team_id: TeamId
    requested_by: UserId
    old_submission_id: SubmissionId
    new_submission_id: SubmissionId
    opponent_submission_ids: tuple[SubmissionId, ...]
    margin: float
    most_pairs: int
    variants: int
    state: Annotated[str, Field(examples=["running"])]
    """running, finished or cancelled"""
    verdict: Annotated[
        Verdict | None,
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}], "examples": ["better"]}),
    ]
    """better, not_better or cannot_tell; null while it runs, and after it was cancelled"""
    ended_by: str | None
    """bounds, pairs, deadline, host_faults or opponent_gone; null without a verdict"""
    waits_until: datetime | None
    """Until then no games are asked for: a limit is used up, or an opponent refuses."""
    replayed_pairs: int
    """Pairs that were played again after a fault of a host."""
    created_at: datetime
    deadline_at: datetime
    """Without a verdict then, it cannot tell."""
    finished_at: datetime | None
    seat_count: Annotated[int, Field(exclude=True)]
    seed: Annotated[bytes, Field(exclude=True)]

    @property
    def rule(self) -> Rule:
        """What decides it."""
        return Rule(self.margin, self.most_pairs, self.variants)


class NewComparison(RequestModel):
    """Two versions to compare, and what decides."""

    old: Annotated[Key, Field(title="Old version")]
    """A submission id, or an agent id for its newest active entry."""
    new: Annotated[Key, Field(title="New version")]
    """A submission id, or an agent id for its newest active entry."""
    opponents: list[Key] = Field(default_factory=list, max_length=MOST_OPPONENTS)
    """Submission or agent ids; default: the old version."""
    margin: Annotated[float, Field(ge=LEAST_MARGIN, le=MOST_MARGIN)] = MARGIN
    """The difference that matters, as a share of the opponents beaten."""
    pairs: Annotated[int | None, Field(ge=1, le=MOST_PAIRS, title="Most pairs of games")] = None
    """Default: 15 / margin squared."""
    variants: Annotated[int, Field(ge=1, le=MOST_VARIANTS, title="Variants that you try")] = 1
    """Variants that you try in this series."""
    team: Key | None = None
    """Required if you are in several teams."""

    @property
    def rule(self) -> Rule:
        """What decides the comparison. Raises Invalid for more pairs than are allowed."""
        pairs = default_pairs(self.margin) if self.pairs is None else self.pairs
        try:
            return Rule(self.margin, pairs, self.variants)
        except RuleError as error:
            raise Invalid(error.field, error.message) from None


@dataclass(frozen=True, slots=True)
class Versions:
    """The submissions of a comparison."""

    old: SubmissionId
    new: SubmissionId
    opponents: tuple[SubmissionId, ...] = ()
    """Empty: the old version plays in all other seats."""


@dataclass(frozen=True, slots=True)
class PossibleOpponent:
    """An active submission that a comparison may use as an opponent."""

    submission_id: SubmissionId
    agent_name: str
    version: int
    team_name: str
    is_own: bool
    """Whether it is of one of the teams that ask."""


def comparison_resource(comparison: Comparison) -> SubmissionResource:
    """Returns the permission resource of a comparison: it is private like its submissions."""
    return SubmissionResource(comparison.team_id)


@atomic_function
def start_comparison(conn: Connection, asker: Asker, versions: Versions, rule: Rule) -> Comparison:
    """Starts a comparison of two submissions of this team; the scheduler plays its pairs.

    Opponents are the team's own, active with agents open for scrims, or reference agents.

    Raises NotFound, Conflict (agent not open, paused; too many comparisons) and Invalid.
    """
    season, team_id = asker.season, asker.team_id
    if season.seats < 2:
        raise Invalid("season", "its game has one seat, so there is no opponent to beat")
    opponents = versions.opponents or (versions.old,)
    scrims.lock_team(conn, team_id)
    _check_own(conn, team_id, "old", versions.old)
    _check_own(conn, team_id, "new", versions.new)
    _refuse_same_bundle(conn, versions)
    _check_opponents(conn, asker, versions)
    running = conn.execute(
        "select 1 from comparisons where team_id = %s and state = 'running'", (team_id,)
    )
    if running.rowcount >= MOST_RUNNING:
        raise Conflict(f"cancel one first: your team has {MOST_RUNNING} running comparisons")
    comparison_id = ComparisonId(ids.new_id("cmp"))
    conn.execute(
        """
        insert into comparisons (id, season_id, team_id, requested_by, old_submission_id,
          new_submission_id, opponents, margin, most_pairs, variants, seed, deadline_at)
        values (%(id)s, %(season)s, %(team)s, %(user)s, %(old)s, %(new)s, %(opponents)s,
          %(margin)s, %(most_pairs)s, %(variants)s, %(seed)s, now() + %(longest)s)
        """,
        {
            "id": comparison_id,
            "season": season.id,
            "team": team_id,
            "user": asker.user_id,
            "old": versions.old,
            "new": versions.new,
            "opponents": Jsonb(list(opponents)),
            "margin": rule.margin,
            "most_pairs": rule.most_pairs,
            "variants": rule.variants,
            "seed": secrets.token_bytes(16),
            "longest": LONGEST,
        },
    )
    return get_comparison(conn, comparison_id)


def get_comparison(conn: Connection, comparison_id: ComparisonId) -> Comparison:
    """Returns the comparison with this id. Raises NotFound."""
    query = f"{COMPARISON} where x.id = %s"
    return fetch_one(conn, Comparison, query, (comparison_id,), NotFound.of("comparison"))


def list_comparisons(
    conn: Connection,
    team_ids: Sequence[TeamId],
    league_id: LeagueId | None = None,
    after: ComparisonId | None = None,
    limit: int = 50,
) -> list[Comparison]:
    """Returns these teams' comparisons in the league, or in all, newest first."""
    query = f"""{COMPARISON}
        where x.team_id = any (%(teams)s)
          and (%(league)s::text is null or s.league_id = %(league)s)
          and (%(after)s::text is null or x.id < %(after)s)
        order by x.id desc limit %(limit)s"""
    values = {"teams": sorted(team_ids), "league": league_id, "after": after, "limit": limit}
    return fetch(conn, Comparison, query, values)


@atomic_function
def cancel_comparison(conn: Connection, comparison_id: ComparisonId) -> Comparison:
    """Ends a comparison without a verdict. No error if it has already ended."""
    ended = conn.execute(
        """
        update comparisons set state = 'cancelled', finished_at = clock_timestamp()
        where id = %s and state = 'running'
        """,
        (comparison_id,),
    )
    if ended.rowcount:
        void_unfinished(conn, comparison_id, VoidCause.CALLED_OFF)
    return get_comparison(conn, comparison_id)


def void_unfinished(conn: Connection, comparison_id: ComparisonId, cause: VoidCause) -> None:
    """Voids the comparison's matches that are queued or running."""
    query = """
        select m.id from matches m join scrims c on c.id = m.scrim_id
        where c.comparison_id = %s and c.state = 'running' and m.state in ('queued', 'running')
        order by m.id"""
    match_ids = fetch(conn, MatchId, query, (comparison_id,))
    reason = CANCELLED if cause is VoidCause.CALLED_OFF else DECIDED
    matches.void_matches(conn, match_ids, cause, reason)


def possible_opponents(
    conn: Connection, season: Season, team_ids: Sequence[TeamId]
) -> list[PossibleOpponent]:
    """Returns active agents of the season that these teams may choose, reference agents first.

    They are reference agents, agents that accept every scrim, and the teams' own.
    """
    query = """
            select e.submission_id, a.name as agent_name,
              submission_version(b.agent_id, b.number) as version, t.name as team_name,
              e.team_id = any (%(teams)s) as is_own
            from entries e join submissions b on b.id = e.submission_id
            join agents a on a.id = e.agent_id join teams t on t.id = e.team_id
            left join scrim_policies p on p.agent_id = a.id
            where e.season_id = %(season)s and e.state = 'active'
              and (e.is_anchor or p.whom = 'anyone' and p.accepts_automatically
                or e.team_id = any (%(teams)s))
            order by e.is_anchor desc, is_own desc, a.name, e.id desc limit %(most)s"""
    values = {"season": season.id, "teams": list(team_ids), "most": OPPONENTS_SHOWN}
    return fetch(conn, PossibleOpponent, query, values)


def _check_own(conn: Connection, team_id: TeamId, field: str, submission: SubmissionId) -> None:
    query = """
        select 1 from submissions b join agents a on a.id = b.agent_id
        where b.id = %(submission)s and a.team_id = %(team)s"""
    if not exists(conn, query, {"submission": submission, "team": team_id}):
        raise NotFound(f"your team has no submission {submission}", field=field)


def _check_opponents(conn: Connection, asker: Asker, versions: Versions) -> None:
    """Asks for a scrim of both versions against all opponents, and takes it back.

    So whatever a scrim refuses is refused before the first pair.
    """
    seats = asker.season.seats
    others = list(versions.opponents or (versions.old,))
    try:
        while others:
            rest = [others[place % len(others)] for place in range(seats - 1)]
            with conn.transaction():
                # Both at once, as in a pair: an opponent may have few games left today.
                for version in (versions.old, versions.new):
                    scrims.request_scrim(conn, asker, [version, *rest], games=1)
                raise Rollback
            del others[: seats - 1]
    except (Conflict, NotFound) as refused:
        raise type(refused)(refused.message, field="opponents") from None


def _refuse_same_bundle(conn: Connection, versions: Versions) -> None:
    bundles = conn.execute(
        "select distinct coalesce(url, digest) from submissions where id = any (%s)",
        ([versions.old, versions.new],),
    )
    if bundles.rowcount < 2:
        raise Invalid("new", "choose another submission: both have the same files")


@dataclass(frozen=True, slots=True)
class PairsToday:
    """What the limits of a UTC day still allow to a comparison."""

    __pydantic_config__ = RECORD
    pairs: int
    """Further pairs; a mean, if there are more opponents than seats for them."""
    limit: Annotated[str, Field(examples=["your team's scrim games a day"])]
    """Name of the limit that is reached first."""
    used: int
    """Games that this limit already counts."""
    allowed: int
    resets_at: datetime

    @computed_field  # type: ignore[prop-decorator]
    @property
    def sentence(self) -> str:
        """The values of the other fields as sentences."""
        number = "1 more pair" if self.pairs == 1 else f"{self.pairs:,} more pairs"
        return (
            f"You can play about {number} today. The limit is {self.limit}: {self.used:,} of"
            f" {self.allowed:,} are used. It resets at {self.resets_at:%Y-%m-%d %H:%M} UTC."
        )


def pairs_today(
    conn: Connection, season: Season, team_id: TeamId, opponents: Sequence[SubmissionId]
) -> PairsToday:
    """Returns the pairs that a team may still ask for today against these opponents.

    A pair takes two games of the team, and two of each opponent that sits in it.
    """
    today = policies.games_today(conn, season, team_id)
    team = ScrimLimitReached(policies.OF_TEAM, today.used, today.allowed, today.resets_at)
    limits = [_pairs_of(team, 1.0)]
    agents = agents_of(conn, opponents)
    seats = Counter(agents.values())
    for agent_id, limit in limits_of_agents(conn, season, team_id, agents.values()).items():
        share = seats[agent_id] * (season.seats - 1) / len(agents)
        limits.append(_pairs_of(limit, min(1.0, share)))
    return min(limits, key=lambda limit: limit.pairs)


def pairs_of_running(conn: Connection, comparison: Comparison) -> PairsToday | None:
    """Returns the further pairs that today allows to a comparison; None after its end."""
    if comparison.state != "running":
        return None
    season = seasons.get_season(conn, comparison.season_id)
    return pairs_today(conn, season, comparison.team_id, comparison.opponent_submission_ids)


def agents_of(conn: Connection, submissions: Sequence[SubmissionId]) -> dict[SubmissionId, AgentId]:
    """Returns the agent of each submission."""
    query = "select id, agent_id from submissions where id = any (%s)"
    return dict(fetch(conn, tuple[SubmissionId, AgentId], query, (list(submissions),)))


def limits_of_agents(
    conn: Connection, season: Season, team_id: TeamId, agents: Iterable[AgentId]
) -> dict[AgentId, ScrimLimitReached]:
    """Returns today's limit of each of these agents that has one for this team."""
    limits = {}
    for opponent in policies.read_opponents(conn, season, team_id, set(agents)):
        if limit := policies.agent_limit_reached(opponent):
            limits[opponent.agent_id] = limit
    return limits


def _pairs_of(limit: ScrimLimitReached, share: float) -> PairsToday:
    """The pairs within a limit, if this share of the pairs takes games of it."""
    pairs = int(limit.left / 2 / share) if limit.left >= 2 else 0
    return PairsToday(pairs, limit.limit, limit.used, limit.allowed, limit.resets_at)


@dataclass(frozen=True, slots=True)
class IssuedPair:
    """A pair whose matches exist. Ended matches are finished or void."""

    number: int
    old_match_id: MatchId
    new_match_id: MatchId
    replays: int
    difference: float | None
    """None until the pair counts."""
    old_state: str
    new_state: str

    @property
    def is_void(self) -> bool:
        """Whether a match of it was voided, so that it must be played again."""
        return "void" in (self.old_state, self.new_state)

    @property
    def is_unfinished(self) -> bool:
        """Whether a game of it waits or is played."""
        return not {"queued", "running"}.isdisjoint({self.old_state, self.new_state})

    @property
    def is_finished(self) -> bool:
        """Whether both matches have results."""
        return self.old_state == self.new_state == "finished"


def pair_plan(comparison: Comparison, number: int) -> PairPlan:
    """Returns how the pair with this number is played."""
    opponents = len(comparison.opponent_submission_ids)
    return plan_pair(comparison.seed, number, comparison.seat_count, opponents)


def issued_pairs(conn: Connection, comparison_id: ComparisonId) -> list[IssuedPair]:
    """Returns the comparison's pairs in their order."""
    query = """
            select p.number, p.old_match_id, p.new_match_id, p.replays, p.difference,
              o.state as old_state, n.state as new_state
            from comparison_pairs p
            join matches o on o.id = p.old_match_id join matches n on n.id = p.new_match_id
            where p.comparison_id = %s order by p.number"""
    return fetch(conn, IssuedPair, query, (comparison_id,))


def played_pairs(
    conn: Connection, comparison: Comparison, *, uncounted: bool = False
) -> list[PlayedPair]:
    """Returns the pairs that count, in their order.

    With ``uncounted`` the pairs that do not yet count, although both matches are finished.
    """
    rows = conn.execute(
        """
        select p.number, t.match_id = p.new_match_id, t.seat, t.placement, t.verdict,
          t.charged_seconds, t.max_move_seconds, a.name
        from comparison_pairs p
        join matches o on o.id = p.old_match_id and o.state = 'finished'
        join matches n on n.id = p.new_match_id and n.state = 'finished'
        join seats t on t.match_id in (p.old_match_id, p.new_match_id)
        join agents a on a.id = t.agent_id
        where p.comparison_id = %(comparison)s and (p.difference is null) = %(uncounted)s
        order by p.number, 2, t.seat
        """,
        {"comparison": comparison.id, "uncounted": uncounted},
    )
    seats = defaultdict(list)
    for number, is_new, *seat in rows:
        seats[number, is_new].append(seat)
    pairs = []
    for number in sorted({number for number, _ in seats}):
        plan = pair_plan(comparison, number)
        games = [
            GameOfPair(
                placements=tuple(seat[1] for seat in game),
                fault=game[plan.seat][2] != "DONE",
                charged_seconds=game[plan.seat][3] or 0.0,
                max_move_seconds=game[plan.seat][4] or 0.0,
            )
            for game in (seats[number, False], seats[number, True])
        ]
        names = tuple(seat[5] for seat in seats[number, False] if seat[0] != plan.seat)
        pairs.append(PlayedPair(number, plan.seat, names, games[0], games[1]))
    return pairs


def stored_report(comparison: Comparison, pairs: Sequence[PlayedPair]) -> Report:
    """Returns the report of the counted pairs, with the stored verdict."""
    picture = picture_after([pair.difference for pair in pairs], comparison.rule)
    picture = replace(picture, verdict=comparison.verdict)
    return report_of(pairs, picture, comparison.rule, comparison.replayed_pairs)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds after some pairs."""

    __pydantic_config__ = RECORD
    pairs: int
    difference: float
    low: float
    high: float


def course(
    conn: Connection, comparison_id: ComparisonId, most: int = COURSE_POINTS
) -> tuple[Bounds, ...]:
    """Returns the bounds after about ``most`` of the counted pairs, with the first and last."""
    rows = conn.execute(
        """
        select number, avg(difference) over (order by number), low, high from comparison_pairs
        where comparison_id = %s and difference is not null order by number
        """,
        (comparison_id,),
    ).fetchall()
    step = max(1, -(-len(rows) // most))
    return tuple(Bounds(*row) for row in rows if row[0] in (1, len(rows)) or row[0] % step == 0)
