"""Commands that `peck api` or another command has replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

REPLACED: Final = """
account delete: delete-account; account export: export-account; admin audits: list-system-audits;
admin quota: change-instance-settings; admin recovery-link: create-recovery-link;
admin revoke: revoke-token; admin settings: read-instance-settings; admin sign-out:
revoke-all-sessions; admin sign-up: change-instance-settings; admin user: read-user;
admin expect: peck league import; admin expected: peck league roster;
agent machines: change-agent; agent open: set-scrim-policy;
audits: list-audits; compare: read-head-to-head; declare: declare-entry; disqualify: disqualify;
league answer: answer-join-requests; league ask: request-to-join; league asked: list-own-requests;

league block: block-from-league; league blocks: list-league-blocks;
league extensions: list-extensions; league invitations: list-invitations;
league live-delay: change-league; league participants: export-participants;
league requests: list-join-requests; league revoke: revoke-invitation;
league take-requests: change-league; league terms: read-terms; league unblock: unblock-from-league;
league withdraw: withdraw-join-request;
league edit: peck league set; league pause: peck league set LEAGUE state=paused;
league resume: peck league set LEAGUE state=open; league end: peck season end;

league new-season: peck season create;
machine invitations: list-machine-invitations; machine show: read-machine;
machine trust: trust-machine; notices add: create-channel; notices channels: list-channels;
notices choose: change-preferences; notices deliveries: list-deliveries; notices feed: create-feed;
notices feeds: list-feeds; notices list: list-notices; notices remove: delete-channel;
notices requests: list-own-open-requests; notices revoke: revoke-feed;
notices switch: switch-channel; notices test: send-test; profiles: list-profiles;
reinstate: reinstate; rejudge: create-rejudgement; rejudgement: read-rejudgement;

resume: resume-entry; scrims accept: accept-scrim-request; scrims ask: ask-for-scrim;
scrims batch: read-batch; scrims batches: list-batches; scrims cancel: cancel-scrim;
scrims decline: decline-scrim-request; scrims gauntlet: start-batch;
scrims inbox: list-scrim-requests; scrims opponents: list-scrim-opponents;
scrims outbox: list-scrim-requests; scrims policy: set-scrim-policy;
scrims show: read-scrim-request; scrims versions: start-batch;
scrims withdraw: withdraw-scrim-request; seals: list-sealed-medals; search: search;
separate: separate; share-place: share-place; suspects: list-suspects;

team accept: accept-team-invitation; team accept-merge: accept-merge; team acts: list-team-acts;
team decline: decline-team-invitation; team dissolve: dissolve-team; team end-merge: end-merge;
team hand-over: hand-over-team; team invitations: list-team-invitations;
team leave: remove-team-member; team merge: ask-for-merge; team merges: list-merges;
team remove: remove-team-member; team rename: rename-team; team revoke: revoke-team-invitation;
token list: list-tokens; token mint: mint-token; token revoke: revoke-token;
tokens: list-tokens; status: peck entries; tournament cancel: act-on-tournament;
tournament decide: decide-tournament-rejudgement; tournament disqualify: disqualify-entrant;

tournament export: export-tournament; tournament open: act-on-tournament;
tournament rejudge: rejudge-tournament-games; tournament rejudgements: list-tournament-rejudgements
"""
REPLACEMENTS: Final = {
    " ".join(command.split()): " ".join(replacement.split())
    for command, replacement in (part.split(":") for part in REPLACED.split(";"))
}
"""What replaces a command: an operation of `peck api`, or a command."""


def replacement_of(arguments: Sequence[str]) -> str | None:
    """What to type in place of a removed command, if these arguments begin with one."""
    words = (" ".join(arguments[:count]) for count in (2, 1))
    found = next((REPLACEMENTS[word] for word in words if word in REPLACEMENTS), None)
    return found if found is None or found.startswith("peck ") else f"peck api {found}"
