"""Rules about membership in leagues and teams."""

from __future__ import annotations

from typing import Final

from ladder.privacy.rules.rule import Rule

RULES: Final = (
    Rule(
        "invitations",
        "Invitation codes that you made",
        "as long as the league",
        mine="x.created_by = %(user)s or x.league_id = any (%(leagues)s) or x.id in"
        " (select invitation_id from roster where user_id = %(user)s)",
        exported="x.created_by = %(user)s",
        erased={"label": "''"},
        secret=("hash",),
        impersonal="id league_id role created_by",
    ),
    Rule(
        "joinings",
        "The codes by which you joined leagues or signed up",
        "as long as the league",
        mine="x.user_id = %(user)s",
        impersonal="invitation_id user_id",
    ),
    Rule(
        "roster",
        "Your line in the roster of a course, which its host wrote",
        "as long as the league",
        mine="x.user_id = %(user)s or x.league_id = any (%(leagues)s)",
        deleted=True,
        words=("name", "external_id"),
    ),
    Rule(
        "role_agreements",
        "The leagues with terms by which graders and commentators see your agents",
        "as long as the account",
        mine="x.user_id = %(user)s",
        deleted=True,
    ),
    Rule(
        "former_staff",
        "The leagues of which you were grader or commentator",
        "as long as the league",
        mine="x.user_id = %(user)s",
        deleted=True,
    ),
    Rule(
        "join_requests",
        "Your requests to join leagues, and the answers",
        "as long as the league",
        mine="x.user_id = %(user)s",
        deleted=True,
    ),
    Rule(
        "join_requests",
        "Your answers to requests, as a host",
        "as long as the league",
        mine="x.answered_by = %(user)s",
        exported="",
        erased={"answer": "''"},
    ),
    Rule(
        "league_blocks",
        "Leagues whose hosts blocked you",
        "until a host ends the block",
        mine="x.user_id = %(user)s",
        deleted=True,
        secret=("reason",),
    ),
    Rule(
        "league_blocks",
        "Your reasons for blocking others, as a host",
        "until a host ends the block",
        mine="x.by_user = %(user)s",
        exported="",
        erased={"reason": "'removed with the account of its author'"},
    ),
    Rule(
        "team_invitations",
        "Invitations to teams: to you, and those that you made. Their codes are never stored",
        "as long as the team",
        mine="x.user_id = %(user)s or x.created_by = %(user)s or x.team_id = any (%(teams)s)",
        erased={"revoked_at": "coalesce(x.revoked_at, now())"},
        secret=("hash",),
        impersonal="id team_id user_id created_by",
    ),
    Rule(
        "team_joinings",
        "The invitations by which you joined teams",
        "as long as the team",
        mine="x.user_id = %(user)s",
        impersonal="invitation_id user_id",
    ),
    Rule(
        "season_competitors",
        "The team for which you compete in each season",
        "as long as the league",
        mine="x.user_id = %(user)s",
        impersonal="season_id user_id team_id",
    ),
    Rule(
        "team_merges",
        "Requests for merges of your teams",
        "as long as the team",
        mine="x.team_id = any (%(teams)s) or x.into_team_id = any (%(teams)s)",
        erased={
            "outcome": "coalesce(x.outcome, 'withdrawn')",
            "answered_at": "coalesce(x.answered_at, now())",
        },
        impersonal="id team_id into_team_id asked_by answered_by",
    ),
    Rule(
        "team_audits",
        "What you did with teams",
        "as long as the team",
        mine="x.by_user = %(user)s or x.team_id = any (%(teams)s)",
        erased={"details": "'{}'"},
        named=("details",),
        named_where="x.team_id = any (%(left)s)",
        impersonal="id team_id by_user act subject",
    ),
    Rule(
        "league_members",
        "The leagues that you joined, and the terms to which you agreed",
        "until you leave the league",
        mine="x.user_id = %(user)s",
        deleted=True,
    ),
    Rule(
        "memberships",
        "Your membership in teams",
        "until you leave the team",
        mine="x.user_id = %(user)s",
        deleted=True,
    ),
    Rule(
        "users",
        "Your account: name and date",
        "as long as the account",
        mine="x.id = %(user)s",
        erased={
            "name": "'Deleted user ' || right(x.id, 4)",
            "look_alike": "null",
            "is_admin": "false",
        },
        words=("name",),
        impersonal="id",
    ),
)
