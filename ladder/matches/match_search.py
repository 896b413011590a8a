"""Finds matches by one set of filters: pages, API and command line all call ``search_matches``.

A filter on a seat (opponent, version, outcome, verdict, seat) is about the seat of the named agent.
So its query walks this agent's seats and not the matches of a whole league. With an opponent it
walks the matches in which both have a seat.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from ladder import ids
from ladder.database.db import Connection
from ladder.enums import MatchKind, MatchState
from ladder.errors import Invalid
from ladder.ids import AgentId, EntryId, MatchId, ScrimId, SeasonId, SubmissionId
from ladder.matches import history
from ladder.matches.match_titles import ending_text
from ladder.matches.records import Match, Seat
from ladder.people import visibility
from ladder.people.records import Viewer

SEASONS: Final = 200
"""Newest seasons that are searched if no season, agent, entry or scrim is named."""
CANDIDATES_AT_ONCE: Final = 1.25
"""Candidates that are read first, for each match of the page. Each one reads a page of the disk."""
MOST_CANDIDATES: Final = 20_000
MOST_ROUNDS: Final = 20
"""Queries of candidates for one page. A page may then hold fewer matches than asked for."""
AGES: Final = {"m": 60, "h": 3600, "d": 86400, "w": 604800}
FROM: Final = (
    " join seasons s on s.id = m.season_id left join scrims c on c.id = m.scrim_id"  # visibility
)
VERSION: Final = "t.submission_id = %s"
SHARED: Final = """
    exists (select 1 from seats x where x.match_id = t.match_id and x.agent_id = t.agent_id
    and x.seat = t.seat and x.placement = 1 and x.is_shared)
    """
"""Asks another index: the one that has the agent's placements knows nothing of shared places."""


class Outcome(StrEnum):
    """How a match ended for an agent. With an opponent, the two are compared."""

    WON = "won"
    """First place alone, or a better place than the opponent."""
    TIED = "tied"
    """A shared first place, or the same place as the opponent."""
    LOST = "lost"
    """Not the first place, or a worse place than the opponent."""


class SeatVerdict(StrEnum):
    """The verdict of the agent's seat."""

    DONE = "DONE"
    ERROR = "ERROR"
    INVALID = "INVALID"
    TIMEOUT = "TIMEOUT"


@dataclass(frozen=True, slots=True)
class MatchFilter:
    """Conditions that a match meets all. None: any."""

    season_id: SeasonId | None = None
    agent_id: AgentId | None = None
    entry_id: EntryId | None = None
    scrim_id: ScrimId | None = None
    opponent_id: AgentId | None = None
    submission_id: SubmissionId | None = None
    """The submission that the agent played with: its version."""
    outcome: Outcome | None = None
    verdict: SeatVerdict | None = None
    seat: int | None = None
    """Seat of the agent, from 0."""
    kind: MatchKind | None = None
    state: MatchState | None = None
    since: datetime | None = None
    """Matches that were made at this moment or later."""

    @property
    def names_a_player(self) -> bool:
        """Whether an agent or an entry is named."""
        return self.agent_id is not None or self.entry_id is not None

    def seat_of_player(self, match: Match) -> Seat | None:
        """The seat of the filter's agent or entry in a match; None if it names neither.

        Of several seats that meet the filter, this is the best one. For lost matches it is the
        worst one, and for validations too, because one failed copy fails a validation.
        """
        seats = [
            seat
            for seat in match.seats
            if (self.agent_id or self.entry_id)
            and self.agent_id in (None, seat.agent_id)
            and self.entry_id in (None, seat.entry_id)
            and self.submission_id in (None, seat.submission_id)
            and self.verdict in (None, seat.verdict)
            and self.seat in (None, seat.seat)
        ]
        takes_worst = self.outcome is Outcome.LOST or match.kind is MatchKind.VALIDATION
        sign = -1 if takes_worst else 1
        return min(seats, key=lambda seat: (sign * (seat.placement or 99), seat.seat), default=None)

    def ending(self, match: Match) -> str | None:
        """How the match ended for the filter's agent or entry; None if it names neither."""
        seat = self.seat_of_player(match)
        return ending_text(match, seat) if seat else None


@dataclass(frozen=True, slots=True)
class MatchPage:
    """Some matches, newest first. Read on before ``following``; None: there are no more."""

    matches: list[Match]
    following: MatchId | None


def search_matches(
    conn: Connection,
    viewer: Viewer,
    wanted: MatchFilter,
    before: MatchId | None = None,
    limit: int = 50,
) -> list[Match]:
    """The matches of `search_page`."""
    return search_page(conn, viewer, wanted, before, limit).matches


