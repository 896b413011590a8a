"""Rules of tables without personal data, and of machines."""

from __future__ import annotations

from typing import Final

from ladder.privacy.rules.rule import OWN_SEATS, Rule

RULES: Final = (
    Rule("episodes", impersonal="id match_id replay_digest"),
    Rule(
        "seasons",
        impersonal="id league_id state game configuration configuration_digest clock"
        " profile_images speed_class fault_rule measures medals",
        secret=("secret",),
    ),
    Rule("notice_kinds", impersonal="kind topic audience gathers_in default_forms"),
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
    Rule("standings", impersonal="season_id digest content suspects medals"),
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
        mine=f"x.match_id in (select match_id from seats where {OWN_SEATS})",
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
    Rule("erasures", impersonal="user_id team_ids league_ids"),
    Rule("erased_blobs", impersonal="digest"),
)
