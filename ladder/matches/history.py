"""Reads matches with their seats and episodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from psycopg.rows import dict_row

from ladder.database.db import Connection
from ladder.enums import Embargo, MatchKind, MatchState, VoidCause
from ladder.errors import NotFound
from ladder.ids import AgentId, EntryId, MatchId, ScrimId, SeasonId
from ladder.matches.records import Episode, Match, MatchAccess, Seat
from ladder.people import visibility
from ladder.people.records import Viewer

MATCH: Final = """
    select m.id, m.kind, m.season_id, s.league_id, m.scrim_id, c.team_id as scrim_team_id,
      exists (select 1 from forks f where f.scrim_id = c.id) as is_fork, s.game,
      m.state, m.queue, m.attempt, m.max_attempts, m.woken_at, m.claimed_at, m.deadline_at,
      m.void_cause, m.void_reason, m.accepted_no, m.seed, m.created_at, m.finished_at,
      g.tournament_id, coalesce(g.embargo, 'public') as embargo,
      g.tournament_id is not null and (
        g.embargo <> 'public'
        or exists (
          select 1 from tournaments x
          where x.id = g.tournament_id and x.state not in ('finished', 'cancelled')
        )
        or exists (
          select 1 from tournament_games o join matches n on n.id = o.match_id
          where o.tournament_id = g.tournament_id and o.outcome is null
            and n.state in ('queued', 'running')
        )
      ) as is_seed_kept
    from matches m join seasons s on s.id = m.season_id
      left join scrims c on c.id = m.scrim_id
      left join tournament_games g on g.match_id = m.id
    """
SEATS: Final = """
    select t.match_id, t.seat, t.entry_id, t.submission_id, t.agent_id, a.name as agent_name,
      t.team_id, g.name as team_name, t.placement, t.reward, t.verdict, t.reason, t.failed_step,
      t.charged_seconds, t.max_move_seconds, t.log_digest, t.statistics,
      case when z.measures is null then r.mu_before end as mu_before,
      case when z.measures is null then r.mu end as mu_after, t.profile = 'remote' as remote
    from seats t join matches m on m.id = t.match_id
      join seasons z on z.id = m.season_id join agents a on a.id = t.agent_id
      join teams g on g.id = t.team_id
      left join ratings r
        on r.match_id = t.match_id and r.no = m.accepted_no and r.entry_id = t.entry_id
    where t.match_id = any (%s) order by t.match_id, t.seat
    """
EPISODES: Final = """
    select match_id, id, number, position, steps, replay_digest from episodes
    where match_id = any (%s) order by match_id, position
    """
ACCESS: Final = """
    from matches m join seasons s on s.id = m.season_id join leagues l on l.id = s.league_id
      left join scrims c on c.id = m.scrim_id
    where m.id = any (%s) and
    """


def get_match(conn: Connection, match_id: MatchId, viewer: Viewer | None = None) -> Match:
    """Returns the match with this id, with seats and episodes.

    With a ``viewer``, also reads what the viewer may see of it. Raises NotFound, also if the viewer
    may not see it.
    """
    return _only(_select_matches(conn, "where m.id = %s", (match_id,), viewer), "match")


def get_matches(
    conn: Connection, match_ids: Sequence[MatchId], viewer: Viewer | None = None
) -> list[Match]:
    """Returns the matches with these ids, newest first, as ``get_match``. Others are left out."""
    tail = "where m.id = any (%s) order by m.id desc"
    return _select_matches(conn, tail, (list(match_ids),), viewer)


def match_of_episode(conn: Connection, number: int, viewer: Viewer | None = None) -> Match:
    """Returns the match of the episode with this number, as ``get_match``."""
    tail = "where m.id = (select match_id from episodes where number = %s)"
    return _only(_select_matches(conn, tail, (number,), viewer), "episode")


def _only(matches: list[Match], kind: str) -> Match:
    if not matches:
        raise NotFound.of(kind)
    return matches[0]


def first_rated_match(conn: Connection, entry_id: EntryId, viewer: Viewer) -> Match | None:
    """The first rated match of an entry, without void ones, if the viewer may see it."""
    tail = """
        where m.id = (
          select t.match_id from seats t join matches x on x.id = t.match_id
          where t.entry_id = %s and x.kind = 'rated' and x.state <> 'void'
          order by t.match_id limit 1
        )
        """
    return next(iter(_select_matches(conn, tail, (entry_id,), viewer)), None)


def list_matches(
    conn: Connection,
    *,
    viewer: Viewer | None = None,
    season_id: SeasonId | None = None,
    entry_id: EntryId | None = None,
    agent_id: AgentId | None = None,
    scrim_id: ScrimId | None = None,
    kind: MatchKind | str | None = None,
    state: MatchState | str | None = None,
    before: MatchId | None = None,
    includes_series: bool = True,
    limit: int = 50,
) -> list[Match]:
    """Matches that meet all given conditions, newest first, older than ``before``.

    With a ``viewer``, only matches that the viewer may see. A series is a comparison or a batch of
    scrims; without ``includes_series``, its games are left out.
    """
    seen, values = visibility.visible_matches(viewer) if viewer else visibility.EVERYTHING
    wanted = {
        "m.season_id = %s": season_id,
        "m.scrim_id = %s": scrim_id,
        "m.kind = %s": kind,
        "m.state = %s": state,
        "m.id < %s": before,
        # "id in" lets the planner use the index on seats instead of reading all matches
        "m.id in (select match_id from seats where entry_id = %s)": entry_id,
        "m.id in (select match_id from seats where agent_id = %s)": agent_id,
    }
    given = {clause: value for clause, value in wanted.items() if value is not None}
    no_series = () if includes_series else ("c.batch_id is null and c.comparison_id is null",)
    where = " and ".join((*given, *no_series, seen))
    tail = f"where {where} order by m.id desc limit %s"
    return _select_matches(conn, tail, (*given.values(), *values, limit), viewer)


def _select_matches(
    conn: Connection, tail: str, arguments: Sequence[Any], viewer: Viewer | None
) -> list[Match]:
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(f"{MATCH} {tail}", arguments).fetchall()
        access: dict[MatchId, MatchAccess] = {}
        if viewer is not None:
            access = _read_access(conn, viewer, [row["id"] for row in rows])
            rows = [row | {"access": access[row["id"]]} for row in rows if row["id"] in access]
        match_ids = [row["id"] for row in rows]
        seats: dict[str, list[Seat]] = defaultdict(list)
        for row in cur.execute(SEATS, (match_ids,)):
            match_id = row.pop("match_id")
            if viewer is not None and row["seat"] not in access[match_id].log_seats:
                row |= dict.fromkeys(("reason", "failed_step", "max_move_seconds", "log_digest"))
                if not access[match_id].has_replay:
                    row["charged_seconds"] = None
            seats[match_id].append(Seat(**row))
        episodes: dict[str, list[Episode]] = defaultdict(list)
        for row in cur.execute(EPISODES, (match_ids,)):
            episodes[row.pop("match_id")].append(Episode(**row))
    return [
        Match(
            **{
                **row,
                "kind": MatchKind(row["kind"]),
                "void_cause": None if row["void_cause"] is None else VoidCause(row["void_cause"]),
                "state": MatchState(row["state"]),
                "seed": bytes(row["seed"]),
                "embargo": Embargo(row["embargo"]),
                "seats": tuple(seats[row["id"]]),
                "episodes": tuple(episodes[row["id"]]),
            }
        )
        for row in rows
    ]


def _read_access(
    conn: Connection, viewer: Viewer, match_ids: Sequence[MatchId]
) -> dict[MatchId, MatchAccess]:
    """What the viewer may see of these matches. Hidden ones are left out."""
    seen, values = visibility.visible_matches(viewer)
    replay, replay_values = visibility.visible_replays(viewer)
    log, log_values = visibility.visible_logs(viewer)
    rows = conn.execute(
        f"""
        select m.id, {replay},
          array(select t.seat from seats t where t.match_id = m.id and {log})
        {ACCESS} {seen}
        """,
        (*replay_values, *log_values, list(match_ids), *values),
    )
    return {
        MatchId(match_id): MatchAccess(has_replay, frozenset(log_seats))
        for match_id, has_replay, log_seats in rows
    }


def visible_ids(conn: Connection, viewer: Viewer, match_ids: Sequence[MatchId]) -> set[MatchId]:
    """Those of these matches that the viewer may see."""
    seen, values = visibility.visible_matches(viewer)
    text = f"select m.id {ACCESS} {seen}"
    rows = conn.execute(text, (list(match_ids), *values)) if match_ids else ()
    return {MatchId(row[0]) for row in rows}


def may_watch(
    conn: Connection, viewer: Viewer, match_id: MatchId, open_games: Sequence[str]
) -> bool:
    """Whether the viewer may watch a match while it is played: ``visibility.watchable_matches``."""
    seen, values = visibility.watchable_matches(viewer, open_games)
    text = f"select 1 {ACCESS} {seen}"
    return conn.execute(text, ([match_id], *values)).fetchone() is not None


def replay_digests(conn: Connection, match_ids: Sequence[MatchId]) -> dict[MatchId, list[str]]:
    """Digests of the replays of each match, in the order of its episodes."""
    digests: dict[MatchId, list[str]] = defaultdict(list)
    for match_id, digest in conn.execute(
        """
        select match_id, replay_digest from episodes where match_id = any (%s)
        order by match_id, position
        """,
        (list(match_ids),),
    ):
        digests[MatchId(match_id)].append(digest)
    return digests
