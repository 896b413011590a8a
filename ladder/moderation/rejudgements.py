"""Rejudges matches: plays all matches that match a predicate again, as one act.

The preview shows the matches first, and the official board without their results. The act creates
new matches with the old lineups. They have the old seeds, unless an agent is remote. The scheduler
queues a few at a time. An accepted new match replaces the old one, even in a finished season.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, Literal

from psycopg.types.json import Jsonb
from pydantic import ConfigDict, Field

from ladder import ids
from ladder.database.db import Connection, atomic_function, fetch, fetch_one, fetch_optional
from ladder.enums import Json, MatchKind, VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, AwareDatetime, FilledLine, Key, Reason, RequestModel
from ladder.ids import EntryId, LeagueId, MatchId, RejudgementId, SeasonId, TeamId, UserId
from ladder.leagues import medals, seasons
from ladder.leagues.measures import Estimate, Measure
from ladder.leagues.medals import Medal
from ladder.leagues.records import Season
from ladder.matches import matches, worker_availability, workers
from ladder.people import audit_log
from ladder.ratings import fitting as ratings_fitting
from ladder.ratings import solo_seasons, standing_versions
from ladder.standings import leaderboard
from ladder.standings.board_records import BoardRow

AT_ONCE: Final = 32
"""Highest number of an act's matches in flight; others wait, so rated play continues."""
UNDER_WAY: Final = """select 1 from matches m
    join rejudged d on d.match_id = m.rejudges and d.by_match_id = m.id
    where d.rejudgement_id = r.id and m.season_id = r.season_id and m.kind = 'rated'
      and m.state in ('queued', 'running')"""
"""SQL: matches of the act ``r`` that are queued or running. Reads no other matches."""
CALLED_OFF: Final = "the rejudgement was called off"
UNSERVED: Final = "no node served one of its profiles for too long"


class RejudgementState(StrEnum):
    """State of an act."""

    JUDGING = "judging"
    """Matches of the act wait or are in flight; meanwhile no medal is sealed."""
    DONE = "done"
    """All playable matches have been played; their new results count."""
    VOID = "void"
    """No match could be played again; every old result counts."""
    CANCELLED = "cancelled"
    """Cancelled; matches that were not played again keep their old results."""


