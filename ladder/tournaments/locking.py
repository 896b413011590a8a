"""Locks a tournament: fixes its entrants, their submissions and the seed order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from ladder.database.db import Connection, atomic_function
from ladder.errors import Conflict
from ladder.ids import AgentId, EntryId, SubmissionId, TeamId, TournamentId, UserId
from ladder.leagues import seasons
from ladder.ratings import standing_versions
from ladder.runtime_profiles import REMOTE
from ladder.standings import leaderboard
from ladder.tournaments import tournaments
from ladder.tournaments.entrants import entrants_of
from ladder.tournaments.formats import RULES, check_plan, draw_order
from ladder.tournaments.records import Entrant, EntrantState, EntryRule, Tournament, TournamentState

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
    found = tournaments.lock_tournament_row(conn, tournament_id)
    if found.state not in (TournamentState.REGISTRATION, TournamentState.CHECK_IN):
        raise Conflict(f"only an open registration can be locked; the tournament is {found.state}")
    if found.entry_rule is EntryRule.TOP:
        _enter_best(conn, found)
    playing = [one for one in entrants_of(conn, found.id) if one.state is EntrantState.ENTERED]
    frozen = _frozen_submissions(conn, found)
    field = []
    places = Counter[TeamId]()
    for one in sorted(playing, key=_came_by_merge):
        reason = _why_left_out(found, one, frozen)
        if _came_by_merge(one) and places[one.team_id] >= found.agents_per_team:
            reason = reason or TOO_MANY
        if reason is None:
            places[one.team_id] += 1
            field.append(frozen[one.agent_id])
        else:
            conn.execute(
                "update tournament_entrants set state = 'left_out', reason = %s"
                " where tournament_id = %s and agent_id = %s",
                (reason, found.id, one.agent_id),
            )
    season = seasons.get_season(conn, found.season_id)
    check_plan(found.plan, len(field), season.seats)
    order = seed_order(found.draw_seed, field)
    for number, each in enumerate(order, 1):
        conn.execute(
            "update tournament_entrants set number = %s, entry_id = %s, submission_id = %s,"
            " profile = %s, is_reference = %s, score = %s, deviation = %s,"
            " team_id = (select team_id from agents where id = agent_id)"
            " where tournament_id = %s and agent_id = %s",
            (
                *(number, each.entry_id, each.submission_id, each.profile, each.is_reference),
                *(each.score, each.deviation, found.id, each.agent_id),
            ),
        )
    _move_dates(conn, found.id)
    conn.execute(
        "update tournaments set ranks_by_mean = true, course_rules = %s where id = %s",
        (RULES, found.id),
    )
    tournaments.set_state(conn, found.id, TournamentState.LOCKED)
    tournaments.record_act(
        conn, found.id, "lock", by=by, details={"entrants": [each.agent_id for each in order]}
    )


def _move_dates(conn: Connection, tournament_id: TournamentId) -> None:
    """Moves the planned lock to now, with the start if no later one was chosen."""
    conn.execute(
        "update tournaments set locks_at = least(locks_at, now()), starts_at = case"
        " when starts_at = locks_at then least(starts_at, now()) else starts_at end"
        " where id = %s",
        (tournament_id,),
    )


def seed_order(draw_seed: bytes, field: list[_Frozen]) -> list[_Frozen]:
    """Best official score first. Equal and missing scores are drawn. Pure."""
    drawn = draw_order(draw_seed, "seed order", [str(each.agent_id) for each in field])
    place = {agent: position for position, agent in enumerate(drawn)}
    return sorted(
        field,
        key=lambda each: (
            each.score is None,
            -(each.score or 0.0),
            place[each.agent_id],
        ),
    )


def _why_left_out(found: Tournament, one: Entrant, frozen: dict[AgentId, _Frozen]) -> str | None:
    if one.agent_id not in frozen:
        return NO_SUBMISSION
    if found.check_in_minutes and one.checked_in_at is None and not _needs_no_check_in(found):
        return NOT_CHECKED_IN
    if frozen[one.agent_id].profile == REMOTE and not found.remote_agents:
        return NO_REMOTE
    return None


def _came_by_merge(one: Entrant) -> bool:
    """Whether its team was merged into another one after it entered."""
    return one.team_id != one.team_id_at_lock


def _needs_no_check_in(found: Tournament) -> bool:
    """The best of a standing are chosen at the lock, after any check-in."""
    return found.entry_rule is EntryRule.TOP


def _frozen_submissions(conn: Connection, found: Tournament) -> dict[AgentId, _Frozen]:
    """The newest active entry of each entrant in the season, with its official score."""
    latest = standing_versions.latest_version(conn, found.season_id)
    places = latest[1] if latest is not None else {}
    rows = conn.execute(
        "select distinct on (e.agent_id) e.agent_id, e.id, e.submission_id, e.profile, e.is_anchor"
        " from entries e join teams t on t.id = e.team_id where e.season_id = %s"
        " and e.state = 'active' and t.erased_at is null and e.agent_id in"
        " (select agent_id from tournament_entrants where tournament_id = %s and state = 'entered')"
        " order by e.agent_id, e.id desc",
        (found.season_id, found.id),
    )
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


def _enter_best(conn: Connection, found: Tournament) -> None:
    """Enters the best teams of the official standing."""
    entered = entrants_of(conn, found.id)
    known = {one.agent_id for one in entered}
    room = found.most_entrants - sum(one.state is EntrantState.ENTERED for one in entered)
    rows = [
        row
        for row in leaderboard.read_board(conn, found.season_id).rows
        if row.rank is not None
        and not row.is_anchor
        and row.agent_id not in known
        and (found.remote_agents or not row.remote)
    ]
    for row in rows[: max(room, 0)]:
        conn.execute(
            "insert into tournament_entrants (tournament_id, agent_id, team_id, state)"
            " values (%s, %s, %s, 'entered')",
            (found.id, row.agent_id, row.team_id),
        )
