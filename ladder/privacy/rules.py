"""Says of every table what it holds about a person, and what becomes of it when the account goes.

Export, erasing and the page ``/privacy`` follow ``RULES``. A test compares ``RULES`` with the
database: every column that can hold a text needs a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

AGENTS: Final = "select id from agents where team_id = any (%(teams)s)"
"""SQL: agents of the person's teams. Export: all teams; erasing: teams without other members."""
OWN_SEATS: Final = (
    f"agent_id in ({AGENTS} or team_id in ("  # noqa: S608
    "select merged_into from teams where id = any (%(teams)s))) and team_id = any (%(teams)s)"
)
"""SQL: seats in which these teams played. An agent that came by a merge keeps its old seats, which
belong to the team that it played for. The agents are named for the index."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of one table; a table may have several. Conditions are SQL about the row ``x``.

    They may use these values. ``user`` is the person's id. ``teams`` are the teams that end with
    the account, in an export all teams. ``left`` are the teams that other members keep. ``leagues``
    are the leagues that end with the account. ``near`` are all leagues that it took part in.
    """

    table: str
    about: str = ""
    """What the rows are, for the person. Empty: the table holds nothing about people."""
    stays: str = ""
    """How long the rows stay while the account lives, for the person."""
    mine: str = ""
    """Condition of the rows that belong to a person. Empty: none."""
    exported: str | None = None
    """Condition of the rows in the export, if it is not ``mine``. Empty: none."""
    deleted: bool = False
    """Whether the person's rows are deleted. All columns are then covered."""
    erased: Mapping[str, str] = field(default_factory=dict)
    """New values in the person's rows, as SQL, by column."""
    named: tuple[str, ...] = ()
    """Columns in rows of others in which the person's name is replaced."""
    named_where: str = "true"
    """Condition of these rows."""
    words: tuple[str, ...] = ()
    """Columns of the person's rows whose values name the person, as a mail address does."""
    secret: tuple[str, ...] = ()
    """Columns that no export holds: hashes and secrets."""
    impersonal: str = ""
    """Columns without personal data, with spaces between: ids, states, digests, our own texts."""
    is_large: bool = False
    """Whether the scheduler erases the rows later, because there may be very many."""

    @property
    def covered(self) -> frozenset[str]:
        """The columns that this rule covers by name."""
        return frozenset((*self.erased, *self.named, *self.secret, *self.impersonal.split()))

    @property
    def effect(self) -> str:
        """What a deletion does with the person's rows, for the person."""
        if self.deleted:
            return "deleted"
        if "name" in self.erased or "title" in self.erased:
            return "renamed to a pseudonym"
        return "texts and files deleted, results stay" if self.erased else "stays, without a name"


