"""Reference agents of this installation, entered in a league as its anchors.

They belong to a team of the house that nobody is a member of, one agent for each folder of
``agents/``, so that the same bytes are one submission in all leagues.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.entries.records import Entry, EntryState
from ladder.errors import Conflict
from ladder.ids import SeasonId, TeamId
from ladder.leagues.records import Season
from ladder.matches import pairing
from ladder.people import users
from services import bundles, demo

TEAM: Final = "Reference agents"
SLUG: Final = "reference-agents"


def enter(conn: Connection, blobs: Blobs, season_id: SeasonId, game: str, name: str) -> Entry:
    """Enters the reference agent of this name, one of ``bundles.names``, as an anchor."""
    name = bundles.name_of(name)
    known = demo.known(game, bundles.folder_of(name))
    team, slug = house_team(conn), f"{game}-{name}".replace("_", "-")[:40]
    agent = agents.find_agent(conn, team, slug)
    if agent is None:
        title = known.name if known else name.replace("-", " ").title()
        agent = agents.create_agent(conn, team, title, slug)
    if not agent.open_for_scrims:  # everybody may try an agent against them
        agents.update_agent(conn, agent.id, open_for_scrims=True)
    filename, content = bundles.read(game, name)
    stored = blobs.put_bytes(content)
    submission, _ = agents.add_submission(
        conn, agent.id, stored.digest, stored.size, filename, "reference agent", None
    )
    return entries.enter(
        conn,
        season_id,
        submission.id,
        is_anchor=True,
        count_limit=False,
    )[0]


def fill(conn: Connection, blobs: Blobs, season: Season) -> list[Entry]:
    """Enters reference agents for the seats that the season's competitors leave empty."""
    rows = conn.execute(
        "select b.digest, e.state from entries e join submissions b on b.id = e.submission_id"
        " where e.season_id = %s and e.is_anchor",
        (season.id,),
    ).fetchall()
    entered = {digest for digest, state in rows if state in (EntryState.ACTIVE, EntryState.PENDING)}
    left = {digest for digest, _ in rows} - entered
    offered = {name: digest for name, digest in _offered(season.game).items() if digest not in left}
    names = pairing.anchors_to_add(entered, offered, season.seats)
    return [enter(conn, blobs, season.id, season.game, name) for name in names]


def _offered(game: str) -> dict[str, str]:
    """Digests of the game's reference agents by name, those of its demo league first."""
    names = bundles.names(game)
    first = [name for name in map(bundles.name_of, demo.folders(game)) if name in names]
    return {
        name: hashlib.sha256(bundles.read(game, name)[1]).hexdigest()
        for name in dict.fromkeys([*first, *names])
    }


def house_team(conn: Connection) -> TeamId:
    """The team of nobody that reference agents belong to, made when it is missing."""
    conn.execute("select pg_advisory_xact_lock(hashtext(%s))", (SLUG,))
    row = conn.execute(
        "select id from teams t where starts_with(slug, %s) and created_by is null"
        " and not exists (select 1 from memberships m where m.team_id = t.id) order by id",
        (SLUG,),
    ).fetchone()
    if row is not None:
        return TeamId(row[0])
    try:
        return users.create_team(conn, TEAM, SLUG, None).id
    except Conflict:  # somebody's own team bears the slug
        return users.create_team(conn, TEAM, f"{SLUG}-{secrets.token_hex(4)}", None).id
