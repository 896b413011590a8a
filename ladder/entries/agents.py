"""Creates, reads and finds agents, and their submissions (immutable uploads).

A person names an agent by id, by slug, by name, or by team and agent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, LiteralString

from psycopg import errors
from psycopg.rows import class_row, kwargs_row
from pydantic import ConfigDict

from ladder import ids
from ladder.database import erased_blobs
from ladder.database.db import (
    Connection,
    atomic,
    atomic_function,
    fetch,
    fetch_one,
    fetch_optional,
    insert,
)
from ladder.entries.records import Agent, Submission
from ladder.enums import AgentMachines
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import Key, Name, RequestModel, Slug
from ladder.ids import AgentId, LeagueId, SeasonId, SubmissionId, TeamId, UserId
from ladder.people import competitors, quotas, visibility
from ladder.people.records import Viewer
from ladder.slugs import is_named, name_key, normal_text, slug_of

AGENT: Final = """
    select a.id, a.team_id, t.name as team_name, a.slug, a.name, a.created_at,
           a.machines
    from agents a join teams t on t.id = a.team_id
    """
SUBMISSION: Final = """
    select s.id, s.number, submission_version(s.agent_id, s.number) as version, s.agent_id,
           a.team_id, s.digest, s.size_bytes, s.filename, s.message, s.created_at, s.url
    from submissions s join agents a on a.id = s.agent_id
    """
OLDER_SUBMISSIONS: Final = """
    where s.agent_id = %(agent)s and (%(after)s::text is null or s.id < %(after)s)
      and (%(with_rejected)s or not exists (
        select 1 from entries e where e.submission_id = s.id having bool_and(e.state = 'rejected')
      ))
    order by s.id desc limit %(limit)s
    """
LEAGUES_OF_ENTRIES: Final = """
    select distinct s.league_id from entries e join seasons s on s.id = e.season_id
    """
OF_TEAM: Final = """
    e.team_id in (%(team)s, (select merged_into from teams where id = %(team)s))
    """


class NewAgent(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Flood"}]})
    name: Name
    slug: Slug | None = None
    """Default: made from the name."""
    team: Key | None = None
    """Required if you are in several teams."""


class AgentChange(RequestModel):
    name: Name | None = None
    machines: AgentMachines | None = None


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
            insert(conn, "agents", id=agent_id, team_id=team_id, slug=slug, name=name)
    except errors.UniqueViolation:
        raise Conflict(
            f"your team already has an agent {slug!r}; choose another slug", field="slug"
        ) from None
    except errors.ForeignKeyViolation:
        raise NotFound.of("team") from None
    return get_agent(conn, agent_id)


def get_agent(conn: Connection, agent_id: AgentId) -> Agent:
    """Returns the agent with this id. Raises NotFound."""
    query = f"{AGENT} where a.id = %(agent)s"
    return fetch_one(conn, Agent, query, {"agent": agent_id}, missing=NotFound.of("agent"))


def select_agents(
    conn: Connection, tail: str, values: Mapping[str, Any] | Sequence[object]
) -> list[Agent]:
    """The agents (``a``) that the end of a query selects."""
    with conn.cursor(row_factory=kwargs_row(_agent_of_row)) as cursor:
        return cursor.execute(f"{AGENT} {tail}", values).fetchall()


def _agent_of_row(machines: str, **columns: Any) -> Agent:
    return Agent(machines=AgentMachines(machines), **columns)


def find_agent(conn: Connection, team_id: TeamId, slug: str) -> Agent | None:
    """Returns the team's agent with this slug, or None."""
    query = f"{AGENT} where a.team_id = %(team)s and a.slug = %(slug)s"
    return fetch_optional(conn, Agent, query, {"team": team_id, "slug": slug})


def list_agents(
    conn: Connection,
    *,
    viewer: Viewer,
    team_id: TeamId | None = None,
    after: AgentId | None = None,
    limit: int = 50,
) -> list[Agent]:
    """Agents that this viewer may see, of one team or of all, oldest first, after ``after``."""
    condition, values = visibility.visible_agents(viewer)
    return select_agents(
        conn,
        f"where a.id > %s and (%s::text is null or a.team_id = %s) and {condition}"
        " order by a.id limit %s",
        (after or "", team_id, team_id, *values, limit),
    )


