"""Creates scrims: unrated games on request, private to the requesting team."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ladder import ids
from ladder.confidence_intervals import wilson_interval
from ladder.database.db import Connection, atomic_function
from ladder.enums import MatchKind
from ladder.errors import Conflict, Invalid, LimitReached, NotFound
from ladder.ids import AgentId, MatchId, ScrimId, SubmissionId, TeamId, UserId
from ladder.leagues.records import Season
from ladder.matches import matches
from ladder.matches.records import LineupSeat
from ladder.people import visibility
from ladder.people.records import Viewer
from ladder.runtime_profiles import REMOTE
from ladder.scrims.records import Scrim

MOST_GAMES: Final = 100  # games in one scrim
TEAM_GAMES_DAILY: Final = 500  # a team's scrim games in a UTC day
SCRIM: Final = (
    "select c.id, c.season_id, s.league_id, c.team_id, c.requested_by, c.lineup, c.games, c.state,"
    " c.finished_games, c.void_games, c.created_at, c.finished_at"
    " from scrims c join seasons s on s.id = c.season_id"
)


class ScrimLimitReached(LimitReached):
    """A day's scrim games are used up."""


@dataclass(frozen=True, slots=True)
class ScrimScore:
    """Result of a submission in a scrim, over all its seats in finished games."""

    submission_id: SubmissionId
    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    games: int
    wins: float
    """First places; a place shared by k counts 1/k."""
    mean_placement: float | None
    win_rate: float | None
    low: float
    """Lower end of Wilson's 95 % interval of the win rate."""
    high: float
    faults: int


@dataclass(frozen=True, slots=True)
class ScrimRequest:
    """Who asks for which games."""

    season: Season
    team_id: TeamId
    user_id: UserId
    lineup: Sequence[SubmissionId]
    games: int


@atomic_function
def request_scrim(
    conn: Connection,
    *,
    season: Season,
    team_id: TeamId,
    user_id: UserId,
    lineup: Sequence[SubmissionId],
    games: int,
    seeds: Sequence[bytes] | None = None,
) -> Scrim:
    """Creates a scrim of ``games`` matches; the lineup rotates by one seat each game.

    ``seeds`` has 16 bytes a game; None: random. At least one submission must be the team's own.
    Others must be active in this season, with agents open for scrims. Anchors are always open.

    Raises NotFound, Conflict (agent not open, or paused), LadderError (numbers), ScrimLimitReached.
    """
    if len(lineup) != season.seats:
        raise Invalid("lineup", f"{len(lineup)} submissions, this season plays {season.seats}")
    if seeds is not None and len(seeds) != games:
        raise Invalid("seeds", f"give one seed a game: {len(seeds)} given for {games} games")
    if seeds is not None and any(len(seed) != 16 for seed in seeds):
        raise Invalid("seeds", "each must be 16 bytes")
    given = [None] * games if seeds is None else list(seeds)
    return create_scrim(conn, ScrimRequest(season, team_id, user_id, lineup, games), seeds=given)


def create_scrim(
    conn: Connection,
    asked: ScrimRequest,
    *,
    seeds: Sequence[bytes | None],
    rotates: bool = True,
    note: Callable[[ScrimId], None] | None = None,
) -> Scrim:
    """Creates the scrim and its matches in the caller's transaction, within all limits.

    ``seeds`` has one for each game; None: random. ``note`` writes further rows of the scrim. Raises
    the errors of ``request_scrim``.
    """
    if not 1 <= asked.games <= MOST_GAMES:
        raise Invalid("games", f"must be between 1 and {MOST_GAMES}; it is {asked.games}")
    team_id, lineup = asked.team_id, asked.lineup
    # Lock the team's row, so simultaneous requests are counted in turn.
    if conn.execute("select 1 from teams where id = %s for no key update", (team_id,)).fetchone():
        seats = _allowed_seats(conn, asked.season, team_id, lineup)
    else:
        raise NotFound.of("team")
    others = {seat.agent_id for seat in seats if seat.team_id != team_id}
    _refuse_over_limits(conn, team_id, others, asked.games)
    scrim_id = ScrimId(ids.new_id("scr"))
    conn.execute(
        "insert into scrims (id, season_id, team_id, requested_by, lineup, games)"
        " values (%s, %s, %s, %s, %s, %s)",
        (scrim_id, asked.season.id, team_id, asked.user_id, Jsonb(list(lineup)), asked.games),
    )
    if note is not None:
        note(scrim_id)
    waiting = _queued_games(conn, team_id)
    for game, seed in enumerate(seeds):
        shift = game % len(seats) if rotates else 0
        matches.create_match(
            conn,
            season=asked.season,
            kind=MatchKind.SCRIM,
            lineup=seats[shift:] + seats[:shift],
            seed=seed,
            scrim_id=scrim_id,
            turn=waiting + game,
        )
    return get_scrim(conn, scrim_id)


