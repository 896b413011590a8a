"""The terms of a league: one text made from its settings, and what each member agreed to.

A membership stores the digest of the text and the settings in it. Later settings must not show more
to more people, unless these members agree to wider terms.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Annotated, Final, NamedTuple

from pydantic import Field

from ladder.database.db import Connection, atomic_function
from ladder.enums import LeagueRole, ReplayVisibility, Visibility
from ladder.errors import Conflict, NotFound
from ladder.field_types import RECORD, RequestModel
from ladder.ids import LeagueId, UserId
from ladder.leagues import leagues, members
from ladder.leagues.records import League
from ladder.people.records import Viewer

REPLAYS: Final = {
    ReplayVisibility.PUBLIC: (
        "Everybody who sees the league watches rated matches live, and their replays afterwards."
    ),
    ReplayVisibility.MEMBERS: (
        "Only members of the league watch rated matches live, and their replays afterwards."
    ),
    ReplayVisibility.OWN: (
        "Only the hosts, and the teams that play in a rated match, watch it live or as a replay."
    ),
    ReplayVisibility.AFTER_CLOSE: (
        "Until the season ends, only the hosts, and the teams that play in a rated match, watch it"
        " live or as a replay. After that, everybody who sees the league watches the replays."
    ),
}
REMOTE: Final = (
    "Agents in this season may run at addresses of their owners. Nobody checks what computes there."
    " Their time is measured over the network, and their owners see matches as they are played."
)
"""For a season that takes remote agents."""


class TermsSettings(NamedTuple):
    """The settings that the terms of a league depend on."""

    visibility: Visibility
    replays: ReplayVisibility
    remote: bool = False
    """Whether its seasons may take remote agents."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Terms that a member agreed to. If a host added the member, digest and moment are None."""

    visibility: Visibility
    replays: ReplayVisibility
    terms_digest: str | None
    at: datetime | None
    names_staff: bool
    """Whether the person agreed to terms that name the roles grader and commentator."""


Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="`digest` of the terms")]


class Consent(RequestModel):
    terms: Digest


@dataclass(frozen=True, slots=True)
class Terms:
    """What joining means. `digest` names this text in a consent."""

    __pydantic_config__ = RECORD
    text: str
    digest: str
    agreed: bool
    """Whether the caller is a member and agreed to exactly this text."""
    agreed_at: datetime | None


def read_terms(conn: Connection, viewer: Viewer, league: League, settings: TermsSettings) -> Terms:
    """Returns the terms of these settings, and whether the viewer agreed to them."""
    digest = terms_digest(settings)
    agreement = viewer.user_id and agreement_of_member(conn, league.id, viewer.user_id)
    if agreement and agreement.terms_digest == digest:
        return Terms(terms_text(settings), digest, True, agreement.at)
    return Terms(terms_text(settings), digest, False, None)


def settings_of_league(league: League) -> TermsSettings:
    """Returns the league's current settings."""
    return TermsSettings(league.visibility, league.replay_visibility, league.remote_agents)


def terms_text(settings: TermsSettings) -> str:
    """Returns the text, one sentence a line."""
    remote = (REMOTE.replace("this season", "seasons that say so", 1),) if settings.remote else ()
    is_public = settings.visibility is Visibility.PUBLIC
    viewers = "Everybody sees" if is_public else "Members see"
    return "\n".join(
        (
            "This site stores your account, the agents that you upload, what they print, and the "
            "results and replays of their matches. Its page Privacy says how long the site keeps "
            "it, and how you delete it.",
            f"{viewers} the leaderboard, the matches, and the names of teams and agents.",
            REPLAYS[settings.replays],
            "Only your team sees the code of its agents. Only your team and graders see the logs "
            "of its agents and the details of a fault. Whoever sees a match sees how it ended, "
            "such as a time-out.",
            "Others see the name of your team. That is your name, until you rename the team or "
            "join another. Only your team and the hosts see your own name. An id that a host gave "
            "you is for hosts only.",
            "If a host's list names your team, only people on that list are its members.",
            "Administrators of this site see what hosts see, and every replay.",
            "A host may name graders at any time. They see the logs of your agents in this league "
            "and why an agent failed, but neither code nor scrims.",
            "A host may name commentators at any time. They see replays of your agents before the "
            "season ends, also where others wait for its end.",
            *remote,
            "No host shows more of this to more people unless you agree.",
        )
    )


def terms_digest(settings: TermsSettings) -> str:
    """Returns the SHA-256 of the text, which identifies what a person agrees to."""
    return hashlib.sha256(terms_text(settings).encode()).hexdigest()


SETTINGS_OF_DIGEST: Final = {
    terms_digest(settings): settings
    for settings in (
        TermsSettings(*values)
        for values in product(
            (Visibility.PUBLIC, Visibility.INVITATION), ReplayVisibility, (False, True)
        )
    )
}
"""The settings of each text. An invitation league and a private one have the same text."""


def is_covered_by(agreed: TermsSettings, asked: TermsSettings) -> bool:
    """Whether the asked settings show nothing more, or sooner, than the agreed ones.

    MEMBERS shows a replay to members immediately; AFTER_CLOSE shows it to more people later.
    Neither covers the other.
    """
    audience = agreed.visibility is Visibility.PUBLIC or asked.visibility is not Visibility.PUBLIC
    replays = asked.replays in (agreed.replays, ReplayVisibility.OWN)
    remote = agreed.remote or not asked.remote
    return audience and remote and (replays or agreed.replays is ReplayVisibility.PUBLIC)