@dataclass(frozen=True, slots=True)
class Rejudgement:
    """Matches that one act judges again, and the progress."""

    __pydantic_config__ = RECORD
    id: Annotated[RejudgementId, Field(examples=["rej_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    season_id: SeasonId
    league_id: LeagueId
    predicate: dict[str, Json]
    reason: str
    created_at: datetime
    state: RejudgementState
    """`judging` until it ends; `done`; `void`: no match could be played again; `cancelled`."""
    ended_at: datetime | None
    total: int
    waiting: int
    """Matches not queued yet."""
    under_way: int
    done: int
    """Matches with a new result."""
    void: int
    """Matches that could not be played; the old result counts."""
    refused: int
    """Matches never queued: another act judged them, this one was cancelled, or no node served a
    profile of theirs for an hour."""


class PreviewRequest(RequestModel):
    predicate: Predicate


class NewRejudgement(PreviewRequest):
    reason: Reason


class Cancellation(RequestModel):
    reason: Reason


@atomic_function
def create_rejudgement(
    conn: Connection, season_id: SeasonId, predicate: Predicate, *, by: UserId | None, reason: str
) -> Rejudgement:
    """Creates a rejudgement of the matches; the scheduler queues them.

    Sealed medals of their teams are revoked until the last match is judged. Raises NotFound,
    LadderError (empty predicate, too many matches), Conflict (no match fits).
    """
    season = seasons.get_season(conn, season_id)
    # Lock the season: of two acts at once, the second must see the matches of the first.
    conn.execute("select 1 from seasons where id = %s for no key update", (season_id,))
    fitting = find_suspects(conn, season_id, predicate)
    if not fitting:
        raise Conflict(
            "choose another predicate: it matches no valid result that is not"
            " already being rejudged",
            field="predicate",
        )
    rejudgement_id = RejudgementId(ids.new_id("rej"))
    conn.execute(
        """insert into rejudgements (id, season_id, predicate, reason, by_user)
        values (%s, %s, %s, %s, %s)""",
        (
            rejudgement_id,
            season_id,
            Jsonb(predicate.model_dump(mode="json", exclude_none=True)),
            reason,
            by,
        ),
    )
    conn.execute(
        "insert into rejudged (rejudgement_id, match_id) select %s, unnest(%s::text[])",
        (rejudgement_id, [result.match_id for result in fitting]),
    )
    audit_id = audit_log.record_audit(
        conn,
        season.league_id,
        by=by,
        act="rejudge",
        subject=rejudgement_id,
        reason=reason,
        season_id=season_id,
        details={
            "predicate": predicate.model_dump(mode="json", exclude_none=True),
            "matches": len(fitting),
        },
    )
    for team in teams_of_suspects(conn, fitting):
        medals.unseal_medals(conn, season_id, team, audit_id)
    return get_rejudgement(conn, rejudgement_id)


def get_rejudgement(conn: Connection, rejudgement_id: RejudgementId) -> Rejudgement:
    """Returns an act and its progress. Raises NotFound."""
    return fetch_one(
        conn,
        Rejudgement,
        """select r.id, r.season_id, s.league_id, r.predicate, r.reason, r.created_at,
          coalesce(r.outcome, %s) as state, r.ended_at, count(*) as total,
          count(*) filter (where d.by_match_id is null and d.refusal is null) as waiting,
          count(*) filter (where m.state in ('queued', 'running')) as under_way,
          count(*) filter (where m.state = 'finished') as done,
          count(*) filter (where m.state = 'void') as void,
          count(*) filter (where d.refusal is not null) as refused
        from rejudgements r join seasons s on s.id = r.season_id
        join rejudged d on d.rejudgement_id = r.id left join matches m on m.id = d.by_match_id
        where r.id = %s group by r.id, s.league_id""",
        (RejudgementState.JUDGING, rejudgement_id),
        NotFound.of("rejudgement"),
    )


@atomic_function
def cancel_rejudgement(
    conn: Connection, rejudgement_id: RejudgementId, *, by: UserId | None, reason: str
) -> Rejudgement:
    """Cancels an act: matches not played again yet keep their old results, even running ones.

    Accepted results stay. Medals can be sealed again. Raises NotFound, Conflict if the act has
    ended.
    """
    conn.execute("select 1 from rejudgements where id = %s for update", (rejudgement_id,))
    rejudgement = get_rejudgement(conn, rejudgement_id)
    has_ended = rejudgement.state is not RejudgementState.JUDGING
    if has_ended or rejudgement.waiting == rejudgement.under_way == 0:
        raise Conflict("rejudgement: it has already ended and cannot be cancelled")
    query = """update rejudged set refusal = %(called_off)s
        where rejudgement_id = %(rejudgement_id)s and by_match_id is null and refusal is null"""
    conn.execute(query, {"called_off": CALLED_OFF, "rejudgement_id": rejudgement_id})
    query = """select m.id from rejudged d join matches m on m.id = d.by_match_id
        where d.rejudgement_id = %(rejudgement_id)s and m.state in ('queued', 'running')
        order by m.id for update of m"""
    playing = fetch(conn, MatchId, query, {"rejudgement_id": rejudgement_id})
    _write_end(
        conn, rejudgement.season_id, rejudgement_id, RejudgementState.CANCELLED
    )  # lock the season before its entries
    voided = matches.void_matches(conn, playing, VoidCause.CALLED_OFF, CALLED_OFF)
    audit_log.record_audit(
        conn,
        rejudgement.league_id,
        by=by,
        act="cancel",
        subject=rejudgement_id,
        reason=reason,
        season_id=rejudgement.season_id,
        details={"done": rejudgement.done, "called_off": rejudgement.waiting + voided},
    )
    return get_rejudgement(conn, rejudgement_id)


@atomic_function
def end_finished_rejudgements(conn: Connection) -> list[Rejudgement]:
    """Ends the acts whose matches have all ended; returns them.

    The next standing may seal medals again.
    """
    query = f"""select r.id, r.season_id,
          exists (select 1 from rejudged d join matches m on m.id = d.by_match_id
            where d.rejudgement_id = r.id and m.state = 'finished')
        from rejudgements r
        where r.ended_at is null
          and not exists (select 1 from rejudged d
            where d.rejudgement_id = r.id and d.by_match_id is null and d.refusal is null)
          and not exists ({UNDER_WAY})
        order by r.id for update of r skip locked"""
    over = conn.execute(query).fetchall()
    for act, season_id, is_done in over:
        _write_end(
            conn, season_id, act, RejudgementState.DONE if is_done else RejudgementState.VOID
        )
    return [get_rejudgement(conn, act) for act, _, _ in over]


@atomic_function
def refuse_unserved_matches(conn: Connection) -> int:
    """Refuses waiting matches that need a profile which no node served for long; returns how many.

    Their old results count. An act waits at least GIVEN_UP_SECONDS for a node.
    """
    acts = fetch(
        conn,
        RejudgementId,
        """select r.id from rejudgements r
        where r.ended_at is null
          and r.created_at <= now() - make_interval(secs => %(given_up_seconds)s)
          and exists (select 1 from rejudged d
            where d.rejudgement_id = r.id and d.by_match_id is null and d.refusal is null)
        order by r.id for update of r skip locked""",
        {"given_up_seconds": worker_availability.GIVEN_UP_SECONDS},
    )
    if not acts:
        return 0
    query = """select distinct s.profile from rejudged d join seats s on s.match_id = d.match_id
        where d.rejudgement_id = any (%(acts)s) and d.by_match_id is null and d.refusal is null"""
    profiles = fetch(conn, str, query, {"acts": acts})
    unserved = worker_availability.long_unserved_profiles(conn, profiles)
    return conn.execute(
        """update rejudged d set refusal = %(unserved)s
        where d.rejudgement_id = any (%(acts)s) and d.by_match_id is null and d.refusal is null
          and exists (select 1 from seats s
            where s.match_id = d.match_id and s.profile = any (%(profile)s))""",
        {"unserved": UNSERVED, "acts": acts, "profile": list(unserved)},
    ).rowcount


def matches_to_queue(
    conn: Connection, served: Collection[str], at_once: int = AT_ONCE
) -> list[tuple[RejudgementId, MatchId]]:
    """Returns the next matches to queue of each act, at most ``at_once`` in flight.

    Matches that need a profile outside ``served`` wait for a node that has it, until
    ``refuse_unserved_matches`` refuses them.
    """
    return fetch(
        conn,
        tuple[RejudgementId, MatchId],
        f"""select r.id, waiting.match_id from rejudgements r cross join lateral (
          select match_id from rejudged d
          where d.rejudgement_id = r.id and by_match_id is null and refusal is null
            and not exists (select 1 from seats s
              where s.match_id = d.match_id and s.profile <> all (%(served)s))
          order by match_id
          limit greatest(0, %(at_once)s - (select count(*) from ({UNDER_WAY}) u))) waiting
        order by r.id, waiting.match_id""",
        {"served": list(served), "at_once": at_once},
    )


def queue_next(conn: Connection) -> int:
    """Queues the next matches of all acts that a live worker can play; returns how many.

    They overtake most waiting rated matches. Each is queued in its own transaction.
    """
    served = {profile for worker in workers.live_workers(conn) for profile in worker.profiles}
    front = matches.first_turn_of_queue(conn, "play.cpu") or 0
    queued = 0
    for turn, (act, match_id) in enumerate(matches_to_queue(conn, served), front):
        with conn.transaction():
            queued += queue_replacement_match(conn, act, match_id, turn) is not None
    return queued


@atomic_function
def queue_replacement_match(
    conn: Connection, rejudgement_id: RejudgementId, match_id: MatchId, turn: int = 0
) -> MatchId | None:
    """Queues the match that replaces this one; None if there will be none."""
    season_id = fetch_optional(
        conn,
        SeasonId,
        """select r.season_id from rejudged d join rejudgements r on r.id = d.rejudgement_id
        where r.id = %(rejudgement_id)s and d.match_id = %(match_id)s and d.by_match_id is null
          and d.refusal is null for update of d""",
        {"rejudgement_id": rejudgement_id, "match_id": match_id},
    )
    if season_id is None:
        return None  # cancelled meanwhile
    season = seasons.get_season(conn, season_id)
    replacement, refusal = None, None
    try:
        replacement = matches.create_match(
            conn,
            season=season,
            kind=MatchKind.RATED,
            lineup=matches.lineup_of(conn, match_id),
            rejudges=match_id,
            turn=turn,
        )
    except Conflict as error:
        refusal = str(error)
    conn.execute(
        """update rejudged set by_match_id = %(by)s, refusal = %(refusal)s
        where rejudgement_id = %(act)s and match_id = %(match)s""",
        {"by": replacement, "refusal": refusal, "act": rejudgement_id, "match": match_id},
    )
    return replacement


def _write_end(
    conn: Connection, season_id: SeasonId, rejudgement_id: RejudgementId, state: RejudgementState
) -> None:
    """Records the end of an act and requests a new fit of its season."""
    conn.execute(
        "update rejudgements set ended_at = now(), outcome = %s where id = %s",
        (state, rejudgement_id),
    )
    conn.execute(
        "update seasons set official_is_stale = true, revision = revision + 1 where id = %s",
        (season_id,),
    )


LEAST_SCORE_CHANGE: Final = 0.1
"""Points; a smaller change of a score counts as no change."""
MATCHES_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A team's row on a compared board."""

    __pydantic_config__ = RECORD
    entry_id: EntryId
    agent_name: str
    score: float | None
    """Null if a match has one seat."""
    rank: int | None
    medal: Medal | None
    estimates: tuple[Estimate, ...]
    """Values that decide the rank if a match has one seat; else empty."""


@dataclass(frozen=True, slots=True)
class BoardChange:
    """A team or reference agent whose place would change."""

    __pydantic_config__ = RECORD
    team_name: str
    before: ComparedRow | None
    after: ComparedRow | None


@dataclass(frozen=True, slots=True)
class RejudgementPreview:
    """The matches that would be judged again, and the effect of their results on the standing."""

    __pydantic_config__ = RECORD
    total: int
    """Matches."""
    matches: tuple[SuspectResult, ...]
    """The first 200 of them."""
    version: int | None
    """Version of the official standing compared; null before the first version, and if a match has
    one seat."""
    measures: tuple[Measure, ...]
    """The measures compared if a match has one seat; else empty."""
    changes: tuple[BoardChange, ...]
    """Changes if these results were void, best first."""


def preview_rejudgement(
    conn: Connection, season_id: SeasonId, predicate: Predicate
) -> RejudgementPreview:
    """Returns the matches, and the board without their results. Writes nothing.

    Raises NotFound, LadderError (empty predicate, too many matches).
    """
    season = seasons.get_season(conn, season_id)
    fitting = find_suspects(conn, season_id, predicate)
    if season.measures:
        now = leaderboard.read_board(conn, season_id).rows
        totals = solo_seasons.totals_without_matches(
            conn, season_id, {result.match_id for result in fitting}
        )
        without = leaderboard.read_board(conn, season_id, totals=totals).rows
        return preview_of(season, fitting, None, _board_changes(now, without))
    latest = standing_versions.latest_version(conn, season_id)
    places = ratings_fitting.standing_without_matches(
        conn, season_id, {result.match_id for result in fitting}
    )
    if latest is None or places is None:
        return preview_of(season, fitting, None, ())
    now_places = None
    if latest[0].fitted_by != ratings_fitting.FITTED_BY:  # compare two fits of one method
        now_places = ratings_fitting.standing_without_matches(conn, season_id, ())
    before = leaderboard.read_board(conn, season_id, now_places).rows
    after = leaderboard.read_board(conn, season_id, places, teams_of_suspects(conn, fitting)).rows
    return preview_of(season, fitting, latest[0].version, _board_changes(before, after))


def preview_of(
    season: Season,
    results: Sequence[SuspectResult],
    version: int | None,
    changes: Iterable[BoardChange],
) -> RejudgementPreview:
    shown = tuple(results[:MATCHES_SHOWN])
    return RejudgementPreview(len(results), shown, version, season.measures, tuple(changes))


def _board_changes(before: Iterable[BoardRow], after: Iterable[BoardRow]) -> list[BoardChange]:
    """Returns the differences between two boards, by team; reference agents separately."""
    old = {_row_key(row): row for row in before}
    new = {_row_key(row): row for row in after}
    changes = []
    for key in dict.fromkeys((*new, *old)):
        earlier, later = old.get(key), new.get(key)
        either = earlier or later
        if either is not None and _rows_differ(earlier, later):
            changes.append(BoardChange(either.team_name, _board_row(earlier), _board_row(later)))
    return changes


def _row_key(row: BoardRow) -> str:
    return row.entry_id if row.is_anchor else row.team_id


def _rows_differ(earlier: BoardRow | None, later: BoardRow | None) -> bool:
    if earlier is None or later is None:
        return True
    if earlier.estimates != later.estimates:
        return True
    return (earlier.entry_id, earlier.rank, earlier.medal) != (
        later.entry_id,
        later.rank,
        later.medal,
    ) or abs(earlier.score_and_sigma[0] - later.score_and_sigma[0]) >= LEAST_SCORE_CHANGE


def _board_row(row: BoardRow | None) -> ComparedRow | None:
    if row is None:
        return None
    score = None if row.estimates else row.score_and_sigma[0]
    return ComparedRow(row.entry_id, row.agent_name, score, row.rank, row.medal, row.estimates)


MOST: Final = 10_000
"""Highest number of matches in one act."""
FITS: Final = """
    (%(worker)s::text is null or t.worker = %(worker)s)
    and (%(node)s::text is null or t.node = %(node)s)
    and (%(image_digest)s::text is null or t.image_digest = %(image_digest)s)
    and (%(rules_digest)s::text is null or t.rules_digest = %(rules_digest)s)
    and (%(machine)s::text is null or t.machine_id in (
      select id from machines where id = %(machine)s or lower(name) = lower(%(machine)s)))
    and (%(since)s::timestamptz is null or m.finished_at >= %(since)s)
    and (%(until)s::timestamptz is null or m.finished_at < %(until)s)
    and (%(agent)s::text is null and %(verdict)s::text is null
        and %(fault)s::text is distinct from 'agent'
      or exists (select 1 from seats x where x.match_id = m.id
        and (%(agent)s::text is null or x.agent_id = %(agent)s)
        and (%(verdict)s::text is null or x.verdict = %(verdict)s)
        and (%(fault)s::text is distinct from 'agent' or x.verdict <> 'DONE')))
    and (coalesce(%(fault)s::text, 'agent') = 'agent' or exists (
      select 1 from attempts f where f.match_id = m.id and f.fault = %(fault)s))"""
"""Whether the match ``m`` and the attempt ``t`` with its result meet a predicate."""


class Predicate(RequestModel):
    """Conditions on matches; a match must meet all given ones, and at least one is required."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"node": "node-7"}]})
    worker: FilledLine | None = None
    """Worker that reported the result."""
    node: FilledLine | None = None
    """Node that played the match."""
    machine: FilledLine | None = None
    """Machine that joined and played the match: name or id."""
    image_digest: FilledLine | None = None
    rules_digest: FilledLine | None = None
    since: AwareDatetime | None = None
    """Finished then or later."""
    until: AwareDatetime | None = None
    """Finished before."""
    agent: Key | None = None
    """Id of an agent in the match."""
    verdict: Literal["DONE", "ERROR", "INVALID", "TIMEOUT"] | None = None
    """Verdict of a seat; of the agent's seat, if an agent is given."""
    fault: Literal["agent", "worker", "host", "game"] | None = None
    """`agent`: a seat lost by its own fault; otherwise who caused a failed earlier attempt."""


@dataclass(frozen=True, slots=True)
class SuspectResult:
    """A result that counts, and the worker that reported it."""

    __pydantic_config__ = RECORD
    match_id: Annotated[MatchId, Field(examples=["mat_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    no: int
    """Number in the season's log."""
    finished_at: datetime
    worker: str
    node: str
    image_digest: str
    rules_digest: str


def find_suspects(
    conn: Connection, season_id: SeasonId, predicate: Predicate
) -> list[SuspectResult]:
    """Returns matching valid results that are not being rejudged, oldest first.

    Raises LadderError (empty predicate, too many matches).
    """
    if not predicate.model_dump(exclude_none=True):
        names = ", ".join(Predicate.model_fields)
        raise Invalid("predicate", f"give at least one condition on matches: {names}")
    results = fetch(
        conn,
        SuspectResult,
        f"""select m.id as match_id, a.no, m.finished_at, t.worker, t.node, t.image_digest,
          t.rules_digest
        from acceptances a join matches m on m.id = a.match_id
        join attempts t on t.match_id = m.id and t.ended = 'finished'
        where a.season_id = %(season)s and a.act = 'accept'
          and not exists (
            select 1 from acceptances w where w.match_id = a.match_id and w.act = 'withdraw')
          and not exists (select 1 from matches r where r.rejudges = m.id and r.state <> 'void')
          and not exists (select 1 from rejudged d
            where d.match_id = m.id and d.by_match_id is null and d.refusal is null)
          and {FITS}
        order by a.no limit %(most)s""",
        {**predicate.model_dump(), "season": season_id, "most": MOST + 1},
    )
    if len(results) > MOST:
        raise Invalid("predicate", f"narrow it: it matches more than {MOST:,} matches")
    return results


def teams_of_suspects(conn: Connection, suspects: Sequence[SuspectResult]) -> list[TeamId]:
    """Returns the teams that played in these matches."""
    query = "select distinct team_id from seats where match_id = any (%s) order by team_id"
    return fetch(conn, TeamId, query, ([suspect.match_id for suspect in suspects],))
