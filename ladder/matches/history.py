"""Reads matches with their seats and episodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from psycopg.rows import dict_row

from ladder.database.db import Connection
from ladder.enums import (
    Embargo,
    LogAudience,
    MatchKind,
    MatchState,
    ReplayVisibility,
    ScrimAudience,
    Visibility,
    VoidCause,
)
from ladder.errors import NotFound
from ladder.ids import AgentId, EntryId, MatchId, ScrimId, SeasonId
from ladder.matches.records import Episode, ForkedMatch, Match, Seat
from ladder.people import visibility
from ladder.people.records import Viewer
from ladder.people.resources import LeagueResource, ScrimPrivacy, ScrimResource

MATCH: Final = (
    "select m.id, m.kind, m.season_id, s.league_id, m.scrim_id, s.game,"
    " m.state, m.queue, m.attempt, m.max_attempts, m.woken_at, m.claimed_at, m.deadline_at,"
    " m.void_cause, m.void_reason, m.accepted_no, m.seed, m.created_at, m.finished_at,"
    " g.tournament_id,"
    " coalesce(g.embargo, 'public') as embargo, case when g.embargo <> 'public' then"
    " array(select a.team_id from tournament_entrants x join agents a on a.id = x.agent_id"
    "   where x.tournament_id = g.tournament_id"
    "   and x.number is not null) end as entrant_team_ids,"
    " g.tournament_id is not null and (g.embargo <> 'public' or exists (select 1"
    "   from tournaments x where x.id = g.tournament_id"
    "   and x.state not in ('finished', 'cancelled')) or exists (select 1"
    "   from tournament_games o join matches n on n.id = o.match_id"
    "   where o.tournament_id = g.tournament_id and o.outcome is null"
    "   and n.state in ('queued', 'running'))) as is_seed_kept,"
    " l.visibility, l.replay_visibility, c.team_id, c.side_team_ids, c.result_audience,"
    " c.replay_audience, c.log_audience, c.is_members_only"
    " from matches m join seasons s on s.id = m.season_id join leagues l on l.id = s.league_id"
    " left join scrims c on c.id = m.scrim_id"
    " left join tournament_games g on g.match_id = m.id"
)


SEATS: Final = (
    "select t.match_id, t.seat, t.entry_id, t.submission_id, t.agent_id, a.name as agent_name,"
    " t.team_id, g.name as team_name, t.placement, t.reward, t.verdict, t.reason, t.failed_step,"
    " t.charged_seconds, t.max_move_seconds, t.log_digest, t.statistics,"
    " case when z.measures is null then r.mu_before end as mu_before,"
    " case when z.measures is null then r.mu end as mu_after, t.profile = 'remote' as remote"
    " from seats t join matches m on m.id = t.match_id"
    " join seasons z on z.id = m.season_id join agents a on a.id = t.agent_id"
    " join teams g on g.id = t.team_id left join ratings r on r.match_id = t.match_id"
    " and r.no = m.accepted_no and r.entry_id = t.entry_id"
    " where t.match_id = any (%s) order by t.match_id, t.seat"
)


EPISODES: Final = (
    "select match_id, id, number, position, steps, replay_digest from episodes"
    " where match_id = any (%s) order by match_id, position"
)


FORKS: Final = (
    "select c.id as scrim_id, f.match_id, f.position, f.step, o.kind, s.state = 'finished'"
    " as is_season_finished, array (select t.team_id from seats t where t.match_id = o.id)"
    " as team_ids from scrims c join forks f on f.scrim_id = c.id"
    " join matches o on o.id = f.match_id join seasons s on s.id = o.season_id"
    " where c.id = any (%s)"
)


def get_match(conn: Connection, match_id: MatchId) -> Match:
    """Returns the match with this id, with seats and episodes. Raises NotFound."""
    found = _select_matches(conn, "where m.id = %s", (match_id,))
    if not found:
        raise NotFound.of("match")
    return found[0]


def get_matches(conn: Connection, match_ids: Sequence[MatchId]) -> list[Match]:
    """Returns the matches with these ids, newest first. Unknown ids are left out."""
    return _select_matches(conn, "where m.id = any (%s) order by m.id desc", (list(match_ids),))


def match_of_episode(conn: Connection, episode: str | int) -> Match:
    """Returns the match of an episode (its id or number). Raises NotFound."""
    if isinstance(episode, int):
        tail = "where m.id = (select match_id from episodes where number = %s)"
    else:
        tail = "where m.id = (select match_id from episodes where id = %s)"
    found = _select_matches(conn, tail, (episode,))
    if not found:
        raise NotFound.of("episode")
    return found[0]


def first_rated_match(conn: Connection, entry_id: EntryId) -> Match | None:
    """The first rated match of an entry, without void ones. The caller checks visibility."""
    tail = (
        "where m.id = (select t.match_id from seats t join matches x on x.id = t.match_id"
        " where t.entry_id = %s and x.kind = 'rated' and x.state <> 'void'"
        " order by t.match_id limit 1)"
    )
    return next(iter(_select_matches(conn, tail, (entry_id,))), None)


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
    return _select_matches(
        conn, f"where {where} order by m.id desc limit %s", (*given.values(), *values, limit)
    )


def _select_matches(conn: Connection, tail: str, arguments: Sequence[Any]) -> list[Match]:
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(f"{MATCH} {tail}", arguments).fetchall()
        privacy = {row["id"]: scrim_resource_of_row(row) for row in rows}
        found = [row["id"] for row in rows]
        seats: dict[str, list[Seat]] = defaultdict(list)
        for row in cur.execute(SEATS, (found,)):
            seats[row.pop("match_id")].append(Seat(**row))
        episodes: dict[str, list[Episode]] = defaultdict(list)
        for row in cur.execute(EPISODES, (found,)):
            episodes[row.pop("match_id")].append(Episode(**row))
        scrims = sorted({row["scrim_id"] for row in rows if row["scrim_id"]})
        forks = read_forks(conn, scrims) if scrims else {}
    return [
        Match(
            **{
                **row,
                "scrim": privacy[row["id"]],
                "kind": MatchKind(row["kind"]),
                "void_cause": None if row["void_cause"] is None else VoidCause(row["void_cause"]),
                "state": MatchState(row["state"]),
                "seed": bytes(row["seed"]),
                "embargo": Embargo(row["embargo"]),
                "entrant_team_ids": frozenset(row["entrant_team_ids"] or ()),
                "seats": tuple(seats[row["id"]]),
                "episodes": tuple(episodes[row["id"]]),
                "fork": forks.get(row["scrim_id"]),
            }
        )
        for row in rows
    ]


def replay_digests(conn: Connection, match_ids: Sequence[MatchId]) -> dict[MatchId, list[str]]:
    """Digests of the replays of each match, in the order of its episodes."""
    found: dict[MatchId, list[str]] = defaultdict(list)
    for match_id, digest in conn.execute(
        "select match_id, replay_digest from episodes where match_id = any (%s)"
        " order by match_id, position",
        (list(match_ids),),
    ):
        found[MatchId(match_id)].append(digest)
    return found


def read_forks(conn: Connection, scrims: Sequence[str]) -> dict[str, ForkedMatch]:
    """Returns what these scrims continue, by scrim. Scrims that are no forks are left out."""
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(FORKS, (list(scrims),)).fetchall()
    return {
        row.pop("scrim_id"): ForkedMatch(
            **{**row, "kind": MatchKind(row["kind"]), "team_ids": frozenset(row["team_ids"])}
        )
        for row in rows
    }


def scrim_resource_of_row(row: dict[str, Any]) -> ScrimResource | None:
    """Removes the columns of league and scrim from a row, and returns who sees the scrim."""
    seen_by = Visibility(row.pop("visibility"))
    replays = ReplayVisibility(row.pop("replay_visibility"))
    team_id, sides = row.pop("team_id"), row.pop("side_team_ids")
    audiences = [row.pop(name) for name in ("result_audience", "replay_audience", "log_audience")]
    is_members_only = row.pop("is_members_only")
    if team_id is None:
        return None
    return ScrimResource(
        team_id,
        frozenset(sides),
        LeagueResource(row["league_id"], seen_by, replays),
        ScrimPrivacy(
            ScrimAudience(audiences[0]),
            ScrimAudience(audiences[1]),
            LogAudience(audiences[2]),
            is_members_only,
        ),
    )
