"""Creates and reads agents and their submissions (immutable uploads)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, LiteralString

from psycopg import errors
from psycopg.rows import class_row

from ladder import ids
from ladder.database import erased_blobs
from ladder.database.db import Connection, atomic, atomic_function
from ladder.entries.records import Agent, Submission
from ladder.enums import AgentMachines
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import AgentId, LeagueId, SubmissionId, TeamId, UserId
from ladder.people import competitors, quotas, visibility
from ladder.people.records import Viewer
from ladder.slugs import slug_of

AGENT: Final = (
    "select a.id, a.team_id, t.name as team_name, a.slug, a.name, a.created_at,"
    " case a.machine_tier when 'volunteer' then 'any' else 'trusted' end as machines"
    " from agents a join teams t on t.id = a.team_id"
)
STORED_MACHINES: Final = {AgentMachines.TRUSTED: "trusted", AgentMachines.ANY: "volunteer"}
"""What the column `machine_tier` holds. Rows of earlier versions may also hold 'member', which let
only some machines run the agent, so it is read as trusted."""
SUBMISSION: Final = (
    "select s.id, s.number, submission_version(s.agent_id, s.number) as version, s.agent_id,"
    " a.team_id, s.digest, s.size_bytes, s.filename, s.message, s.created_at, s.url"
    " from submissions s join agents a on a.id = s.agent_id"
)


@atomic_function
def create_named_agent(conn: Connection, team_id: TeamId, name: str, slug: str | None) -> Agent:
    """Creates an agent that a person named; makes the slug from the name if none is given.

    Raises Invalid for a name without letters or digits for a slug, Conflict, LimitReached.
    """
    competitors.lock_team(conn, team_id)
    agent = create_agent(conn, team_id, name, slug or agent_slug(name))
    quotas.check_agent_quota(conn, team_id)
    return agent


def agent_slug(name: str) -> str:
    """Makes the slug of an agent from its name. Raises Invalid."""
    slug = slug_of(name)
    if not slug:
        raise Invalid("slug", "give a slug; the name has no letters or digits for one.")
    return slug


def create_agent(conn: Connection, team_id: TeamId, name: str, slug: str) -> Agent:
    """Creates an agent of a team. Raises Conflict if the team has this slug already."""
    agent_id = AgentId(ids.new_id("age"))
    try:
        with atomic(conn):
            conn.execute(
                "insert into agents (id, team_id, slug, name) values (%s, %s, %s, %s)",
                (agent_id, team_id, slug, name),
            )
    except errors.UniqueViolation:
        raise Conflict(
            f"your team already has an agent {slug!r}; choose another slug", field="slug"
        ) from None
    except errors.ForeignKeyViolation:
        raise NotFound.of("team") from None
    return get_agent(conn, agent_id)


def get_agent(conn: Connection, agent_id: AgentId) -> Agent:
    """Returns the agent with this id. Raises NotFound."""
    with conn.cursor(row_factory=class_row(Agent)) as cur:
        found = cur.execute(f"{AGENT} where a.id = %s", (agent_id,)).fetchone()
    if found is None:
        raise NotFound.of("agent")
    return found


def select_agents(conn: Connection, tail: LiteralString, values: Mapping[str, Any]) -> list[Agent]:
    """The agents (``a``) that the end of a query selects."""
    with conn.cursor(row_factory=class_row(Agent)) as cur:
        return cur.execute(f"{AGENT} {tail}", values).fetchall()


def find_agent(conn: Connection, team_id: TeamId, slug: str) -> Agent | None:
    """Returns the team's agent with this slug, or None."""
    with conn.cursor(row_factory=class_row(Agent)) as cur:
        return cur.execute(
            f"{AGENT} where a.team_id = %s and a.slug = %s", (team_id, slug)
        ).fetchone()


def list_agents(
    conn: Connection,
    *,
    viewer: Viewer,
    team_id: TeamId | None = None,
    after: AgentId | None = None,
    limit: int = 50,
) -> list[Agent]:
    """Agents that this viewer may see, of one team or of all, oldest first, after ``after``."""
    seen, values = visibility.visible_agents(viewer)
    with conn.cursor(row_factory=class_row(Agent)) as cur:
        return cur.execute(
            f"{AGENT} where a.id > %s and (%s::text is null or a.team_id = %s) and {seen}"
            " order by a.id limit %s",
            (after or "", team_id, team_id, *values, limit),
        ).fetchall()


def update_agent(
    conn: Connection,
    agent_id: AgentId,
    *,
    name: str | None = None,
    machines: AgentMachines | None = None,
) -> Agent:
    """Changes the given values and returns the agent. Raises NotFound."""
    conn.execute(
        """
        update agents
        set name = coalesce(%(name)s, name), machine_tier = coalesce(%(stored)s, machine_tier)
        where id = %(agent)s
        """,
        {"agent": agent_id, "name": name, "stored": machines and STORED_MACHINES[machines]},
    )
    return get_agent(conn, agent_id)


