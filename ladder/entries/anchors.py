"""Creates a league with its first season, and adds anchors to seasons: agents that fix the scale.

Anchors are reference agents and agents of the host. Reference agents belong to a team without
members. Each folder of ``agents/`` is one agent, so the same bytes are one submission in all
leagues.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field

from games.protocol import Game
from ladder.database.blobs import Blobs
from ladder.database.db import Connection, atomic_function
from ladder.entries import agents, entries, medal_lines, reference_agents
from ladder.entries.agents import AgentChange
from ladder.entries.records import Entry, EntryState
from ladder.enums import AgentMachines
from ladder.errors import Conflict, Forbidden, Invalid, NotFound
from ladder.field_types import RequestModel
from ladder.ids import SubmissionId, TeamId
from ladder.leagues import leagues
from ladder.leagues.hosting import add_next_season, make_league, make_season
from ladder.leagues.medals import MedalRuleKind
from ladder.leagues.records import League, Season
from ladder.leagues.settings import ANCHORS, AnchorNames, NewLeague, NextSeason
from ladder.matches import pairing
from ladder.people import users
from ladder.people.permissions import may_see
from ladder.people.records import Viewer
from ladder.people.resources import SubmissionResource

TEAM: Final = "Reference agents"
OWN: Final = "sub_"
"""Prefix of a name that is the id of a submission."""


class NewAnchors(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"fill": True}]})
    anchors: Annotated[
        AnchorNames, Field(default_factory=list, description=ANCHORS, examples=[["greedy"]])
    ]
    fill: bool = False
    """Add reference agents until one agent can play."""


def refuse_unknown_anchors(game: str, names: Sequence[str]) -> None:
    """Raises Invalid for the first name that is no reference agent of the game and no id."""
    names_of_game = reference_agents.agent_names(game)
    for name in names:
        if reference_agents.canonical_name(name) not in names_of_game and not name.startswith(OWN):
            raise Invalid(
                "anchors",
                f"the game has no reference agent {name!r}; choose from"
                f" {', '.join(names_of_game) or 'none'}, or give the id of a submission.",
            )


@atomic_function
def add_anchors(
    conn: Connection, blobs: Blobs, season: Season, new: NewAnchors, by: Viewer
) -> list[Entry]:
    """Enters anchors in an existing season, as `enter_anchors` does.

    Raises Conflict if uploads are locked, or if new anchors would change the scores that medals
    depend on.
    """
    refuse_unknown_anchors(season.game, new.anchors)
    if season.state != "open":
        raise Conflict("uploads of this season are locked: open a new season to change its anchors")
    if season.medal_rules.kind is MedalRuleKind.LINES and season.accepted_no:
        raise Conflict(
            "this season gives medals by score, and new anchors would change the scores:"
            " add anchors before its first match"
        )
    return enter_anchors(conn, blobs, season, new.anchors, by, fill=new.fill)


@atomic_function
def enter_anchors(
    conn: Connection, blobs: Blobs, season: Season, names: Sequence[str], by: Viewer, *, fill: bool
) -> list[Entry]:
    """Enters anchors that ``by`` chose: reference agents by name, or own submissions by id.

    Also enters the reference agents that the season's medal lines name. ``fill`` enters more
    reference agents until one agent can play. Raises Invalid for an unknown name, Conflict for a
    competitor of the season.
    """
    refuse_unknown_anchors(season.game, names)
    rules = season.medal_rules
    chosen = [*names, *(name for name in rules.agents if name)]
    entered = []
    for name in dict.fromkeys(
        name if name.startswith(OWN) else reference_agents.canonical_name(name) for name in chosen
    ):
        if name.startswith(OWN):
            entry = enter_own_anchor(conn, season, SubmissionId(name), by)
        else:
            entry = enter_reference_agent(conn, blobs, season, name)
        if not entry.is_anchor:
            raise Conflict(f"{name} competes in this season; choose another", field="anchors")
        entered.append(entry)
    if fill:
        entered += fill_empty_seats(conn, blobs, season)
    return entered


def enter_own_anchor(
    conn: Connection, season: Season, submission_id: SubmissionId, by: Viewer
) -> Entry:
    """Enters a submission of a team of ``by`` as an anchor. Raises NotFound and Forbidden."""
    submission = agents.get_submission(conn, submission_id)
    if not may_see(by, SubmissionResource(submission.team_id)):
        raise NotFound.of("submission")
    if submission.team_id not in by.team_ids:
        raise Forbidden("This submission belongs to another team.")
    return entries.enter_season(conn, season.id, submission.id, is_anchor=True, count_limit=False)[
        0
    ]


def enter_reference_agent(conn: Connection, blobs: Blobs, season: Season, name: str) -> Entry:
    """Enters the reference agent with this name as an anchor."""
    name = reference_agents.canonical_name(name)
    team, slug = reference_team(conn), f"{season.game}-{name}".replace("_", "-")[:40]
    agent = agents.find_agent(conn, team, slug)
    if agent is None:
        agent = agents.create_agent(conn, team, reference_agents.title_of(season.game, name), slug)
        agents.update_agent(conn, agent.id, AgentChange(machines=AgentMachines.ANY))
    filename, content = reference_agents.read_bundle(season.game, name)
    stored = blobs.put_bytes(content)
    submission, _ = agents.add_submission(
        conn, agent.id, stored.digest, stored.size, filename, "reference agent", None
    )
    return entries.enter_season(conn, season.id, submission.id, is_anchor=True, count_limit=False)[
        0
    ]


def fill_empty_seats(conn: Connection, blobs: Blobs, season: Season) -> list[Entry]:
    """Enters reference agents for the seats that the season's competitors leave empty."""
    rows = conn.execute(
        """
        select b.digest, e.state from entries e join submissions b on b.id = e.submission_id
        where e.season_id = %s and e.is_anchor
        """,
        (season.id,),
    ).fetchall()
    entered = {digest for digest, state in rows if state in (EntryState.ACTIVE, EntryState.PENDING)}
    left = {digest for digest, _ in rows} - entered
    offered = {
        name: digest
        for name, digest in _reference_digests(season.game).items()
        if digest not in left
    }
    names = pairing.anchors_to_add(entered, offered, season.seats)
    return [enter_reference_agent(conn, blobs, season, name) for name in names]


