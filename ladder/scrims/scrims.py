"""Creates scrims: unrated games on request, which only those see whom the scrim names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from pydantic import ConfigDict, Field, StringConstraints

from estimates.intervals import wilson_interval
from ladder import ids
from ladder.database.db import (
    Connection,
    atomic_function,
    exists,
    fetch,
    fetch_one,
    insert,
    update,
)
from ladder.entries import entries
from ladder.entries.entries import USUAL_PROFILE
from ladder.entries.records import Agent, EntryState, PauseCause
from ladder.enums import LogAudience, ScrimAudience, Visibility, VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, Key, RequestModel
from ladder.ids import (
    AgentId,
    LeagueId,
    MatchId,
    ScrimBatchId,
    ScrimId,
    ScrimRequestId,
    SeasonId,
    SubmissionId,
    TeamId,
    UserId,
)
from ladder.leagues import leagues
from ladder.leagues.records import Season
from ladder.matches import matches
from ladder.matches.records import LineupSeat
from ladder.people import visibility
from ladder.people.records import Viewer
from ladder.people.resources import PRIVATE, ScrimPrivacy
from ladder.runtime_profiles import REMOTE
from ladder.scrims import policies

MOST_GAMES: Final = 100
"""Games of one scrim."""
MOST_SEATS: Final = 16
Seed = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class Draws(StrEnum):
    """Where the game's chance after a fork comes from."""

    RECORD = "record"
    """The record's generator goes on, so the same moves give the same game."""
    NEW = "new"
    """Every game draws anew."""


@dataclass(frozen=True, slots=True)
class ForkOrigin:
    """The step of a recorded match that the games of a fork continue."""

    __pydantic_config__ = RECORD
    match_id: MatchId
    episode: int
    """Position in the match."""
    step: int
    """Recorded steps before the fork."""
    draws: Draws
    moves: dict[str, list[Any]]
    """Moves by hand, by seat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrim:
    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)
    id: Annotated[ScrimId, Field(examples=["scr_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    season_id: SeasonId
    league_id: LeagueId
    team_id: TeamId
    """The team that asked for it."""
    side_team_ids: tuple[TeamId, ...]
    """All teams with an agent in it."""
    requested_by: UserId | None
    """Null for people of other teams."""
    lineup: tuple[SubmissionId, ...]
    """Submission ids by seat, before seats rotate."""
    games: int
    state: Annotated[str, Field(examples=["running"])]
    finished_games: int
    void_games: int
    created_at: datetime
    finished_at: datetime | None
    privacy: ScrimPrivacy
    batch_id: ScrimBatchId | None
    request_id: ScrimRequestId | None
    """The request that the other side accepted. Null: none was needed."""
    fork: ForkOrigin | None = None
    """What the games continue, if it is a fork."""


class NewPrivacy(RequestModel):
    """Who sees what. It never changes later. Nobody sees replays or logs of hidden results."""

    results: Annotated[ScrimAudience, Field(title="Who sees the results")] = ScrimAudience.ASKER
    """asker: your team; sides: all teams that play; league: everybody who sees the league"""
    replays: Annotated[ScrimAudience, Field(title="Who sees the replays")] = ScrimAudience.ASKER
    logs: Annotated[LogAudience, Field(title="Who reads what agents print")] = LogAudience.OWN
    """own: each team what its agents print; sides, league: all output, if the other team accepts"""


class NewScrim(RequestModel):
    season: Key
    """Season with the game, configuration and clock to use."""
    lineup: Annotated[list[Key], Field(min_length=1, max_length=MOST_SEATS)]
    """By seat: a submission id, or an agent id for its newest active entry."""
    games: Annotated[int, Field(ge=1, le=MOST_GAMES)] = 1
    seeds: Annotated[list[Seed] | None, Field(max_length=MOST_GAMES)] = None
    """32 hex digits for each game; default: random."""
    team: Key | None = None
    """Required if you are in several teams."""
    privacy: NewPrivacy = Field(default_factory=NewPrivacy)


@dataclass(frozen=True, slots=True)
class Asker:
    """The person who asks for games, the team that the games are for, and the season of them."""

    season: Season
    team_id: TeamId
    """Its daily limit counts."""
    user_id: UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrimOrder:
    """A scrim to create."""

    asker: Asker
    lineup: Sequence[SubmissionId]
    games: int
    seeds: Sequence[bytes | None] | None = None
    """16 bytes a game, or None for a random one. None: all random."""
    rotates: bool = True
    """Whether the lineup rotates by one seat each game."""
    privacy: ScrimPrivacy = PRIVATE
    agreed_team_ids: frozenset[TeamId] = frozenset()
    """Teams that accepted this scrim: the policies of their agents do not count."""
    batch_id: ScrimBatchId | None = None


BATCH_QUEUE_SECONDS: Final = 24 * 3600.0
"""Least time that games of a batch may wait in the queue."""
SCRIM: Final = """
    select c.id, c.season_id, s.league_id, c.team_id, c.side_team_ids, c.requested_by, c.lineup,
      c.games, c.state, c.finished_games, c.void_games, c.created_at, c.finished_at, c.batch_id,
      c.result_audience, c.replay_audience, c.log_audience, c.is_members_only,
      (select id from scrim_requests where scrim_id = c.id) as request_id,
      f.match_id, f.position, f.step, f.draws, f.moves
    from scrims c join seasons s on s.id = c.season_id
    left join forks f on f.scrim_id = c.id"""


@dataclass(frozen=True, slots=True)
class ScrimScore:
    """Result of a submission in a scrim, over all its seats in finished games. The interval is
    Wilson's, 95 %."""

    __pydantic_config__ = RECORD
    submission_id: SubmissionId
    agent_id: Annotated[AgentId, Field(exclude=True)]
    agent_name: str
    version: Annotated[int, Field(exclude=True)]
    """Place among the submissions of its agent, from 1."""
    games: int
    wins: float
    """First places; a place shared by k seats counts 1/k."""
    mean_placement: float | None
    win_rate: float | None
    low: float
    """Lower end of the interval of the win rate."""
    high: float
    faults: int