def delete_agent(conn: Connection, agent_id: AgentId) -> None:
    """Deletes an agent that has no submission. Raises NotFound, or Conflict if it has one."""
    try:
        with atomic(conn):
            gone = conn.execute("delete from agents where id = %s", (agent_id,))
    except errors.ForeignKeyViolation:
        raise Conflict("an agent with submissions cannot be deleted; retire its entries") from None
    if gone.rowcount == 0:
        raise NotFound("there is no such agent")


def leagues_of_agent(conn: Connection, agent_id: AgentId) -> list[LeagueId]:
    """Leagues whose board has shown the agent."""
    rows = conn.execute(
        "select distinct s.league_id from entries e join seasons s on s.id = e.season_id"  # noqa: S608
        f" where e.agent_id = %s and {visibility.ON_BOARD} order by 1",
        (agent_id,),
    )
    return [LeagueId(row[0]) for row in rows]


def leagues_of_team(conn: Connection, team_id: TeamId) -> list[LeagueId]:
    """Leagues whose board has shown the team, or the team that it was merged into."""
    rows = conn.execute(
        "select distinct s.league_id from entries e join seasons s on s.id = e.season_id"  # noqa: S608
        " where e.team_id in (%s, (select merged_into from teams where id = %s))"
        f" and {visibility.ON_BOARD} order by 1",
        (team_id, team_id),
    )
    return [LeagueId(row[0]) for row in rows]


def add_submission(
    conn: Connection,
    agent_id: AgentId,
    digest: str,
    size_bytes: int,
    filename: str,
    message: str,
    user_id: UserId | None,
    *,
    url: str | None = None,
) -> tuple[Submission, bool]:
    """Returns the agent's submission with these bytes, and whether it is new.

    Equal bytes of the same agent are one submission; files of other agents do not matter. ``url``
    marks a remote submission. Raises NotFound. Raises Conflict if the same bytes exist both as a
    bundle and as a remote submission.
    """
    erased_blobs.keep_blob(conn, digest)
    try:
        with atomic(conn):
            made = conn.execute(
                "insert into submissions (id, agent_id, digest, size_bytes, filename, message,"
                " created_by, url) values (%s, %s, %s, %s, %s, %s, %s, %s)"
                " on conflict (agent_id, digest) do nothing",
                (ids.new_id("sub"), agent_id, digest, size_bytes, filename, message, user_id, url),
            )
    except errors.ForeignKeyViolation:
        raise NotFound.of("agent") from None
    with conn.cursor(row_factory=class_row(Submission)) as cur:
        found = cur.execute(
            f"{SUBMISSION} where s.agent_id = %s and s.digest = %s", (agent_id, digest)
        ).fetchone()
    assert found is not None
    if found.url != url:
        raise Conflict(
            "the agent already has these bytes as another kind of submission; use another agent"
        )
    return found, made.rowcount == 1


def get_submission(conn: Connection, submission: SubmissionId | int) -> Submission:
    """Returns the submission with this id or number. Raises NotFound."""
    column = "number" if isinstance(submission, int) else "id"
    with conn.cursor(row_factory=class_row(Submission)) as cur:
        found = cur.execute(f"{SUBMISSION} where s.{column} = %s", (submission,)).fetchone()
    if found is None:
        raise NotFound.of("submission")
    return found


def get_submissions(
    conn: Connection, found: Collection[SubmissionId]
) -> dict[SubmissionId, Submission]:
    """Returns the submissions with these ids; leaves out ids that do not exist."""
    with conn.cursor(row_factory=class_row(Submission)) as cur:
        rows = cur.execute(f"{SUBMISSION} where s.id = any (%s)", (list(found),))
        return {row.id: row for row in rows}


def list_submissions(
    conn: Connection,
    agent_id: AgentId,
    after: SubmissionId | None = None,
    limit: int = 50,
    *,
    with_rejected: bool = True,
) -> list[Submission]:
    """An agent's submissions, newest first, older than ``after``.

    Without the rejected ones, those are left out that every season refused.
    """
    with conn.cursor(row_factory=class_row(Submission)) as cur:
        return cur.execute(
            f"{SUBMISSION} where s.agent_id = %s and (%s::text is null or s.id < %s)"  # noqa: S608
            " and (%s or not exists (select 1 from entries e where e.submission_id = s.id"
            "   having bool_and(e.state = 'rejected')))"
            " order by s.id desc limit %s",
            (agent_id, after, after, with_rejected, limit),
        ).fetchall()


def submission_of_version(conn: Connection, agent_id: AgentId, version: int) -> SubmissionId | None:
    """The id of an agent's submission with this version; None if there is none."""
    row = conn.execute(
        "select id from submissions where agent_id = %s order by number offset %s limit 1",
        (agent_id, version - 1),
    ).fetchone()
    return row[0] if row else None


def versions_of_numbers(conn: Connection, numbers: Iterable[int]) -> dict[int, int]:
    """The version of each submission among those of its agent, by the submission's number."""
    rows = conn.execute(
        "select number, submission_version(agent_id, number) from submissions"
        " where number = any (%s)",
        (sorted(numbers),),
    )
    return dict(rows.fetchall())