def _reference_digests(game: str) -> dict[str, str]:
    """Digests of the game's reference agents by name, in order of preference."""
    return {
        name: hashlib.sha256(reference_agents.read_bundle(game, name)[1]).hexdigest()
        for name in reference_agents.agents_in_preferred_order(game)
    }


def reference_team(conn: Connection) -> TeamId:
    """Returns the team of the reference agents; creates it if it is missing."""
    conn.execute("select pg_advisory_xact_lock(hashtext(%s))", (reference_agents.TEAM_SLUG,))
    row = conn.execute(
        """
        select id from teams t where starts_with(slug, %s) and created_by is null
        and not exists (select 1 from memberships m where m.team_id = t.id) order by id
        """,
        (reference_agents.TEAM_SLUG,),
    ).fetchone()
    if row is not None:
        return TeamId(row[0])
    return users.create_own_team(conn, TEAM, None).id


@dataclass(frozen=True, slots=True)
class OpenedLeague:
    """A new league with its season and anchors."""

    league: League
    season: Season | None
    anchors: list[Entry]


@atomic_function
def set_up_league(
    conn: Connection, blobs: Blobs, new: NewLeague, game: Game[Any], by: Viewer
) -> OpenedLeague:
    """Creates everything that the request asks for, or nothing; ``by`` becomes host.

    Raises Invalid for a wrong value, Conflict if the slug is taken, LimitReached, and the errors of
    `anchors.enter_anchors`.
    """
    if new.anchors and new.season is None:
        raise Invalid("anchors", "anchors need a season; give a season too.")
    refuse_unknown_anchors(game.name, new.anchors)
    league = make_league(conn, new, by.user_id)
    if new.season is None:
        return OpenedLeague(league, None, [])
    try:
        season = make_season(conn, league, new.season, game)
        _refuse_unknown_lines(season)
    except Invalid as error:
        raise error.within("season") from None
    league = leagues.get_league(conn, league.id)  # the season changed the league's row
    entered = enter_anchors(conn, blobs, season, new.anchors, by, fill=new.fill)
    return OpenedLeague(league, season, entered)


@atomic_function
def open_next_season(
    conn: Connection,
    blobs: Blobs,
    by: Viewer,
    league: League,
    new: NextSeason,
    game: Game[Any],
) -> Season:
    """Creates a season of a league with earlier ones, and enters the anchors of its medal lines.

    Raises the errors of
    `hosting.add_next_season` and `anchors.enter_anchors`.
    """
    season = add_next_season(conn, by, league, new, game)
    _refuse_unknown_lines(season)
    enter_anchors(conn, blobs, season, [], by, fill=new.fill)
    return season


def _refuse_unknown_lines(season: Season) -> None:
    """Raises Invalid for a medal line that names no reference agent of the game."""
    try:
        medal_lines.refuse_unknown_agents(season.game, season.medal_rules)
    except Invalid as error:
        raise error.within("medals") from None
