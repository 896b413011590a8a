"""Rules about what a person made: leagues, agents, submissions, scrims and teams."""

from __future__ import annotations

from typing import Final

from ladder.privacy.rules.rule import AGENTS, Rule

RULES: Final = (
    Rule(
        "leagues",
        "Leagues that you host: title and description",
        "as long as the league",
        mine="x.id = any (%(leagues)s)",
        exported="x.id in (select league_id from league_members where user_id = %(user)s"
        " and (role = 'host' or x.created_by = %(user)s))",
        erased={
            "slug": "'deleted-' || right(x.id, 10)",
            "title": "'Deleted league ' || right(x.id, 4)",
            "description": "''",
            "visibility": "'private'",
            "state": "'closed'",
        },
        named=("title", "description", "slug"),
        named_where="x.created_by = %(user)s",
        impersonal="id game visibility replay_visibility state created_by",
    ),
    Rule(
        "agents",
        "Your agents: names and settings",
        "as long as the team",
        mine="x.team_id = any (%(teams)s)",
        erased={
            "slug": "'deleted-' || right(x.id, 10)",
            "name": "'Deleted agent ' || right(x.id, 4)",
        },
        named=("name", "slug"),
        named_where="x.team_id = any (%(left)s)",
        impersonal="id team_id machines",
    ),
    Rule(
        "submissions",
        "Your uploads: the bundles, file names, messages and addresses of remote agents",
        "as long as the team",
        mine=f"x.agent_id in ({AGENTS}) or x.created_by = %(user)s",
        erased={
            "filename": "'deleted'",
            "message": "''",
            "url": f"case when x.agent_id not in ({AGENTS}) then x.url end",
        },
        named=("message", "filename"),
        named_where="x.agent_id in (select id from agents where team_id = any (%(left)s))",
        impersonal="id agent_id digest created_by",
    ),
    Rule(
        "entries",
        "Your entries in seasons, with the reasons of failures",
        "as long as the league",
        mine="x.team_id = any (%(teams)s)",
        erased={"reason": "case when x.reason is not null then 'its owner deleted it' end"},
        impersonal="id season_id agent_id team_id submission_id parent_entry_id profile state"
        " validation_match_id totals last_match_id disqualified_from pause_cause",
    ),
    Rule(
        "pauses",
        "Times when your remote agents did not answer",
        "as long as the league",
        mine="x.entry_id in (select id from entries where team_id = any (%(teams)s))",
        erased={"reason": "''"},
        impersonal="entry_id validation_match_id outcome",
    ),
    Rule(
        "declared_entries",
        "The entries that your teams declared",
        "as long as the league",
        mine="x.team_id = any (%(teams)s)",
        impersonal="season_id team_id entry_id declared_by",
    ),
    Rule(
        "scrims",
        "The scrims that your teams requested",
        "as long as the team",
        mine="x.team_id = any (%(teams)s)",
        impersonal="id season_id team_id side_team_ids requested_by lineup state result_audience"
        " replay_audience log_audience batch_id comparison_id",
    ),
    Rule(
        "comparisons",
        "The comparisons of versions that your teams requested",
        "as long as the team",
        mine="x.team_id = any (%(teams)s)",
        impersonal="id season_id team_id requested_by old_submission_id new_submission_id"
        " opponents state verdict ended_by",
        secret=("seed",),
    ),
    Rule(
        "comparison_pairs",
        "The pairs of games of these comparisons",
        "as long as the team",
        mine="x.comparison_id in (select id from comparisons where team_id = any (%(teams)s))",
        impersonal="comparison_id old_match_id new_match_id",
    ),
    Rule(
        "scrim_requests",
        "The scrims that you asked other teams for, and your answers: also the words",
        "as long as the team",
        mine="x.requested_by = %(user)s or x.answered_by = %(user)s"
        " or x.team_id = any (%(teams)s) or x.asked_team_id = any (%(teams)s)",
        erased={
            "words": "case when x.requested_by = %(user)s or x.team_id = any (%(teams)s)"
            " then '' else x.words end",
            "answer": "case when x.answered_by = %(user)s or x.asked_team_id = any (%(teams)s)"
            " then '' else x.answer end",
        },
        named=("words", "answer"),
        named_where="x.team_id = any (%(left)s) or x.asked_team_id = any (%(left)s)",
        impersonal="id season_id team_id asked_team_id requested_by wanted seeds result_audience"
        " replay_audience log_audience state answered_by scrim_id",
    ),
    Rule(
        "scrim_batches",
        "The batches of scrims that your teams requested",
        "as long as the team",
        mine="x.team_id = any (%(teams)s)",
        impersonal="id season_id team_id requested_by kind",
    ),
    Rule(
        "scrim_policies",
        "Whom your agents play in scrims",
        "as long as the team",
        mine=f"x.agent_id in ({AGENTS})",
        erased={"whom": "'nobody'", "team_ids": "'{}'", "blocked_team_ids": "'{}'"},
        impersonal="agent_id whom team_ids blocked_team_ids",
    ),
    Rule(
        "forks",
        "The matches that your teams forked, and the moves that you gave by hand",
        "as long as the team",
        mine="x.scrim_id in (select id from scrims where team_id = any (%(teams)s))",
        erased={"moves": "'{}'"},
        impersonal="scrim_id match_id draws",
    ),
    Rule(
        "teams",
        "Your teams: names",
        "as long as the team",
        mine="x.id = any (%(teams)s)",
        erased={
            "slug": "'deleted-' || right(x.id, 10)",
            "name": "'Deleted team ' || right(x.id, 4)",
            "look_alike": "null",
            "erased_at": "coalesce(x.erased_at, now())",
            "ended_at": "coalesce(x.ended_at, now())",
        },
        named=("name", "slug"),
        named_where="x.id = any (%(left)s)",
        words=("name", "slug"),
        impersonal="id created_by merged_into",
    ),
    Rule(
        "teams",
        "The keys by which names of your teams are compared with others",
        "as long as the team",
        mine="x.id = any (%(left)s)",
        exported="",
        erased={"look_alike": "null"},
    ),
    Rule(
        "audits",
        "What you did as a host, and your reasons",
        "as long as the league",
        mine="x.by_user = %(user)s",
        erased={"reason": "'removed with the account of its author'"},
        named=("reason", "details"),
        named_where="x.league_id = any (%(near)s) or x.subject = %(user)s",
        impersonal="id league_id season_id by_user act subject",
    ),
    Rule(
        "rejudgements",
        "Matches that you had judged again as a host, and your reasons",
        "as long as the league",
        mine="x.by_user = %(user)s",
        erased={"reason": "'removed with the account of its author'"},
        named=("reason",),
        named_where="x.season_id in (select id from seasons where league_id = any (%(near)s))",
        impersonal="id season_id predicate by_user outcome",
    ),
)
