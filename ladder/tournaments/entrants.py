"""Enters agents into tournaments: own entry, invitation, check-in. The lock fixes the entrants.

The lock fixes their submissions and the seed order too. ``course_acts`` takes entrants out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from ladder.database.db import Connection, atomic_function, exists, fetch, fetch_optional
from ladder.entries import agents
from ladder.entries.agents import AgentName
from ladder.entries.records import Agent
from ladder.errors import Conflict, NotFound
from ladder.ids import AgentId, EntryId, SubmissionId, TeamId, TournamentId, UserId
from ladder.leagues import seasons
from ladder.people import visibility
from ladder.people.records import Viewer
from ladder.ratings import standing_versions
from ladder.runtime_profiles import REMOTE
from ladder.standings import leaderboard
from ladder.tournaments import tournaments
from ladder.tournaments.formats.plan import check_plan
from ladder.tournaments.formats.records import draw_order
from ladder.tournaments.records import (
    Entrant,
    EntrantState,
    EntryRule,
    Tournament,
    TournamentState,
)

BY_HOST: Final = (
    "you cannot enter here: the best teams of the official standing are entered when registration"
    " ends"
)
MOST_CHOICES: Final = 50
"""Most agents that the form of a tournament offers."""
ENTRANT: Final = """select x.agent_id, a.name as agent_name, a.team_id, g.name as team_name,
      x.team_id as team_id_at_lock, x.state, x.checked_in_at, x.number, x.entry_id,
      x.submission_id, x.profile, x.score, x.deviation, x.last_position, x.reason,
      coalesce(x.profile, n.profile, '') = 'remote' as is_remote,
      g.erased_at is not null as is_erased, x.is_reference
    from tournament_entrants x join agents a on a.id = x.agent_id join teams g on g.id = a.team_id
    join tournaments t on t.id = x.tournament_id
    left join lateral (select e.profile from entries e
      where x.profile is null and e.season_id = t.season_id and e.agent_id = x.agent_id
        and e.state = 'active' order by e.id desc limit 1) n on true"""


def entrants_of(conn: Connection, tournament_id: TournamentId) -> list[Entrant]:
    """All entrants, by number, then in the order of their entry."""
    query = f"""{ENTRANT} where x.tournament_id = %s
        order by x.number nulls last, x.created_at, x.agent_id"""
    return fetch(conn, Entrant, query, (tournament_id,))


def agents_to_enter(
    conn: Connection, tournament: Tournament, team_ids: Collection[TeamId]
) -> list[Agent]:
    """The agents of these teams with a submission that may play, except those entered already."""
    return agents.select_agents(
        conn,
        "where a.team_id = any (%(teams)s) and exists (select 1 from entries e"
        "   where e.agent_id = a.id and e.season_id = %(season)s and e.state = 'active'"
        "   and (e.profile <> 'remote' or %(remote)s))"
        " and not exists (select 1 from tournament_entrants x where x.agent_id = a.id"
        "   and x.tournament_id = %(tournament)s and x.state = 'entered')"
        " order by a.id limit %(limit)s",
        {
            "teams": list(team_ids),
            "season": tournament.season_id,
            "remote": tournament.remote_agents,
            "tournament": tournament.id,
            "limit": MOST_CHOICES,
        },
    )


def anchors_to_enter(conn: Connection, tournament: Tournament) -> list[Agent]:
    """The reference agents of the season that are no entrants."""
    return agents.select_agents(
        conn,
        "where exists (select 1 from entries e where e.agent_id = a.id and e.is_anchor"
        "   and e.season_id = %(season)s and e.state = 'active')"
        " and not exists (select 1 from tournament_entrants x where x.agent_id = a.id"
        "   and x.tournament_id = %(tournament)s) order by a.id",
        {"season": tournament.season_id, "tournament": tournament.id},
    )


def agents_to_invite(
    conn: Connection, viewer: Viewer, tournament: Tournament, limit: int
) -> list[AgentName]:
    """The newest agents of the season that a host could invite, as far as the viewer sees them."""
    is_visible, values = visibility.visible_agents(viewer)
    return agents.select_names(
        conn,
        "where exists (select 1 from entries e where e.agent_id = a.id"
        "   and e.season_id = %s and e.state = 'active' and not e.is_anchor"
        "   and (e.profile <> 'remote' or %s))"
        " and not exists (select 1 from tournament_entrants x where x.agent_id = a.id"
        "   and x.tournament_id = %s and x.state in ('entered', 'invited'))"
        f" and {is_visible} order by a.id desc limit %s",
        (tournament.season_id, tournament.remote_agents, tournament.id, *values, limit),
    )


@atomic_function
def enter_agent(
    conn: Connection, tournament_id: TournamentId, agent: Agent, by: UserId | None
) -> None:
    """Enters an agent. The caller checked that the person may enter it into the league.

    It needs a validated submission in the season. Raises Conflict with the reason.
    """
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    if tournament.state not in (TournamentState.REGISTRATION, TournamentState.CHECK_IN):
        state = tournaments.state_for_all(conn, tournament)
        raise Conflict(f"registration is not open: the tournament is {state}", field="agent")
    entrants = {entrant.agent_id: entrant for entrant in entrants_of(conn, tournament_id)}
    invited = entrants.get(agent.id)
    if tournament.entry_rule is EntryRule.TOP:
        raise Conflict(BY_HOST, field="agent")
    if tournament.entry_rule is EntryRule.INVITATION and invited is None:
        raise Conflict("this tournament is by invitation; ask a host for one", field="agent")
    if invited is not None and invited.state is EntrantState.DISQUALIFIED:
        raise Conflict("a host disqualified this agent", field="agent")
    _check_limits(tournament, list(entrants.values()), agent)
    _check_submission(conn, tournament, agent)
    _write(conn, tournament_id, agent, EntrantState.ENTERED)
    tournaments.record_act(conn, tournament_id, "enter", by=by, agent_id=agent.id)


@atomic_function
def add_by_host(
    conn: Connection, tournament_id: TournamentId, agent: Agent, by: UserId | None
) -> EntrantState:
    """Invites an agent, or enters a reference agent of the season. The caller is a host.

    Returns the new state. Raises Conflict with the reason.
    """
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    if not tournament.state.is_before_lock:
        raise Conflict(
            f"the entrants are fixed: the tournament is {tournament.state}", field="agent"
        )
    entrants = entrants_of(conn, tournament_id)
    present = {entrant.agent_id: entrant.state for entrant in entrants}
    state = present.get(agent.id)
    if state in (EntrantState.INVITED, EntrantState.ENTERED):
        raise Conflict(f"this agent is already {state}", field="agent")
    _check_submission(conn, tournament, agent)
    is_anchor = exists(
        conn,
        "select 1 from entries where season_id = %s and agent_id = %s and is_anchor limit 1",
        (tournament.season_id, agent.id),
    )
    new = EntrantState.ENTERED if is_anchor else EntrantState.INVITED
    if new is EntrantState.INVITED and tournament.entry_rule is not EntryRule.INVITATION:
        raise Conflict(
            "hosts can invite agents only to a tournament by invitation; to others they can add"
            " reference agents of the season",
            field="agent",
        )
    _check_room(tournament, entrants)
    _write(conn, tournament_id, agent, new)
    tournaments.record_act(conn, tournament_id, str(new), by=by, agent_id=agent.id)
    return new


@atomic_function
def check_in(
    conn: Connection, tournament_id: TournamentId, agent_id: AgentId, by: UserId | None
) -> None:
    """Says that the agent takes part. Raises Conflict outside the check-in, NotFound."""
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    if tournament.state is not TournamentState.CHECK_IN:
        state = tournaments.state_for_all(conn, tournament)
        raise Conflict(f"the check-in is not open: the tournament is {state}")
    query = """update tournament_entrants set checked_in_at = coalesce(checked_in_at, now())
        where tournament_id = %(tournament_id)s and agent_id = %(agent_id)s
          and state = 'entered'"""
    changed = conn.execute(query, {"tournament_id": tournament_id, "agent_id": agent_id})
    if changed.rowcount != 1:
        raise NotFound("this agent is not entered")
    tournaments.record_act(conn, tournament_id, "check-in", by=by, agent_id=agent_id)


def _write(
    conn: Connection, tournament_id: TournamentId, agent: Agent, state: EntrantState
) -> None:
    query = """insert into tournament_entrants (tournament_id, agent_id, team_id, state)
        values (%s, %s, %s, %s)
        on conflict (tournament_id, agent_id) do update set state = excluded.state,
          team_id = excluded.team_id, reason = null, checked_in_at = null"""
    conn.execute(query, (tournament_id, agent.id, agent.team_id, state))


def _check_limits(tournament: Tournament, entrants: list[Entrant], agent: Agent) -> None:
    entered = [entrant for entrant in entrants if entrant.state is EntrantState.ENTERED]
    if any(entrant.agent_id == agent.id for entrant in entered):
        raise Conflict("this agent is already entered", field="agent")
    own = sum(entrant.team_id == agent.team_id for entrant in entered)
    if own >= tournament.agents_per_team:
        raise Conflict(
            f"your team has {own} of {tournament.agents_per_team} places; withdraw another agent"
            " first",
            field="agent",
        )
    _check_room(tournament, entrants)


def _check_room(tournament: Tournament, entrants: list[Entrant]) -> None:
    entered = sum(entrant.state is EntrantState.ENTERED for entrant in entrants)
    if entered >= tournament.most_entrants:
        raise Conflict(
            f"all {tournament.most_entrants} places are taken; enter again if one is withdrawn",
            field="agent",
        )


def _check_submission(conn: Connection, tournament: Tournament, agent: Agent) -> None:
    """Raises Conflict unless the agent has a validated submission that may play."""
    profile = fetch_optional(
        conn,
        str,
        """select profile from entries
        where season_id = %(season_id)s and agent_id = %(agent_id)s and state = 'active'
        order by id desc limit 1""",
        {"season_id": tournament.season_id, "agent_id": agent.id},
    )
    if profile is None:
        raise Conflict(
            "submit this agent to the season first: it has no validated submission there",
            field="agent",
        )
    if profile == REMOTE and not tournament.remote_agents:
        raise Conflict(
            "the host allows no agents at their owners' addresses: nobody can freeze them",
            field="agent",
        )


NO_SUBMISSION: Final = "it had no validated submission at the lock"
NOT_CHECKED_IN: Final = "it did not check in"
TOO_MANY: Final = "its team has all its places; teams were merged after the entry"
NO_REMOTE: Final = "the host allows no agents at their owners' addresses"


@dataclass(frozen=True, slots=True)
class _Frozen:
    """What the lock fixes of an entrant."""

    agent_id: AgentId
    entry_id: EntryId
    submission_id: SubmissionId
    profile: str
    is_reference: bool
    score: float | None
    deviation: float | None


@atomic_function
def lock_entrants(conn: Connection, tournament_id: TournamentId, by: UserId | None) -> None:
    """Ends the registration: freezes the newest validated submission of each entrant.

    The seed order is that of the official standing. Entrants that it does not hold follow in drawn
    order. A tournament without a later start starts now. Raises Conflict in the wrong state,
    Invalid if the plan does not fit the entrants.
    """
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    if tournament.state not in (TournamentState.REGISTRATION, TournamentState.CHECK_IN):
        raise Conflict(
            f"only an open registration can be locked; the tournament is {tournament.state}"
        )
    if tournament.entry_rule is EntryRule.TOP:
        _enter_best(conn, tournament)
    playing = [
        entrant
        for entrant in entrants_of(conn, tournament.id)
        if entrant.state is EntrantState.ENTERED
    ]
    frozen = _frozen_submissions(conn, tournament)
    field = []
    places = Counter[TeamId]()
    for entrant in sorted(playing, key=_came_by_merge):
        reason = _why_left_out(tournament, entrant, frozen)
        if _came_by_merge(entrant) and places[entrant.team_id] >= tournament.agents_per_team:
            reason = reason or TOO_MANY
        if reason is None:
            places[entrant.team_id] += 1
            field.append(frozen[entrant.agent_id])
        else:
            conn.execute(
                """update tournament_entrants set state = 'left_out', reason = %(reason)s
                where tournament_id = %(tournament_id)s and agent_id = %(agent_id)s""",
                {"reason": reason, "tournament_id": tournament.id, "agent_id": entrant.agent_id},
            )
    season = seasons.get_season(conn, tournament.season_id)
    check_plan(tournament.plan, len(field), season.seats)
    order = seed_order(tournament.draw_seed, field)
    for number, seeded in enumerate(order, 1):
        conn.execute(
            """update tournament_entrants
            set number = %s, entry_id = %s, submission_id = %s, profile = %s, is_reference = %s,
              score = %s, deviation = %s,
              team_id = (select team_id from agents where id = agent_id)
            where tournament_id = %s and agent_id = %s""",
            (
                *(
                    number,
                    seeded.entry_id,
                    seeded.submission_id,
                    seeded.profile,
                    seeded.is_reference,
                ),
                *(seeded.score, seeded.deviation, tournament.id, seeded.agent_id),
            ),
        )
    _move_dates(conn, tournament.id)
    tournaments.set_state(conn, tournament.id, TournamentState.LOCKED)
    tournaments.record_act(
        conn,
        tournament.id,
        "lock",
        by=by,
        details={"entrants": [seeded.agent_id for seeded in order]},
    )


def _move_dates(conn: Connection, tournament_id: TournamentId) -> None:
    """Moves the planned lock to now, with the start if no later one was chosen."""
    query = """update tournaments
        set locks_at = least(locks_at, now()), starts_at = case
          when starts_at = locks_at then least(starts_at, now()) else starts_at end
        where id = %(tournament_id)s"""
    conn.execute(query, {"tournament_id": tournament_id})


def seed_order(draw_seed: bytes, field: list[_Frozen]) -> list[_Frozen]:
    """Best official score first. Equal and missing scores are drawn. Pure."""
    drawn = draw_order(draw_seed, "seed order", [str(entrant.agent_id) for entrant in field])
    place = {agent: position for position, agent in enumerate(drawn)}
    return sorted(
        field,
        key=lambda entrant: (
            entrant.score is None,
            -(entrant.score or 0.0),
            place[entrant.agent_id],
        ),
    )


def _why_left_out(
    tournament: Tournament, entrant: Entrant, frozen: dict[AgentId, _Frozen]
) -> str | None:
    if entrant.agent_id not in frozen:
        return NO_SUBMISSION
    if (
        tournament.check_in_minutes
        and entrant.checked_in_at is None
        and not _needs_no_check_in(tournament)
    ):
        return NOT_CHECKED_IN
    if frozen[entrant.agent_id].profile == REMOTE and not tournament.remote_agents:
        return NO_REMOTE
    return None


def _came_by_merge(entrant: Entrant) -> bool:
    """Whether its team was merged into another one after it entered."""
    return entrant.team_id != entrant.team_id_at_lock


def _needs_no_check_in(tournament: Tournament) -> bool:
    """The best of a standing are chosen at the lock, after any check-in."""
    return tournament.entry_rule is EntryRule.TOP


def _frozen_submissions(conn: Connection, tournament: Tournament) -> dict[AgentId, _Frozen]:
    """The newest active entry of each entrant in the season, with its official score."""
    latest = standing_versions.latest_version(conn, tournament.season_id)
    places = latest[1] if latest is not None else {}
    query = """select distinct on (e.agent_id) e.agent_id, e.id, e.submission_id, e.profile,
          e.is_anchor
        from entries e join teams t on t.id = e.team_id
        where e.season_id = %(season_id)s and e.state = 'active' and t.erased_at is null
          and e.agent_id in (select agent_id from tournament_entrants
            where tournament_id = %(tournament_id)s and state = 'entered')
        order by e.agent_id, e.id desc"""
    rows = conn.execute(query, {"season_id": tournament.season_id, "tournament_id": tournament.id})
    frozen = {}
    for agent_id, entry_id, submission_id, profile, is_anchor in rows:
        place = places.get(entry_id)
        frozen[agent_id] = _Frozen(
            agent_id,
            entry_id,
            submission_id,
            profile,
            is_anchor,
            None if place is None else place.score,
            None if place is None else place.sigma,
        )
    return frozen


def _enter_best(conn: Connection, tournament: Tournament) -> None:
    """Enters the best teams of the official standing."""
    entered = entrants_of(conn, tournament.id)
    agent_ids = {entrant.agent_id for entrant in entered}
    room = tournament.most_entrants - sum(
        entrant.state is EntrantState.ENTERED for entrant in entered
    )
    rows = [
        row
        for row in leaderboard.read_board(conn, tournament.season_id).rows
        if row.rank is not None
        and not row.is_anchor
        and row.agent_id not in agent_ids
        and (tournament.remote_agents or not row.remote)
    ]
    for row in rows[: max(room, 0)]:
        conn.execute(
            """insert into tournament_entrants (tournament_id, agent_id, team_id, state)
            values (%(tournament_id)s, %(agent_id)s, %(team_id)s, 'entered')""",
            {"tournament_id": tournament.id, "agent_id": row.agent_id, "team_id": row.team_id},
        )
