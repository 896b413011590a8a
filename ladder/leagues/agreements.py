"""Records what members agreed to, and refuses league settings that would show more than that.

A membership stores the digest of the terms (``ladder.leagues.terms``) and the settings in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ladder.database.db import Connection, atomic_function
from ladder.enums import LeagueRole, ReplayVisibility, Visibility
from ladder.errors import Conflict, NotFound
from ladder.ids import LeagueId, UserId
from ladder.leagues import league_blocks, leagues, staff, terms
from ladder.leagues.records import League


@dataclass(frozen=True, slots=True)
class Agreement:
    """Terms that a member agreed to. If a host added the member, digest and moment are None."""

    visibility: Visibility
    replays: ReplayVisibility
    terms_digest: str | None
    at: datetime | None


def agreement_of_member(conn: Connection, league_id: LeagueId, user_id: UserId) -> Agreement | None:
    """Returns what this member agreed to; None for a person who is not a member."""
    row = conn.execute(
        "select agreed_visibility, agreed_replays, terms_digest, agreed_at from league_members"
        " where league_id = %s and user_id = %s",
        (league_id, user_id),
    ).fetchone()
    if row is None:
        return None
    return Agreement(Visibility(row[0]), ReplayVisibility(row[1]), row[2], row[3])


@atomic_function
def record_consent(conn: Connection, league: League, user_id: UserId, terms_digest: str) -> None:
    """Records that a person agrees to a text: the current terms, or wider ones.

    The person agrees to the graders and commentators that the text names.

    In a public league a person who is not yet a member becomes a competitor. Raises Conflict if the
    digest is of narrower terms than the current ones. Raises NotFound if the person may not join.
    """
    lock_league(conn, league.id)
    league = leagues.get_league(conn, league.id)
    league_blocks.refuse_blocked_person(conn, league.id, user_id)
    told = terms.settings_with_digest(terms_digest, staff.staff_names(conn, league.id))
    if told is None or not terms.is_covered_by(told, terms.settings_of_league(league)):
        raise Conflict("terms: this digest is not that of the league's terms or of wider terms")
    if agreement_of_member(conn, league.id, user_id) is None:
        if league.visibility is not Visibility.PUBLIC:
            raise NotFound.of("league")
        leagues.set_member_role(conn, league.id, user_id, LeagueRole.COMPETITOR)
    write_agreement(conn, league, user_id, terms_digest, told)


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
    conn.execute("select 1 from leagues where id = %s for update", (league_id,))
    league = leagues.get_league(conn, league_id)
    now = terms.settings_of_league(league)
    wished = terms.TermsSettings(
        visibility or now.visibility, replays or now.replays, remote or now.remote
    )
    if terms.is_covered_by(now, wished):
        return
    kept = conn.execute(
        "select agreed_visibility, agreed_replays, agreed_remote, count(*) from league_members"
        " where league_id = %s and role <> 'host' and duty is null group by 1, 2, 3",
        (league_id,),
    ).fetchall()
    people = sum(
        count
        for seen, shown, told, count in kept
        if not terms.is_covered_by(
            terms.TermsSettings(Visibility(seen), ReplayVisibility(shown), told), wished
        )
    )
    row = conn.execute(
        "select count(distinct e.team_id) from entries e join seasons s on s.id = e.season_id"
        " join teams t on t.id = e.team_id and t.created_by is not null"
        " where s.league_id = %s and not e.is_anchor and not exists (select 1 from memberships p"
        "   join league_members m on m.user_id = p.user_id and m.league_id = s.league_id"
        "   where p.team_id = e.team_id)",
        (league_id,),
    ).fetchone()
    assert row is not None
    teams: int = row[0]
    if people or teams:
        same_replays = now._replace(visibility=wished.visibility)
        widened = "replay_visibility" if terms.is_covered_by(now, same_replays) else "visibility"
        raise Conflict(
            f"{who_must_agree(people, teams)} must first run: peck league consent {league.slug}"
            f" --visibility {wished.visibility} --replays {wished.replays}"
            f"{' --remote-agents' * wished.remote}",
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
    told = f"{' and '.join(parts)} {verb} not agreed to this setting."
    if not teams:
        return f"{told} {'This member' if people == 1 else 'Each of them'}"
    return f"{told} {'Each of these members and one' if people else 'One'} person of each team"


def write_agreement(
    conn: Connection,
    league: League,
    user_id: UserId,
    terms_digest: str,
    told: terms.TermsSettings,
) -> None:
    """Stores the text that a member agreed to, with its settings, graders and commentators."""
    conn.execute(
        "update league_members set agreed_visibility = %s, agreed_replays = %s,"
        " agreed_remote = %s, terms_digest = %s, agreed_at = now()"
        " where league_id = %s and user_id = %s",
        (*told, terms_digest, league.id, user_id),
    )
    staff.record_staff_agreement(conn, league.id, user_id, staff.list_staff(conn, league.id))


def lock_league(conn: Connection, league_id: LeagueId) -> None:
    """Locks a league for the caller's transaction, so its settings stay as they are."""
    conn.execute("select 1 from leagues where id = %s for share", (league_id,))