def get_scrim(conn: Connection, scrim_id: ScrimId) -> Scrim:
    """Returns the scrim with this id. Raises NotFound."""
    found = _select_scrims(conn, "where c.id = %s", (scrim_id,))
    if not found:
        raise NotFound.of("scrim")
    return found[0]


def list_scrims(
    conn: Connection,
    viewer: Viewer,
    team_ids: Sequence[TeamId],
    after: ScrimId | None = None,
    limit: int = 50,
) -> list[Scrim]:
    """Returns these teams' scrims that the viewer may see, newest first, older than ``after``.

    Leaves out games of comparisons.
    """
    seen, values = visibility.visible_scrims(viewer)
    return _select_scrims(
        conn,
        "where c.team_id = any (%s) and c.comparison_id is null and (%s::text is null or c.id < %s)"
        f" and {seen} order by c.id desc limit %s",
        (sorted(team_ids), after, after, *values, limit),
    )


def submission_names(conn: Connection, lineup: Sequence[SubmissionId]) -> dict[SubmissionId, str]:
    """Returns the name of the agent of each submission."""
    rows = conn.execute(
        "select b.id, a.name from submissions b join agents a on a.id = b.agent_id"
        " where b.id = any (%s)",
        (list(lineup),),
    )
    return {SubmissionId(row[0]): row[1] for row in rows}


def scrim_summary(conn: Connection, scrim_id: ScrimId) -> tuple[ScrimScore, ...]:
    """Returns the current result of each submission, most wins first. Raises NotFound."""
    scrim = get_scrim(conn, scrim_id)
    rows = conn.execute(
        "select b.id, a.id, a.name, a.team_id, count(t.match_id),"
        " coalesce(sum(case when t.placement = 1 then 1.0 / t.firsts else 0 end), 0),"
        " avg(t.placement), count(*) filter (where t.verdict <> 'DONE')"
        " from submissions b join agents a on a.id = b.agent_id left join ("
        "   select t.match_id, t.submission_id, t.placement, t.verdict,"
        "   count(*) filter (where t.placement = 1) over (partition by t.match_id) as firsts"
        "   from seats t join matches m on m.id = t.match_id"
        "   where m.scrim_id = %s and m.state = 'finished') t on t.submission_id = b.id"
        " where b.id = any (%s) group by b.id, a.id",
        (scrim_id, list(scrim.lineup)),
    )
    scores = []
    for submission, agent, name, team, games, wins, mean_placement, faults in rows:
        low, high = wilson_interval(float(wins), games)
        scores.append(
            ScrimScore(
                submission_id=submission,
                agent_id=agent,
                agent_name=name,
                team_id=team,
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
            scores, key=lambda s: (-(s.win_rate or 0.0), s.mean_placement or 0.0, s.submission_id)
        )
    )


@atomic_function
def cancel_scrim(conn: Connection, scrim_id: ScrimId) -> Scrim:
    """Voids the scrim's unfinished games. No error if the scrim has already ended."""
    scrim = get_scrim(conn, scrim_id)
    rows = conn.execute(
        "select id from matches where scrim_id = %s and state in ('queued', 'running') order by id",
        (scrim_id,),
    )
    voided = matches.void_matches(
        conn, [MatchId(row[0]) for row in rows], "the scrim was cancelled"
    )
    if voided:
        conn.execute("update scrims set state = 'cancelled' where id = %s", (scrim.id,))
    return get_scrim(conn, scrim_id)