RULES: Final = (
    # -- the account ----------------------------------------------------------------------------
    Rule(
        "sessions",
        "Browsers in which you are signed in",
        "30 days after the end of the session",
        mine="x.user_id = %(user)s",
        deleted=True,
        secret=("hash",),
    ),
    Rule(
        "tokens",
        "Your tokens: label, scopes and dates. The text of a token is never stored",
        "as long as the account",
        mine="x.user_id = %(user)s",
        deleted=True,
        secret=("hash",),
    ),
    Rule(
        "passwords",
        "The hash of your password",
        "until you set another one",
        mine="x.user_id = %(user)s",
        deleted=True,
        secret=("hash",),
    ),
    Rule(
        "passkeys",
        "Your passkeys: their names, public keys and dates",
        "until you remove them",
        mine="x.user_id = %(user)s",
        deleted=True,
        secret=("credential_id", "public_key"),
    ),
    Rule(
        "sign_in_steps",
        "Sign-ins that you began",
        "10 minutes",
        mine="x.user_id = %(user)s or x.details->>'subject' in"
        " (select subject from identities where user_id = %(user)s)",
        exported="",
        deleted=True,
        secret=("hash", "browser"),
    ),
    Rule(
        "identities",
        "Your accounts elsewhere that sign you in here: issuer, your id and your name there",
        "until you unlink them",
        mine="x.user_id = %(user)s",
        deleted=True,
        words=("label", "subject"),
    ),
    Rule(
        "recovery_codes",
        "The hashes of your recovery codes",
        "until you make new ones",
        mine="x.user_id = %(user)s",
        deleted=True,
        secret=("hash",),
    ),
    Rule(
        "one_time_links",
        "Links that were mailed to you or made for you",
        "7 days",
        mine="x.user_id = %(user)s or lower(x.address) in"
        " (select lower(address) from mail_addresses where user_id = %(user)s)",
        deleted=True,
        secret=("hash",),
        words=("address",),
    ),
    Rule(
        "mail_addresses",
        "Your mail address",
        "until you remove it",
        mine="x.user_id = %(user)s",
        deleted=True,
        words=("address",),
    ),
    Rule(
        "expected_people",
        "The line of the administrator's list by which you signed up",
        "until the administrator removes it",
        mine="x.user_id = %(user)s",
        deleted=True,
        secret=("hash",),
        words=("name", "address"),
    ),
    Rule(
        "device_logins",
        "Devices that you signed in with peck login",
        "1 day",
        mine="x.user_id = %(user)s",
        deleted=True,
        secret=("hash", "code"),
    ),
    Rule(
        "user_blocks",
        "Why an administrator blocked your account",
        "until an administrator ends the block",
        mine="x.user_id = %(user)s",
        deleted=True,
    ),
    Rule(
        "user_blocks",
        "Your reasons for blocking accounts, as an administrator",
        "until an administrator ends the block",
        mine="x.by_user = %(user)s",
        exported="",
        erased={"reason": "'removed with the account of its author'"},
    ),
    Rule("instance_settings", impersonal="name value changed_by"),
    Rule(
        "idempotency_keys",
        "Answers to your requests, so that a repeated request acts once",
        "24 hours",
        mine="x.user_id = %(user)s",
        exported="",
        deleted=True,
        named=("body",),
        impersonal="user_id key request_digest",
    ),
    Rule(
        "notice_deliveries",
        "Notices on their way to you, and the answers of your webhooks",
        "30 days",
        mine="x.channel_id in (select id from notice_channels where user_id = %(user)s)",
        deleted=True,
    ),
    Rule(
        "notices",
        "Notices for you",
        "90 days",
        mine="x.user_id = %(user)s",
        deleted=True,
    ),
    Rule(
        "notice_channels",
        "Addresses to which your notices go",
        "until you remove them",
        mine="x.user_id = %(user)s",
        deleted=True,
        words=("address",),
        secret=("secret",),
    ),
    Rule(
        "notice_preferences",
        "Which notices you want",
        "as long as the account",
        mine="x.user_id = %(user)s",
        deleted=True,
    ),
    Rule(
        "notice_feeds",
        "Your private feeds. Their addresses are never stored",
        "until you remove them",
        mine="x.user_id = %(user)s",
        deleted=True,
        secret=("hash",),
    ),
    # -- membership -----------------------------------------------------------------------------
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
        "The codes by which you joined leagues",
        "as long as the league",
        mine="x.user_id = %(user)s",
        impersonal="invitation_id user_id",
    ),
    Rule(
        "code_accounts",
        "The code by which you signed up",
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
        "staff_agreements",
        "The graders and commentators to whom you agreed",
        "as long as the role",
        mine="x.user_id = %(user)s or x.staff_id = %(user)s",
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
    # -- what a person made ---------------------------------------------------------------------
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
            "open_for_scrims": "false",
        },
        named=("name", "slug"),
        named_where="x.team_id = any (%(left)s)",
        impersonal="id team_id machine_tier",
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
        " validation_match_id totals last_match_id disqualified_from",
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
    # -- tournaments ----------------------------------------------------------------------------
    Rule(
        "tournaments",
        "Tournaments that you made as a host: titles and descriptions",
        "as long as the league",
        mine="x.created_by = %(user)s",
        erased={"title": "'Tournament ' || right(x.id, 4)", "description": "''"},
        named=("title", "description", "end_reason"),
        named_where="x.league_id = any (%(near)s)",
        impersonal="id league_id season_id plan state entry_rule embargo draw_digest published"
        " position problem created_by",
        secret=("draw_seed",),
    ),
    Rule(
        "tournament_entrants",
        "Tournaments that your agents entered",
        "as long as the league",
        mine="x.team_id = any (%(teams)s)",
        named=("reason",),
        named_where="x.tournament_id in (select id from tournaments"
        " where league_id = any (%(near)s))",
        impersonal="tournament_id agent_id team_id state entry_id submission_id profile"
        " last_position told_pairing told_result",
    ),
    Rule(
        "tournament_acts",
        "What you did in tournaments, and your reasons",
        "as long as the league",
        mine="x.by_user = %(user)s",
        erased={"details": "'{}'"},
        impersonal="tournament_id act agent_id by_user",
    ),
    Rule("tournament_rounds", impersonal="tournament_id position"),
    Rule(
        "tournament_shows",
        "Pages for screens that you made of tournaments. Their addresses are never stored",
        "until their addresses end",
        mine="x.created_by = %(user)s",
        deleted=True,
        secret=("hash",),
        impersonal="id tournament_id created_by",
    ),
    Rule("tournament_games", impersonal="match_id tournament_id pairing entrants embargo outcome"),
    # -- matches --------------------------------------------------------------------------------
    Rule(
        "seats",
        "Results of your agents; the reasons of their faults; their logs",
        "as long as the league",
        mine=OWN_SEATS,
        exported=f"{OWN_SEATS} and not exists (select 1 from matches m join scrims c"  # noqa: S608
        " on c.id = m.scrim_id where m.id = x.match_id and c.result_audience = 'asker'"
        " and c.team_id <> all (%(teams)s))"
        " and not exists (select 1 from tournament_games g where g.match_id = x.match_id"
        " and g.embargo = 'hidden')",
        erased={"reason": "null", "log_digest": "null"},
        impersonal="match_id entry_id submission_id agent_id team_id profile verdict statistics",
        is_large=True,
    ),
    Rule("meetings", impersonal="match_id pair"),
    Rule(
        "attempts",
        "Our messages about attempts that failed in matches of your agents",
        "as long as the league",
        mine=f"x.detail <> '' and x.match_id in (select match_id from seats"  # noqa: S608
        f" where {OWN_SEATS})",
        exported="",
        erased={"detail": "''"},
        impersonal="match_id worker machine_id node image_digest rules_digest ended fault",
        is_large=True,
    ),
    Rule(
        "matches",
        "Matches of your agents",
        "as long as the league",
        mine=f"x.void_reason like '%%; %%' and x.id in (select match_id from seats"  # noqa: S608
        f" where {OWN_SEATS})",
        exported="",
        erased={"void_reason": "split_part(x.void_reason, '; ', 1)"},
        impersonal="id kind season_id scrim_id rejudges state queue profiles speed_class"
        " refused_worker worker machine_id node woken_on",
        secret=("seed",),
        is_large=True,
    ),
    Rule(
        "pictures",
        "Pictures of your agents, their matches and leagues, with names",
        "as long as people ask for them",
        mine="split_part(x.subject, '/', 2) = any (%(leagues)s)"  # noqa: S608
        f" or string_to_array(split_part(x.subject, '/', 2), '+') && array ({AGENTS})"
        f" or split_part(x.subject, '/', 2) in ({AGENTS} union select match_id from seats"
        f" where agent_id in ({AGENTS}) or {OWN_SEATS} union select s.league_id from entries e"
        " join seasons s on s.id = e.season_id where e.team_id = any (%(teams)s))",
        exported="",
        deleted=True,
        is_large=True,
    ),
    # -- nothing about people -------------------------------------------------------------------
    Rule("episodes", impersonal="id match_id replay_digest"),
    Rule(
        "seasons",
        impersonal="id league_id state game configuration configuration_digest clock"
        " profile_images speed_class fault_rule measures medals",
        secret=("secret",),
    ),
    Rule("notice_kinds", impersonal="kind audience gathers_in default_forms"),
    Rule(
        "notice_events",
        impersonal="id kind league_id season_id team_id agent_id entry_id match_id scrim_id"
        " user_id details",
    ),
    Rule("medal_notices", impersonal="season_id team_id medal status"),
    Rule("roster_teams", impersonal="league_id name_digest team_id"),
    Rule("match_interest", impersonal="match_id season_id league_id"),
    Rule("pinned_matches", impersonal="league_id match_id pinned_by"),
    Rule("extensions", impersonal="season_id team_id"),
    Rule("daily_uploads", impersonal="season_id team_id"),
    Rule("round_matches", impersonal="match_id season_id entry_id"),
    Rule("acceptances", impersonal="season_id match_id entry_id act"),
    Rule("ratings", impersonal="season_id entry_id match_id"),
    Rule("reratings", impersonal="season_id ratings"),
    Rule("standings", impersonal="season_id digest content suspects"),
    Rule("sealed_medals", impersonal="season_id team_id medal"),
    Rule("unsealed_medals", impersonal="season_id team_id audit_id"),
    Rule("exclusions", impersonal="season_id subject"),
    Rule("shared_places", impersonal="place season_id team_id"),
    Rule("rejudged", impersonal="rejudgement_id match_id by_match_id refusal"),
    Rule(
        "workers",
        impersonal="id machine_id host node queues profiles speed_class lacks image_digests",
    ),
    Rule(
        "machine_reports",
        "Results of your agents that wait for a check",
        "some minutes",
        mine=f"x.match_id in (select match_id from seats where {OWN_SEATS})",  # noqa: S608
        exported="",
        deleted=True,
    ),
    Rule("machine_controls", impersonal="id season_id first_match_id second_match_id"),
    Rule("machine_samples", impersonal="match_id control_id machine_id"),
    Rule("machine_mismatches", impersonal="match_id machine_id reason"),
    Rule("machine_uploads", impersonal="machine_id match_id digest"),
    Rule(
        "machines",
        "The machines that are yours or joined with your codes: their names and dates",
        "as long as the service",
        mine="x.owner_id = %(user)s or x.invitation_id in"
        " (select id from machine_invitations where created_by = %(user)s)",
        erased={"name": "'machine-' || right(x.id, 10)"},
        secret=("secret_hash",),
        impersonal="id login invitation_id tier owner_id quarantine_reason",
    ),
    Rule(
        "machine_invitations",
        "The codes that you made for machines, or that others made for yours. Their texts are never"
        " stored",
        "as long as the service",
        mine="x.created_by = %(user)s or x.owner_id = %(user)s",
        secret=("code_hash",),
        impersonal="id created_by tier owner_id",
    ),
    Rule("migrations", impersonal="name checksum"),
    Rule("function_files", impersonal="name checksum defines"),
    Rule("erasures", impersonal="user_id team_ids league_ids"),
    Rule("erased_blobs", impersonal="digest"),
)
"""In the order of erasing: a rule may read the rows of the rules below it."""
