"""Reference agents of this installation, entered in a league as its anchors.

They belong to a team of the house that nobody is a member of, one agent for each folder of
``agents/``, so that the same bytes are one submission in all leagues.
"""

from __future__ import annotations

import secrets
from typing import Final

from ladder.ids import SeasonId, TeamId
from ladder.model import Conflict, Entry
from ladder.store import agents, entries, users
from ladder.store.blobs import Blobs
from ladder.store.db import Connection
from services import bundles, demo

TEAM: Final = "Reference agents"
SLUG: Final = "reference-agents"


def enter(conn: Connection, blobs: Blobs, season_id: SeasonId, game: str, name: str) -> Entry:
    """Enters the reference agent of this name, one of ``bundles.names``, as an anchor."""
    known = demo.known(game, name)
    team, slug = house_team(conn), f"{game}-{name}".replace("_", "-")[:40]
    agent = agents.find_agent(conn, team, slug)
    if agent is None:
        title = known.name if known else name.replace("_", " ").title()
        agent = agents.create_agent(conn, team, title, slug)
    filename, content = bundles.read(game, name)
    stored = blobs.put_bytes(content)
    submission, _ = agents.add_submission(
        conn, agent.id, stored.digest, stored.size, filename, "reference agent", None
    )
    return entries.enter(
        conn,
        season_id,
        submission.id,
        pairing_weight=known.weight if known else 1.0,
        is_anchor=True,
        count_limit=False,
    )[0]


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