def search_page(
    conn: Connection,
    viewer: Viewer,
    wanted: MatchFilter,
    before: MatchId | None = None,
    limit: int = 50,
) -> MatchPage:
    """Matches that the viewer may see and that meet the filter, newest first, before ``before``.

    Without season, agent, entry and scrim these are rated matches of all visible leagues. Raises
    Invalid for a filter that needs an agent.
    """
    _check_filter(wanted)
    if wanted.kind is MatchKind.VALIDATION and not _sees_validations(viewer):
        return MatchPage([], None)
    if wanted.names_a_player or wanted.season_id or wanted.scrim_id:
        found, following = _visible_matches(conn, viewer, wanted, before, limit)
    else:
        text, arguments = all_leagues_query(viewer, wanted, before, limit)
        found = [MatchId(row[0]) for row in conn.execute(text, arguments)]
        following = found[-1] if len(found) == limit else None
    return MatchPage(history.get_matches(conn, found, viewer) if found else [], following)


def parse_since(text: str, now: datetime | None = None) -> datetime:
    """A moment: a date, a date with time, or an age such as ``90m``, ``12h``, ``2d``, ``3w``.

    A moment without a time zone is in UTC. Raises Invalid.
    """
    age = re.fullmatch(r"(\d{1,5})([mhdw])", text)
    if age:
        passed = timedelta(seconds=int(age[1]) * AGES[age[2]])
        return (now or datetime.now(UTC)) - passed
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or not 1970 < moment.year < 9000:
        raise Invalid("since", "give a date such as 2026-05-31, or an age such as 12h, 2d or 3w")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _check_filter(wanted: MatchFilter) -> None:
    """Raises Invalid for a filter on a seat without an agent."""
    on_seat = {
        "opponent": wanted.opponent_id,
        "version": wanted.submission_id,
        "outcome": wanted.outcome,
        "verdict": wanted.verdict,
        "seat": wanted.seat,
    }
    for name, value in on_seat.items():
        if value is not None and not wanted.names_a_player:
            raise Invalid(name, "name an agent too: this filter is about the agent's seat")
    if wanted.kind not in (None, MatchKind.RATED) and not (
        wanted.names_a_player or wanted.season_id or wanted.scrim_id
    ):
        raise Invalid("kind", "name an agent or a league too, to find matches that are not rated")


def _visible_matches(
    conn: Connection, viewer: Viewer, wanted: MatchFilter, before: MatchId | None, limit: int
) -> tuple[list[MatchId], MatchId | None]:
    """Ids of matches of an agent, entry, season or scrim, newest first, and where to read on.

    The first query reads candidates alone, in the order of an index: the planner cannot know how
    many of them the viewer sees, and would rather sort all. The second one keeps matches by their
    own columns and by visibility. Both repeat with more candidates until the page is full, at most
    MOST_ROUNDS times. The next page then begins after a match that the viewer may see, so that its
    address names no other.
    """
    clauses, values = _match_clauses(wanted, None)
    seen, seen_values = visibility.visible_matches(viewer)
    found: list[MatchId] = []
    size = math.ceil(CANDIDATES_AT_ONCE * limit)
    for _ in range(MOST_ROUNDS):
        text, arguments = candidates_query(wanted, before, size)
        candidates = [MatchId(row[0]) for row in conn.execute(text, arguments)]
        if not candidates:
            return found, None
        rows = conn.execute(
            f"""
            select m.id from matches m{FROM}
            where {" and ".join(("m.id = any (%s)", *clauses, seen))}
            order by m.id desc limit %s
            """,
            (candidates, *values, *seen_values, limit - len(found)),
        )
        found += [MatchId(row[0]) for row in rows]
        if len(found) == limit:
            return found, found[-1]
        if len(candidates) < size:
            return found, None
        before, size = candidates[-1], min(MOST_CANDIDATES, 4 * size)
    row = conn.execute(
        f"select min(m.id) from matches m{FROM} where m.id = any (%s) and {seen}",
        (candidates, *seen_values),
    ).fetchone()
    return found, row[0] if row else None


def _sees_validations(viewer: Viewer) -> bool:
    """Whether the viewer may see any validation match: teams, hosts and admins may."""
    return viewer.is_admin or bool(viewer.team_ids) or bool(viewer.roles)


def candidates_query(
    wanted: MatchFilter, before: MatchId | None, limit: int
) -> tuple[str, tuple[Any, ...]]:
    """The query for matches by the agent's seat, the season or the scrim, newest first."""
    if wanted.names_a_player:
        return _seats_query(wanted, before, limit)
    clauses, values = _match_clauses(wanted, before)
    text = f"select m.id from matches m where {' and '.join(clauses)} order by m.id desc limit %s"
    return text, (*values, limit)


def _seats_query(
    wanted: MatchFilter, before: MatchId | None, limit: int
) -> tuple[str, tuple[Any, ...]]:
    """The query for matches by the conditions on the agent's seat, newest first.

    A version's query reads the agent's seats in order. The planner does not know that a submission
    has one agent: it would expect few rows, and sort all matches of the agent.
    """
    if wanted.opponent_id is not None:
        return _meetings_query(wanted, before, limit)
    clauses, values = _seat_clauses(wanted)
    for clause, value in _id_bounds(wanted, before).items():
        clauses.append(f"t.match_id {clause}")
        values.append(value)
    seats = f"seats t where {' and '.join(clauses)}"
    if wanted.submission_id is not None:
        seats = f"""
            (select t.match_id, t.submission_id from {seats}
            order by t.match_id desc offset 0) t where {VERSION}
            """
        values.append(wanted.submission_id)
    text = f"select distinct t.match_id from {seats} order by t.match_id desc limit %s"
    return text, (*values, limit)