@atomic_function
def request_scrim(
    conn: Connection,
    asker: Asker,
    lineup: Sequence[SubmissionId],
    *,
    games: int,
    seeds: Sequence[bytes] | None = None,
    privacy: NewPrivacy = NewPrivacy(),
) -> Scrim:
    """Creates a scrim that nobody has to accept, as ``create_scrim`` does.

    Raises Invalid also for logs that the other side would have to agree to.
    """
    if privacy.logs is not LogAudience.OWN:
        raise Invalid("logs", "ask the other team: it must agree that others read its output")
    order = ScrimOrder(
        asker=asker,
        lineup=lineup,
        games=games,
        seeds=seeds,
        privacy=narrow_privacy(conn, asker.season, privacy),
    )
    return create_scrim(conn, order)


def narrow_privacy(conn: Connection, season: Season, privacy: NewPrivacy) -> ScrimPrivacy:
    """Returns the privacy without audiences that cannot see, and with the league's present state.

    Nobody sees replays or logs of results that are hidden. Raises NotFound.
    """
    league = leagues.get_league(conn, season.league_id)
    order = list(ScrimAudience)
    most = order.index(privacy.results)
    logs = order.index(ScrimAudience(privacy.logs)) if privacy.logs != LogAudience.OWN else 0
    return ScrimPrivacy(
        privacy.results,
        order[min(most, order.index(privacy.replays))],
        list(LogAudience)[min(most, logs)],
        league.visibility is not Visibility.PUBLIC,
    )


@atomic_function
def create_scrim(
    conn: Connection, order: ScrimOrder, *, note: Callable[[ScrimId], None] | None = None
) -> Scrim:
    """Creates a scrim and its matches; the lineup rotates by one seat each game.

    At least one submission must be the team's own. Others must be active in the season. Their
    agents must accept scrims automatically, or their teams must have accepted this one. ``note``
    writes further rows of the scrim.

    Raises NotFound, Conflict (a policy refuses, or a paused agent), LadderError (numbers),
    ScrimLimitReached.
    """
    season, team_id = order.asker.season, order.asker.team_id
    lineup, games, seeds = order.lineup, order.games, order.seeds
    if len(lineup) != season.seats:
        raise Invalid(
            "lineup", f"give {season.seats} submissions, one for each seat; {len(lineup)} given"
        )
    if not 1 <= games <= MOST_GAMES:
        raise Invalid("games", f"must be between 1 and {MOST_GAMES}; it is {games}")
    if seeds is not None and len(seeds) != games:
        raise Invalid("seeds", f"give one seed for each game: {len(seeds)} given for {games} games")
    if any(seed is not None and len(seed) != 16 for seed in seeds or ()):
        raise Invalid("seeds", "each must be 16 bytes")
    lock_team(conn, team_id)
    seats = _allowed_seats(conn, season, team_id, lineup)
    policies.refuse_over_team_limit(conn, season, team_id, games)
    _refuse_by_policies(conn, order, seats)
    scrim_id = ScrimId(ids.new_id("scr"))
    privacy = order.privacy
    insert(
        conn,
        "scrims",
        id=scrim_id,
        season_id=season.id,
        team_id=team_id,
        side_team_ids=sorted({team_id, *(seat.team_id for seat in seats)}),
        requested_by=order.asker.user_id,
        lineup=Jsonb(list(lineup)),
        games=games,
        result_audience=privacy.results,
        replay_audience=privacy.replays,
        log_audience=privacy.logs,
        is_members_only=privacy.is_members_only,
        batch_id=order.batch_id,
    )
    if note is not None:
        note(scrim_id)
    shifts = [game % len(seats) if order.rotates else 0 for game in range(games)]
    matches.queue_scrim_games(
        conn,
        season,
        scrim_id,
        [seats[shift:] + seats[:shift] for shift in shifts],
        seeds,
        turn=_queued_games(conn, team_id),
        queue_seconds=BATCH_QUEUE_SECONDS if order.batch_id else season.queue_seconds,
    )
    return get_scrim(conn, scrim_id)