def update_agent(conn: Connection, agent_id: AgentId, change: AgentChange) -> Agent:
    """Changes the given values and returns the agent. Raises NotFound."""
    conn.execute(
        """
        update agents
        set name = coalesce(%(name)s, name), machines = coalesce(%(machines)s, machines)
        where id = %(agent)s
        """,
        {
            "agent": agent_id,
            "name": change.name,
            "machines": change.machines,
        },
    )
    return get_agent(conn, agent_id)


def delete_agent(conn: Connection, agent_id: AgentId) -> None:
    """Deletes an agent that has no submission. Raises NotFound, or Conflict if it has one."""
    try:
        with atomic(conn):
            deleted = conn.execute("delete from agents where id = %s", (agent_id,)).rowcount
    except errors.ForeignKeyViolation:
        raise Conflict("an agent with submissions cannot be deleted; retire its entries") from None
    if not deleted:
        raise NotFound("there is no such agent")


def leagues_of_agent(conn: Connection, agent_id: AgentId) -> list[LeagueId]:
    """Leagues whose board has shown the agent."""
    query = (
        f"{LEAGUES_OF_ENTRIES} where e.agent_id = %(agent)s and {visibility.ON_BOARD} order by 1"
    )
    return fetch(conn, LeagueId, query, {"agent": agent_id})


def leagues_of_team(conn: Connection, team_id: TeamId) -> list[LeagueId]:
    """Leagues whose board has shown the team, or the team that it was merged into."""
    query = f"{LEAGUES_OF_ENTRIES} where {OF_TEAM} and {visibility.ON_BOARD} order by 1"
    return fetch(conn, LeagueId, query, {"team": team_id})


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
            inserted = conn.execute(
                """
                insert into submissions
                  (id, agent_id, digest, size_bytes, filename, message, created_by, url)
                values (%s, %s, %s, %s, %s, %s, %s, %s) on conflict (agent_id, digest) do nothing
                """,
                (ids.new_id("sub"), agent_id, digest, size_bytes, filename, message, user_id, url),
            )
    except errors.ForeignKeyViolation:
        raise NotFound.of("agent") from None
    query = f"{SUBMISSION} where s.agent_id = %(agent)s and s.digest = %(digest)s"
    submission = fetch_one(conn, Submission, query, {"agent": agent_id, "digest": digest})
    if submission.url != url:
        raise Conflict(
            "the agent already has these bytes as another kind of submission; use another agent"
        )
    return submission, inserted.rowcount == 1


def get_submission(conn: Connection, submission: SubmissionId | int) -> Submission:
    """Returns the submission with this id or number. Raises NotFound."""
    by_number = f"{SUBMISSION} where s.number = %(key)s"
    query = by_number if isinstance(submission, int) else f"{SUBMISSION} where s.id = %(key)s"
    return fetch_one(
        conn, Submission, query, {"key": submission}, missing=NotFound.of("submission")
    )


def get_submissions(
    conn: Connection, submission_ids: Collection[SubmissionId]
) -> dict[SubmissionId, Submission]:
    """Returns the submissions with these ids; leaves out ids that do not exist."""
    query = f"{SUBMISSION} where s.id = any (%(submissions)s)"
    rows = fetch(conn, Submission, query, {"submissions": list(submission_ids)})
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
    return fetch(
        conn,
        Submission,
        f"{SUBMISSION} {OLDER_SUBMISSIONS}",
        {"agent": agent_id, "after": after, "with_rejected": with_rejected, "limit": limit},
    )


def show_submission(viewer: Viewer, submission: Submission) -> Submission:
    """The part of a submission that the viewer may see. Only the team sees the address, not even
    administrators, because anybody who knows the address can submit it."""
    return submission if submission.team_id in viewer.team_ids else replace(submission, url=None)