def _allowed_seats(
    conn: Connection, season: Season, team_id: TeamId, lineup: Sequence[SubmissionId]
) -> list[LineupSeat]:
    """Returns the seats if this team may use these submissions."""
    rows = conn.execute(
        "select b.id, e.id, b.agent_id, a.team_id, coalesce(e.profile,"
        " case when b.url is null then 'numpy' else 'remote' end), e.state,"
        " a.open_for_scrims or coalesce(e.is_anchor, false), a.name"
        " from submissions b join agents a on a.id = b.agent_id"
        " left join entries e on e.submission_id = b.id and e.season_id = %s"
        " where b.id = any (%s)",
        (season.id, list(lineup)),
    )
    known = {row[0]: row for row in rows}
    if not any(row[3] == team_id for row in known.values()):
        raise Conflict("at least one submission must be your own", field="lineup")
    seats = []
    for submission in lineup:
        # An unknown submission and an inactive one give the same error.
        row = known.get(submission)
        if row is None or (row[3] != team_id and row[5] not in ("active", "paused")):
            raise NotFound(
                f"there is no active submission {submission} in this season", field="lineup"
            )
        _, entry_id, agent_id, owner, profile, _, is_open, name = row
        if owner != team_id and not is_open:
            raise Conflict(f"{name} is not open for scrims; its owner can open it", field="lineup")
        if row[5] == "paused":
            raise Conflict(
                f"{name} is paused because its address did not answer; it plays"
                " again after its owner resumes it or a try succeeds",
                field="lineup",
            )
        if profile == REMOTE and not season.remote_agents:
            raise Conflict(f"{name} is a remote agent; use a bundle in this season", field="lineup")
        seats.append(LineupSeat(entry_id, submission, agent_id, owner, profile))
    return seats


def _queued_games(conn: Connection, team_id: TeamId) -> int:
    """Returns the number of the team's scrim games in the queue."""
    row = conn.execute(
        "select count(*) from scrims c join matches m on m.scrim_id = c.id and m.state = 'queued'"
        " where c.team_id = %s and c.state = 'running'",
        (team_id,),
    ).fetchone()
    assert row is not None
    return int(row[0])


def _refuse_over_limits(
    conn: Connection, team_id: TeamId, agents: set[AgentId], games: int
) -> None:
    """Raises ScrimLimitReached above today's limits; the caller has locked the team's row."""
    used = conn.execute(
        "select coalesce(sum(games), 0), date_trunc('day', now(), 'utc') + interval '1 day'"
        " from scrims where team_id = %s and created_at >= date_trunc('day', now(), 'utc')",
        (team_id,),
    ).fetchone()
    assert used is not None
    total, resets_at = used
    if total + games > TEAM_GAMES_DAILY:
        raise ScrimLimitReached("your team's scrim games a day", total, TEAM_GAMES_DAILY, resets_at)
    rows = conn.execute(
        "select a.name, a.scrims_per_requester_daily, coalesce(sum(c.games), 0) from agents a"
        " left join scrims c on c.team_id = %s and c.created_at >= date_trunc('day', now(), 'utc')"
        " and exists (select 1 from submissions b where b.agent_id = a.id and c.lineup ? b.id)"
        " where a.id = any (%s) group by a.id order by a.id",
        (team_id, sorted(agents)),
    )
    for name, allowed, met in rows:
        if met + games > allowed:
            raise ScrimLimitReached(f"your scrim games a day with {name}", met, allowed, resets_at)


def _select_scrims(conn: Connection, tail: str, arguments: Sequence[Any]) -> list[Scrim]:
    with conn.cursor(row_factory=dict_row) as cur:
        return [
            Scrim(**{**row, "lineup": tuple(row["lineup"])})
            for row in cur.execute(f"{SCRIM} {tail}", arguments)
        ]
