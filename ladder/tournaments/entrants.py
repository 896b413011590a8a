"""Enters agents into tournaments: own entry, invitation, check-in. ``leaving`` takes them out."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from psycopg.rows import dict_row

from ladder.database.db import Connection, atomic_function
from ladder.entries import agent_names, agents
from ladder.entries.agent_names import AgentName
from ladder.entries.records import Agent
from ladder.errors import Conflict, NotFound
from ladder.ids import AgentId, TeamId, TournamentId, UserId
from ladder.people import visibility
from ladder.people.records import Viewer
from ladder.runtime_profiles import REMOTE
from ladder.tournaments import tournaments
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
ENTRANT: Final = (
    "select x.agent_id, a.name as agent_name, a.team_id, g.name as team_name,"
    " x.team_id as team_id_at_lock, x.state,"
    " x.checked_in_at, x.number, x.entry_id, x.submission_id, x.profile, x.score, x.deviation,"
    " x.last_position, x.reason, coalesce(x.profile, n.profile) = 'remote' as is_remote,"
    " g.erased_at is not null as is_erased, x.is_reference"
    " from tournament_entrants x join agents a on a.id = x.agent_id"
    " join teams g on g.id = a.team_id join tournaments t on t.id = x.tournament_id"
    " left join lateral (select e.profile from entries e"
    "   where x.profile is null and e.season_id = t.season_id and e.agent_id = x.agent_id"
    "   and e.state = 'active'"
    "   order by e.id desc limit 1) n on true"
)


def entrants_of(conn: Connection, tournament_id: TournamentId) -> list[Entrant]:
    """All entrants, by number, then in the order of their entry."""
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(
            f"{ENTRANT} where x.tournament_id = %s"
            " order by x.number nulls last, x.created_at, x.agent_id",
            (tournament_id,),
        )
        return [_entrant(row) for row in rows]


def find_entrant(conn: Connection, tournament_id: TournamentId, text: str) -> AgentId:
    """The entered or invited agent with this id or name; ``team/agent`` names the team too.

    Raises Invalid.
    """
    known = agent_names.select_names(
        conn,
        "join tournament_entrants x on x.agent_id = a.id where x.tournament_id = %s"
        " and x.state in ('entered', 'invited') order by a.id",
        (tournament_id,),
    )
    missing = "write the name of an entered or invited agent of this tournament"
    return agent_names.choose_agent(known, text, "entrant", missing)


def agents_to_enter(
    conn: Connection, found: Tournament, team_ids: Collection[TeamId]
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
            "season": found.season_id,
            "remote": found.remote_agents,
            "tournament": found.id,
            "limit": MOST_CHOICES,
        },
    )


def anchors_to_enter(conn: Connection, found: Tournament) -> list[Agent]:
    """The reference agents of the season that are no entrants."""
    return agents.select_agents(
        conn,
        "where exists (select 1 from entries e where e.agent_id = a.id and e.is_anchor"
        "   and e.season_id = %(season)s and e.state = 'active')"
        " and not exists (select 1 from tournament_entrants x where x.agent_id = a.id"
        "   and x.tournament_id = %(tournament)s) order by a.id",
        {"season": found.season_id, "tournament": found.id},
    )


def agents_to_invite(
    conn: Connection, viewer: Viewer, found: Tournament, limit: int
) -> list[AgentName]:
    """The newest agents of the season that a host could invite, as far as the viewer sees them."""
    seen, values = visibility.visible_agents(viewer)
    return agent_names.select_names(
        conn,
        "where exists (select 1 from entries e where e.agent_id = a.id"  # noqa: S608
        "   and e.season_id = %s and e.state = 'active' and not e.is_anchor"
        "   and (e.profile <> 'remote' or %s))"
        " and not exists (select 1 from tournament_entrants x where x.agent_id = a.id"
        "   and x.tournament_id = %s and x.state in ('entered', 'invited'))"
        f" and {seen} order by a.id desc limit %s",
        (found.season_id, found.remote_agents, found.id, *values, limit),
    )


@atomic_function
def enter_agent(
    conn: Connection, tournament_id: TournamentId, agent: Agent, by: UserId | None
) -> None:
    """Enters an agent. The caller checked that the person may enter it into the league.

    It needs a validated submission in the season. Raises Conflict with the reason.
    """
    found = tournaments.lock_tournament_row(conn, tournament_id)
    if found.state not in (TournamentState.REGISTRATION, TournamentState.CHECK_IN):
        state = tournaments.state_for_all(conn, found)
        raise Conflict(f"registration is not open: the tournament is {state}", field="agent")
    known = {one.agent_id: one for one in entrants_of(conn, tournament_id)}
    invited = known.get(agent.id)
    if found.entry_rule is EntryRule.TOP:
        raise Conflict(BY_HOST, field="agent")
    if found.entry_rule is EntryRule.INVITATION and invited is None:
        raise Conflict("this tournament is by invitation; ask a host for one", field="agent")
    if invited is not None and invited.state is EntrantState.DISQUALIFIED:
        raise Conflict("a host disqualified this agent", field="agent")
    _check_limits(found, list(known.values()), agent)
    _check_submission(conn, found, agent)
    _write(conn, tournament_id, agent, EntrantState.ENTERED)
    tournaments.record_act(conn, tournament_id, "enter", by=by, agent_id=agent.id)


@atomic_function
def add_by_host(
    conn: Connection, tournament_id: TournamentId, agent: Agent, by: UserId | None
) -> EntrantState:
    """Invites an agent, or enters a reference agent of the season. The caller is a host.

    Returns the new state. Raises Conflict with the reason.
    """
    found = tournaments.lock_tournament_row(conn, tournament_id)
    if not found.state.is_before_lock:
        raise Conflict(f"the entrants are fixed: the tournament is {found.state}", field="agent")
    known = entrants_of(conn, tournament_id)
    present = {one.agent_id: one.state for one in known}
    state = present.get(agent.id)
    if state in (EntrantState.INVITED, EntrantState.ENTERED):
        raise Conflict(f"this agent is already {state}", field="agent")
    _check_submission(conn, found, agent)
    is_anchor = conn.execute(
        "select 1 from entries where season_id = %s and agent_id = %s and is_anchor limit 1",
        (found.season_id, agent.id),
    ).fetchone()
    new = EntrantState.ENTERED if is_anchor else EntrantState.INVITED
    if new is EntrantState.INVITED and found.entry_rule is not EntryRule.INVITATION:
        raise Conflict(
            "hosts can invite agents only to a tournament by invitation; to others they can add"
            " reference agents of the season",
            field="agent",
        )
    _check_room(found, known)
    _write(conn, tournament_id, agent, new)
    tournaments.record_act(conn, tournament_id, str(new), by=by, agent_id=agent.id)
    return new


@atomic_function
def check_in(
    conn: Connection, tournament_id: TournamentId, agent_id: AgentId, by: UserId | None
) -> None:
    """Says that the agent takes part. Raises Conflict outside the check-in, NotFound."""
    found = tournaments.lock_tournament_row(conn, tournament_id)
    if found.state is not TournamentState.CHECK_IN:
        state = tournaments.state_for_all(conn, found)
        raise Conflict(f"the check-in is not open: the tournament is {state}")
    changed = conn.execute(
        "update tournament_entrants set checked_in_at = coalesce(checked_in_at, now())"
        " where tournament_id = %s and agent_id = %s and state = 'entered'",
        (tournament_id, agent_id),
    )
    if changed.rowcount != 1:
        raise NotFound("this agent is not entered")
    tournaments.record_act(conn, tournament_id, "check-in", by=by, agent_id=agent_id)


def _write(
    conn: Connection, tournament_id: TournamentId, agent: Agent, state: EntrantState
) -> None:
    conn.execute(
        "insert into tournament_entrants (tournament_id, agent_id, team_id, state)"
        " values (%s, %s, %s, %s) on conflict (tournament_id, agent_id) do update"
        " set state = excluded.state, team_id = excluded.team_id, reason = null,"
        " checked_in_at = null",
        (tournament_id, agent.id, agent.team_id, state),
    )


def _check_limits(found: Tournament, known: list[Entrant], agent: Agent) -> None:
    entered = [one for one in known if one.state is EntrantState.ENTERED]
    if any(one.agent_id == agent.id for one in entered):
        raise Conflict("this agent is already entered", field="agent")
    own = sum(one.team_id == agent.team_id for one in entered)
    if own >= found.agents_per_team:
        raise Conflict(
            f"your team has {own} of {found.agents_per_team} places; withdraw another agent first",
            field="agent",
        )
    _check_room(found, known)


def _check_room(found: Tournament, known: list[Entrant]) -> None:
    entered = sum(one.state is EntrantState.ENTERED for one in known)
    if entered >= found.most_entrants:
        raise Conflict(
            f"all {found.most_entrants} places are taken; enter again if one is withdrawn",
            field="agent",
        )


def _check_submission(conn: Connection, found: Tournament, agent: Agent) -> None:
    """Raises Conflict unless the agent has a validated submission that may play."""
    profiles = [
        row[0]
        for row in conn.execute(
            "select profile from entries where season_id = %s and agent_id = %s"
            " and state = 'active' order by id desc",
            (found.season_id, agent.id),
        )
    ]
    if not profiles:
        raise Conflict(
            "submit this agent to the season first: it has no validated submission there",
            field="agent",
        )
    if profiles[0] == REMOTE and not found.remote_agents:
        raise Conflict(
            "the host allows no agents at their owners' addresses: nobody can freeze them",
            field="agent",
        )


def _entrant(row: dict[str, Any]) -> Entrant:
    return Entrant(
        **{**row, "state": EntrantState(row["state"]), "is_remote": bool(row["is_remote"])}
    )