def submission_of_version(conn: Connection, agent_id: AgentId, version: int) -> SubmissionId | None:
    """The id of an agent's submission with this version; None if there is none."""
    return fetch_optional(
        conn,
        SubmissionId,
        """
        select id from submissions where agent_id = %(agent)s
        order by number offset %(before)s limit 1
        """,
        {"agent": agent_id, "before": version - 1},
    )


def versions_of_numbers(conn: Connection, numbers: Iterable[int]) -> dict[int, int]:
    """The version of each submission among those of its agent, by the submission's number."""
    query = """
        select number, submission_version(agent_id, number) from submissions
        where number = any (%(numbers)s)
        """
    return dict(conn.execute(query, {"numbers": sorted(numbers)}).fetchall())


NAME: Final = """
    select a.id, a.slug, a.name, t.slug as team_slug, t.name as team_name
    from agents a join teams t on t.id = a.team_id
    """
TEAM: Final = attrgetter("team_slug")
OTHER: Final = 3
"""Distance of a text from a name that it does not mean."""
MOST_TOLD: Final = 5
"""Most agents or teams that an error names."""


@dataclass(frozen=True, slots=True)
class AgentName:
    """What an agent and its team are called."""

    id: AgentId
    slug: str
    name: str
    team_slug: str
    team_name: str


@dataclass(frozen=True, slots=True)
class OfferedName:
    """A text that names one agent, as a form offers it."""

    text: str
    label: str


def select_names(conn: Connection, tail: LiteralString, values: Sequence[Any]) -> list[AgentName]:
    """The agents (``a``) of teams (``t``) that the end of a query selects."""
    with conn.cursor(row_factory=class_row(AgentName)) as cur:
        return cur.execute(f"{NAME} {tail}", values).fetchall()


def choose_agent(names: Sequence[AgentName], text: str, field: str, missing: str) -> AgentId:
    """The one agent with this id or name; ``team/agent`` names the team too.

    Exact names precede those in another case, and these precede equal slugs. Raises Invalid for
    the field, with the message ``missing`` if no agent has the name.
    """
    fitting = [name for name in names if name.id == text] or _closest(names, text)
    if not fitting:
        raise Invalid(field, missing)
    if len(fitting) == 1:
        return fitting[0].id
    teams = sorted({name.team_name for name in fitting})
    if "/" not in text and len(teams) == len(fitting):
        listed = ", ".join(teams[:MOST_TOLD])
        raise Invalid(field, f"write TEAM/{text}: several teams have this agent ({listed})")
    listed = ", ".join(
        f"{name.name} of {name.team_name} is {name.id}" for name in fitting[:MOST_TOLD]
    )
    raise Invalid(field, f"write an id: several agents have this name ({listed})")


def offer_names(conn: Connection, names: Sequence[AgentName]) -> list[OfferedName]:
    """Offers ``team/agent``, or the id if this text fits another agent of the team as well."""
    of_teams = select_names(
        conn, "where t.slug = any (%s) order by a.id", ([name.team_slug for name in names],)
    )
    by_team = groupby(sorted(of_teams, key=TEAM), TEAM)
    teams = {team: list(agents) for team, agents in by_team}
    offered = []
    for name in names:
        text = f"{name.team_name}/{name.slug}"
        if _closest(teams[name.team_slug], text) == [name]:
            offered.append(OfferedName(text, name.name))
        else:
            offered.append(OfferedName(name.id, f"{name.team_name} / {name.name}"))
    return offered


def _closest(names: Sequence[AgentName], text: str) -> list[AgentName]:
    text = normal_text(text)
    team, slash, agent = text.rpartition("/")
    distances = []
    for name in names:
        distance = _distance(name.name, name.slug, agent)
        if slash:
            distance = max(distance, _distance(name.team_name, name.team_slug, team))
        distances.append(distance)
    least = min(distances, default=OTHER)
    if least < OTHER:
        return [name for name, its in zip(names, distances, strict=True) if its == least]
    return [name for name in names if slash and name.name == text]


def _distance(name: str, slug: str, text: str) -> int:
    if text == name:
        return 0
    if name_key(text) == name_key(name):
        return 1
    return 2 if text.lower() == slug or is_named(name, text) else OTHER