def agreement_of_member(conn: Connection, league_id: LeagueId, user_id: UserId) -> Agreement | None:
    """Returns what this member agreed to; None for a person who is not a member."""
    row = conn.execute(
        """
        select m.agreed_visibility, m.agreed_replays, m.terms_digest, m.agreed_at,
          a.user_id is not null
        from league_members m
        left join role_agreements a on a.league_id = m.league_id and a.user_id = m.user_id
        where m.league_id = %(league)s and m.user_id = %(user)s
        """,
        {"league": league_id, "user": user_id},
    ).fetchone()
    if row is None:
        return None
    return Agreement(Visibility(row[0]), ReplayVisibility(row[1]), *row[2:])


@atomic_function
def record_consent(conn: Connection, league: League, user_id: UserId, digest: str) -> TermsSettings:
    """Records that a person agrees to a text, and returns its settings.

    The text is that of the current terms, or of wider ones. In a public league a person who is not
    yet a member becomes a competitor. Raises Conflict if the digest is of another text, or of
    narrower terms than the current ones. Raises NotFound if the person may not join.
    """
    share_league(conn, league.id)
    league = leagues.get_league(conn, league.id)
    members.refuse_blocked_person(conn, league.id, user_id)
    settings = SETTINGS_OF_DIGEST.get(digest)
    if settings is None or not is_covered_by(settings, settings_of_league(league)):
        raise Conflict("terms: this digest is not that of the league's terms or of wider terms")
    if agreement_of_member(conn, league.id, user_id) is None:
        if league.visibility is not Visibility.PUBLIC:
            raise NotFound.of("league")
        leagues.set_member_role(conn, league.id, user_id, LeagueRole.COMPETITOR)
    write_agreement(conn, league.id, user_id, settings)
    return settings


@atomic_function
def refuse_unagreed_settings(
    conn: Connection,
    league_id: LeagueId,
    visibility: Visibility | None = None,
    replays: ReplayVisibility | None = None,
    *,
    remote: bool = False,
) -> None:
    """Raises Conflict if people agreed to narrower terms than these settings need.

    Settings that are None stay as they are. ``remote`` means a season that takes remote agents. The
    function counts members, except hosts, who agreed to less. It also counts teams that entered
    without a member. They are assumed to have agreed to the settings at that time. Teams that the
    service made for itself do not count.

    The league stays locked for the caller's transaction, so nobody joins during the change.
    """
    league = leagues.lock_league(conn, league_id)
    now = settings_of_league(league)
    asked = TermsSettings(
        visibility or now.visibility, replays or now.replays, remote or now.remote
    )
    if is_covered_by(now, asked):
        return
    rows = conn.execute(
        """
        select agreed_visibility, agreed_replays, agreed_remote, count(*) from league_members
        where league_id = %(league)s and role <> 'host' and duty is null group by 1, 2, 3
        """,
        {"league": league_id},
    ).fetchall()
    people = sum(
        count
        for visibility_agreed, replays_agreed, agreed_remote, count in rows
        if not is_covered_by(
            TermsSettings(
                Visibility(visibility_agreed), ReplayVisibility(replays_agreed), agreed_remote
            ),
            asked,
        )
    )
    row = conn.execute(
        """
        select count(distinct e.team_id) from entries e join seasons s on s.id = e.season_id
        join teams t on t.id = e.team_id and t.created_by is not null
        where s.league_id = %(league)s and not e.is_anchor and not exists (
          select 1 from memberships p
          join league_members m on m.user_id = p.user_id and m.league_id = s.league_id
          where p.team_id = e.team_id
        )
        """,
        {"league": league_id},
    ).fetchone()
    assert row is not None
    teams: int = row[0]
    if people or teams:
        same_replays = now._replace(visibility=asked.visibility)
        widened = "replay_visibility" if is_covered_by(now, same_replays) else "visibility"
        raise Conflict(
            f"{who_must_agree(people, teams)} must first run: peck league consent {league.slug}"
            f" --visibility {asked.visibility} --replays {asked.replays}"
            f"{' --remote-agents' * asked.remote}",
            field="remote_agents" if remote else widened,
        )


def who_must_agree(people: int, teams: int) -> str:
    """Says who has not agreed to a setting, as the start of a sentence on what they must do."""
    parts = [
        f"{count} {noun if count == 1 else f'{noun}s'}{rest}"
        for count, noun, rest in (
            (people, "member", ""),
            (teams, "team", " whose people are not members"),
        )
        if count
    ]
    verb = "has" if people + teams == 1 else "have"
    sentence = f"{' and '.join(parts)} {verb} not agreed to this setting."
    if not teams:
        return f"{sentence} {'This member' if people == 1 else 'Each of them'}"
    return f"{sentence} {'Each of these members and one' if people else 'One'} person of each team"


def write_agreement(
    conn: Connection, league_id: LeagueId, user_id: UserId, settings: TermsSettings
) -> None:
    """Stores that a member agrees to the text of these settings now."""
    conn.execute(
        """
        update league_members
        set agreed_visibility = %(visibility)s, agreed_replays = %(replays)s,
          agreed_remote = %(remote)s, terms_digest = %(digest)s, agreed_at = now()
        where league_id = %(league)s and user_id = %(user)s
        """,
        {
            **settings._asdict(),
            "digest": terms_digest(settings),
            "league": league_id,
            "user": user_id,
        },
    )
    record_role_agreement(conn, league_id, user_id)


def record_role_agreement(conn: Connection, league_id: LeagueId, user_id: UserId) -> None:
    """Stores that a person agreed to terms that name the roles grader and commentator."""
    conn.execute(
        """
        insert into role_agreements (league_id, user_id) values (%(league)s, %(user)s)
        on conflict do nothing
        """,
        {"league": league_id, "user": user_id},
    )


def share_league(conn: Connection, league_id: LeagueId) -> None:
    """Locks a league for the caller's transaction, so its settings stay as they are."""
    conn.execute("select 1 from leagues where id = %s for share", (league_id,))