def _meetings_query(
    wanted: MatchFilter, before: MatchId | None, limit: int
) -> tuple[str, tuple[Any, ...]]:
    """The query for matches of two agents, newest first: reads their meetings in order.

    Each meeting's seats are read alone, so that the planner cannot join all seats of both.
    """
    clauses, values = _seat_clauses(wanted)
    seats = ""
    if wanted.submission_id is not None:
        clauses.append(VERSION)
        values.append(wanted.submission_id)
    if wanted.outcome is not None or len(clauses) > 1 or wanted.agent_id is None:
        seats = f"""
            , lateral (select 1 from seats t join seats o on o.match_id = t.match_id
            and o.seat <> t.seat where t.match_id = p.match_id and o.agent_id = %s
            and {" and ".join(clauses)} limit 1) one
            """
        values.insert(0, wanted.opponent_id)
    else:
        values = []
    bounds = {f" and p.match_id {one}": value for one, value in _id_bounds(wanted, before).items()}
    text = f"""
        select p.match_id from meetings p{seats} where p.pair = pair_of(coalesce(
        %s, (select agent_id from entries where id = %s)), %s){"".join(bounds)}
        order by p.match_id desc limit %s
        """
    pair = (wanted.agent_id, wanted.entry_id, wanted.opponent_id)
    return text, (*values, *pair, *bounds.values(), limit)


def all_leagues_query(
    viewer: Viewer, wanted: MatchFilter, before: MatchId | None, limit: int
) -> tuple[str, tuple[Any, ...]]:
    """Rated matches of all visible leagues, newest first, that do not hide their lineup."""
    clauses, values = _match_clauses(replace(wanted, kind=MatchKind.RATED), before)
    if not viewer.is_admin:
        clauses.append(visibility.shown_lineup())
        values.append(list(viewer.team_ids))
    open_to, open_values = visibility.visible_leagues(viewer)
    text = f"""
        with one as materialized (select s.id from seasons s join leagues l
        on l.id = s.league_id where {open_to} order by s.id desc limit {SEASONS})
        select found.id from one, lateral (select m.id from matches m
        where {" and ".join((*clauses, "m.season_id = one.id"))} order by m.id desc limit %s)
        found order by found.id desc limit %s
        """
    return text, (*open_values, *values, limit, limit)


def _match_clauses(wanted: MatchFilter, before: MatchId | None) -> tuple[list[str], list[Any]]:
    """Conditions on the match ``m``."""
    given: dict[str, Any] = {
        "m.season_id = %s": wanted.season_id,
        "m.scrim_id = %s": wanted.scrim_id,
        **{f"m.id {clause}": value for clause, value in _id_bounds(wanted, before).items()},
    }
    found = {clause: value for clause, value in given.items() if value is not None}
    # Written out: a partial index needs the value when the query is planned.
    words = [
        f"m.{name} = '{value}'"
        for name, value in (("kind", wanted.kind), ("state", wanted.state))
        if value is not None
    ]
    if wanted.outcome is not None and wanted.kind is None:
        words.append("m.kind <> 'validation'")  # an agent neither wins nor loses against itself
    return [*found, *words], list(found.values())


def _id_bounds(wanted: MatchFilter, before: MatchId | None) -> dict[str, str]:
    """Bounds of a match's id. Ids sort by time, so ``since`` is one."""
    bounds = {} if before is None else {"< %s": str(before)}
    return bounds | ({">= %s": _first_id(wanted.since)} if wanted.since else {})


def _seat_clauses(wanted: MatchFilter) -> tuple[list[str], list[Any]]:
    """Conditions on the agent's seat ``t`` and the opponent's seat ``o``, except the version."""
    given = {
        "t.agent_id = %s": wanted.agent_id,
        "t.entry_id = %s": wanted.entry_id,
        "t.seat = %s": wanted.seat,
    }
    clauses = [clause for clause, value in given.items() if value is not None]
    values: list[Any] = [value for value in given.values() if value is not None]
    if wanted.verdict is not None:
        clauses.append(f"t.verdict = '{wanted.verdict}'")
    if wanted.outcome is not None:
        clauses.append(_outcome_clause(wanted.outcome, has_opponent=wanted.opponent_id is not None))
    return clauses, values


def _outcome_clause(outcome: Outcome, *, has_opponent: bool) -> str:
    if has_opponent:
        sign = {Outcome.WON: "<", Outcome.TIED: "=", Outcome.LOST: ">"}[outcome]
        return f"t.placement {sign} o.placement"
    if outcome is Outcome.LOST:
        return "t.placement > 1"
    if outcome is Outcome.TIED:
        return "t.placement = 1 and t.is_shared"
    return f"t.placement = 1 and not {SHARED}"


def _first_id(moment: datetime) -> str:
    """The least id of a match made at this moment."""
    return f"mat_{ids.time_part(max(0, int(moment.timestamp() * 1000)))}"