def lock_team(conn: Connection, team_id: TeamId) -> None:
    """Locks the team's row, so simultaneous requests are counted in turn. Raises NotFound."""
    if not exists(conn, "select 1 from teams where id = %s for no key update", (team_id,)):
        raise NotFound.of("team")


def get_scrim(conn: Connection, scrim_id: ScrimId) -> Scrim:
    """Returns the scrim with this id. Raises NotFound."""
    for scrim in _select_scrims(conn, "where c.id = %s", (scrim_id,)):
        return scrim
    raise NotFound.of("scrim")


def list_scrims(
    conn: Connection,
    viewer: Viewer,
    team_ids: Sequence[TeamId],
    after: ScrimId | None = None,
    limit: int = 50,
) -> list[Scrim]:
    """Returns scrims of these teams that the viewer may see, newest first, older than ``after``.

    These are the scrims that the teams asked for, and those of others with their agents. Scrims of
    batches and comparisons are left out.
    """
    is_visible, values = visibility.visible_scrims(viewer)
    teams = sorted(team_ids)
    return _select_scrims(
        conn,
        f"""
        where (c.team_id = any (%s) or c.side_team_ids && %s) and c.batch_id is null
          and c.comparison_id is null and (%s::text is null or c.id < %s) and {is_visible}
        order by c.id desc limit %s
        """,
        (teams, teams, after, after, *values, limit),
    )


def list_batch_scrims(conn: Connection, batch_id: ScrimBatchId) -> list[Scrim]:
    """Returns the scrims of a batch, oldest first."""
    return _select_scrims(conn, "where c.batch_id = %s order by c.id", (batch_id,))


def scrim_summary(conn: Connection, scrim: Scrim) -> tuple[ScrimScore, ...]:
    """Returns the current result of each submission, most wins first."""
    rows = conn.execute(
        """
        select b.id, a.id, a.name, submission_version(a.id, b.number), count(t.match_id),
          coalesce(sum(case when t.placement = 1 then 1.0 / t.firsts else 0 end), 0),
          avg(t.placement), count(*) filter (where t.verdict <> 'DONE')
        from submissions b join agents a on a.id = b.agent_id
        left join (
          select t.match_id, t.submission_id, t.placement, t.verdict,
            count(*) filter (where t.placement = 1) over (partition by t.match_id) as firsts
          from seats t join matches m on m.id = t.match_id
          where m.scrim_id = %(scrim)s and m.state = 'finished'
        ) t on t.submission_id = b.id
        where b.id = any (%(lineup)s) group by b.id, a.id
        """,
        {"scrim": scrim.id, "lineup": list(scrim.lineup)},
    )
    scores = []
    for submission, agent, name, version, games, wins, mean_placement, faults in rows:
        low, high = wilson_interval(float(wins), games)
        scores.append(
            ScrimScore(
                submission_id=submission,
                agent_id=agent,
                agent_name=name,
                version=version,
                games=games,
                wins=float(wins),
                mean_placement=None if mean_placement is None else float(mean_placement),
                win_rate=float(wins) / games if games else None,
                low=low,
                high=high,
                faults=faults,
            )
        )
    return tuple(
        sorted(
            scores,
            key=lambda score: (
                -(score.win_rate or 0.0),
                score.mean_placement or 0.0,
                score.submission_id,
            ),
        )
    )


@atomic_function
def cancel_scrim(conn: Connection, scrim_id: ScrimId) -> Scrim:
    """Voids the scrim's unfinished games. No error if the scrim has already ended."""
    scrim = get_scrim(conn, scrim_id)
    query = """
        select id from matches where scrim_id = %s and state in ('queued', 'running') order by id"""
    playing = fetch(conn, MatchId, query, (scrim_id,))
    voided = matches.void_matches(conn, playing, VoidCause.CALLED_OFF, "the scrim was cancelled")
    if voided:
        update(conn, "scrims", {"id": scrim.id}, state="cancelled")
    return get_scrim(conn, scrim_id)