NAMED: Final = 20
"""Most agents of one name that are compared."""
PLAYS: Final = """
    exists (
      select 1 from entries n
      where n.agent_id = a.id and n.season_id = %s and n.state = 'active'
    )
    """
PAIRS: Final = """
    select e.agent_id, o.agent_id
    from entries e
    join entries o on o.season_id = e.season_id and o.agent_id <> e.agent_id
    join seasons s on s.id = e.season_id
    join leagues l on l.id = s.league_id
    where e.agent_id = any (%s) and o.agent_id = any (%s)
    """
MOST_GAMES_FIRST: Final = "order by least(e.games, o.games) desc, e.id desc, o.id desc limit 1"


def find_visible_agent(conn: Connection, viewer: Viewer, text: str, field: str = "agent") -> Agent:
    """The one visible agent with this id, slug or name; ``team/agent`` names the team too.

    An agent of the viewer's own teams precedes agents of others. Raises Invalid for the field if
    several agents have the name. Raises NotFound.
    """
    namesakes = find_namesakes(conn, viewer, text)
    own = [agent for agent in namesakes if agent.team_id in viewer.team_ids]
    if len(own) == 1 or len(namesakes) == 1:
        return (own or namesakes)[0]
    if not namesakes:
        missing = NotFound.of("agent")
        missing.field = field
        raise missing
    teams = ", ".join(sorted({agent.team_name for agent in namesakes})[:5])
    raise Invalid(field, f"write TEAM/{namesakes[0].slug}: several teams have this agent ({teams})")


def find_season_agent(
    conn: Connection, viewer: Viewer, season_id: SeasonId, text: str, field: str
) -> Agent:
    """The visible agent with this id, or the one with this name that plays in the season;
    ``team/agent`` names the team too. Raises Invalid for the field, NotFound.
    """
    if ids.is_id(text, "age"):
        return find_visible_agent(conn, viewer, text, field)
    condition, values = visibility.visible_agents(viewer)
    names = select_names(
        conn,
        f"where {PLAYS} and {condition} order by a.id",
        (season_id, *values),
    )
    missing = "write the name of an agent that plays in this season"
    chosen = choose_agent(names, text, field, missing)
    return get_agent(conn, chosen)


def find_namesakes(conn: Connection, viewer: Viewer, text: str) -> list[Agent]:
    """The visible agents with this id, slug or name; ``team/agent`` names the team too."""
    condition, values = visibility.visible_agents(viewer)
    team, slash, name = normal_text(text).rpartition("/")
    if ids.is_id(text, "age"):
        named, names = "a.id = %s", [text]
    else:
        named, names = "(a.slug = lower(%s) or lower(a.name) = lower(%s))", [name, name]
        if slash:
            named += " and (t.slug = lower(%s) or lower(t.name) = lower(%s))"
            names += [team, team]
    return select_agents(
        conn, f"where {named} and {condition} order by a.id limit {NAMED}", (*names, *values)
    )


def find_similar_agents(conn: Connection, viewer: Viewer, text: str, limit: int) -> list[Agent]:
    """The newest visible agents whose name or slug contains the text."""
    condition, values = visibility.visible_agents(viewer)
    part = normal_text(text).replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return select_agents(
        conn,
        f"where (a.name ilike %s or a.slug ilike %s) and {condition} order by a.id desc limit %s",
        (f"%{part}%", f"%{part}%", *values, limit),
    )


def likeliest_pair(
    conn: Connection, viewer: Viewer, ones: Sequence[Agent], others: Sequence[Agent]
) -> tuple[Agent, Agent] | None:
    """The pair of different agents that played most in one season that the viewer may see."""
    condition, values = visibility.visible_leagues(viewer)
    row = conn.execute(
        f"{PAIRS} and {condition} {MOST_GAMES_FIRST}",
        ([agent.id for agent in ones], [agent.id for agent in others], *values),
    ).fetchone()
    if row is None:
        return None
    by_id = {agent.id: agent for agent in (*ones, *others)}
    return by_id[row[0]], by_id[row[1]]