def _allowed_seats(
    conn: Connection, season: Season, team_id: TeamId, lineup: Sequence[SubmissionId]
) -> list[LineupSeat]:
    """Returns the seats, if these submissions can play in the season."""
    rows = conn.execute(
        f"""
        select b.id, e.id, b.agent_id, a.team_id, coalesce(e.profile, {USUAL_PROFILE}), e.state,
          a.name, e.pause_cause
        from submissions b join agents a on a.id = b.agent_id
        left join entries e on e.submission_id = b.id and e.season_id = %(season)s
        where b.id = any (%(lineup)s)
        """,
        {"season": season.id, "lineup": list(lineup)},
    )
    row_of = {row[0]: row for row in rows}
    if not any(row[3] == team_id for row in row_of.values()):
        raise Conflict("at least one submission must be your own", field="lineup")
    seats = []
    for submission in lineup:
        # An unknown submission and an inactive one give the same error.
        row = row_of.get(submission)
        if row is None or (row[3] != team_id and row[5] not in ("active", "paused")):
            raise NotFound(
                f"there is no active submission {submission} in this season", field="lineup"
            )
        _, entry_id, agent_id, owner, profile, _, name, pause_cause = row
        if pause_cause is not None:
            why = policies.PAUSED[PauseCause(pause_cause)]
            raise Conflict(f"{name}: {why}", field="lineup")
        if profile == REMOTE and not season.remote_agents:
            raise Conflict(f"{name} is a remote agent; use a bundle in this season", field="lineup")
        seats.append(LineupSeat(entry_id, submission, agent_id, owner, profile))
    return seats


def _refuse_by_policies(conn: Connection, order: ScrimOrder, seats: Sequence[LineupSeat]) -> None:
    """Raises Conflict or ScrimLimitReached for an agent of another team that does not play this.

    Locks the agents, so that simultaneous scrims are counted in turn.
    """
    agreed = {order.asker.team_id, *order.agreed_team_ids}
    others = sorted({seat.agent_id for seat in seats if seat.team_id not in agreed})
    if not others:
        return
    conn.execute(
        "select 1 from agents where id = any (%s) order by id for no key update", (others,)
    )
    asker = order.asker
    for opponent in policies.read_opponents(conn, asker.season, asker.team_id, others):
        limit = policies.agent_limit_reached(opponent)
        if opponent.answer_to(0).is_allowed and limit is not None and order.games > limit.left:
            raise limit
        answer = opponent.answer_to(order.games)
        if not answer.is_allowed:
            raise Conflict(f"{opponent.agent_name}: {answer.reason}", field="lineup")
        if not answer.is_automatic:
            raise Conflict(
                f"{opponent.agent_name} is not open for scrims without asking: send a request to"
                f" {opponent.team_name}",
                field="lineup",
            )


def _queued_games(conn: Connection, team_id: TeamId) -> int:
    """Returns the number of the team's scrim games in the queue."""
    query = """
        select count(*) from scrims c join matches m on m.scrim_id = c.id and m.state = 'queued'
        where c.team_id = %s and c.state = 'running'"""
    return fetch_one(conn, int, query, (team_id,))


def _select_scrims(conn: Connection, tail: str, arguments: Sequence[Any]) -> list[Scrim]:
    with conn.cursor(row_factory=dict_row) as cur:
        return [_scrim_of_row(row) for row in cur.execute(f"{SCRIM} {tail}", arguments)]


def _scrim_of_row(row: dict[str, Any]) -> Scrim:
    privacy = ScrimPrivacy(
        ScrimAudience(row.pop("result_audience")),
        ScrimAudience(row.pop("replay_audience")),
        LogAudience(row.pop("log_audience")),
        row.pop("is_members_only"),
    )
    match_id, episode, step, draws, moves = (
        row.pop(name) for name in ("match_id", "position", "step", "draws", "moves")
    )
    return Scrim(
        **{
            **row,
            "side_team_ids": tuple(sorted(row["side_team_ids"])),
            "lineup": tuple(row["lineup"]),
            "privacy": privacy,
            "fork": match_id and ForkOrigin(match_id, episode, step, Draws(draws), moves),
        }
    )


def newest_submission(conn: Connection, season: Season, agent: Agent) -> SubmissionId:
    """Returns the submission of the agent's newest active entry in the season. Raises Conflict."""
    active = entries.list_entries(
        conn, season_id=season.id, agent_id=agent.id, state=EntryState.ACTIVE, limit=1
    )
    if active:
        return active[0].submission_id
    paused = entries.list_entries(
        conn, season_id=season.id, agent_id=agent.id, state=EntryState.PAUSED, limit=1
    )
    if paused and paused[0].pause_cause is not None:
        raise Conflict(f"{agent.name}: {policies.PAUSED[paused[0].pause_cause]}")
    raise Conflict(
        f"{agent.name} has no active entry in this season. Name a submission instead;"
        f" `peck submissions --agent {agent.slug}` lists yours."
    )
