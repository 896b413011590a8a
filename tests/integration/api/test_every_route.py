"""Requests every route as every person, in a public and in a private league.

Replays are private to the teams in both leagues. A route that is missing from the table fails the
test. A new row names the statuses of five people; the statuses of the other people follow from
these (``statuses``), except those in EXCEPTIONS.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from egress.address import parse
from ladder.database.db import Connection
from ladder.entries import agents, team_merges
from ladder.enums import LogAudience, ScrimAudience
from ladder.ids import AgentId, LeagueId, SeasonId, TeamId, UserId, new_id
from ladder.leagues import invitations, seasons
from ladder.machines import invitations as machine_invitations
from ladder.notices import channels, feeds, inbox
from ladder.notices.kinds import Form
from ladder.people import sessions, team_invitations, users
from ladder.people.permissions import ScrimPrivacy
from ladder.people.records import Viewer
from ladder.scrims import requests as scrim_requests
from ladder.scrims.request_records import NewScrimRequest
from ladder.tournaments import advance, course_acts, courses, entrants, locking, tournaments
from ladder.tournaments.request_models import NewTournament
from services.api_client import ApiError
from tests.integration.api.world import (
    GOOD,
    SCOPES,
    World,
    begin_rated,
    comparison_of_member,
    finish,
    fork_rated,
    insert_machine,
    older_submission,
    play_rated,
)
from workers.storage_waits import NO_BLOB

FIVE = ("stranger", "rival", "member", "host", "admin")
PEOPLE = (*FIVE, "cohost", "grader", "commentator", "revoked", "blocked")
WITHOUT_TOKEN = (
    "/v1/sign-up",
    "/v1/device-logins",
    "/v1/device-logins/token",
    "/v1/machines/join",
    "/v1/games",
    "/v1/profiles",
    "/health/live",
    "/health/ready",
)
"""Routes that read no token, so they answer everybody alike."""
OF_NO_LEAGUE = {
    *("n", "user", "token", "session", "spare_user", "expected"),
    *("notice", "feed", "channel", "machine", "machine_invitation"),
    *("own_invitation", "merge", "other_merge", "spare_team"),
}
"""Words with the same meaning in both walks."""
JSON = dict[str, Any]

# Method, path, body, then the status for stranger, rival, member, host and admin in a public
# league. The last column gives the statuses in a private league if they differ. {words} are ids of
# the world, and {n} is fresh.
WALK: list[tuple[str, str, JSON | None, str, str]] = [
    ("GET", "/v1/me", None, "401 200 200 200 200", ""),
    ("GET", "/v1/me/feed", None, "401 200 200 200 200", ""),
    ("GET", "/v1/me/notices", None, "401 200 200 200 200", ""),
    ("POST", "/v1/me/notices/read", {"until": "{notice}"}, "401 404 200 404 404", ""),
    ("GET", "/v1/me/notices/preferences", None, "401 200 200 200 200", ""),
    (
        "PATCH",
        "/v1/me/notices/preferences",
        {"choices": [{"kind": "medal_likely", "form": "page", "is_on": False}]},
        "401 200 200 200 200",
        "",
    ),
    ("GET", "/v1/me/notices/feeds", None, "401 200 200 200 200", ""),
    (
        "POST",
        "/v1/me/notices/feeds",
        {"league": "{league}"},
        "401 201 201 201 201",
        "401 404 201 201 201",
    ),
    ("DELETE", "/v1/me/notices/feeds/{feed}", None, "401 404 204 404 404", ""),
    ("GET", "/v1/me/notices/channels", None, "401 200 200 200 200", ""),
    (
        "POST",
        "/v1/me/notices/channels",
        {"address": "http://1.1.1.1/{n}"},
        "401 201 201 201 201",
        "",
    ),
    (
        "PATCH",
        "/v1/me/notices/channels/{channel}",
        {"state": "on"},
        "401 404 200 404 404",
        "",
    ),
    ("POST", "/v1/me/notices/channels/{channel}/tests", None, "401 404 201 404 404", ""),
    ("GET", "/v1/me/notices/channels/{channel}/deliveries", None, "401 404 200 404 404", ""),
    ("DELETE", "/v1/me/notices/channels/{channel}", None, "401 404 204 404 404", ""),
    ("POST", "/v1/users", {"name": "new {n}"}, "401 403 403 403 201", ""),
    ("GET", "/v1/users", None, "401 403 403 403 200", ""),
    ("GET", "/v1/users/{user}", None, "401 404 200 404 200", ""),
    (
        "POST",
        "/v1/users/{user}/tokens",
        {"label": "x", "scopes": ["read"]},
        "401 404 201 404 201",
        "",
    ),
    ("GET", "/v1/users/{user}/tokens", None, "401 404 200 404 200", ""),
    ("DELETE", "/v1/users/{user}/tokens/{token}", None, "401 404 200 404 200", ""),
    ("DELETE", "/v1/users/{team_owner}/password", None, "401 403 403 403 204", ""),
    ("GET", "/v1/users/me/export", None, "401 200 200 200 200", ""),
    ("GET", "/v1/users/me/deletion", None, "401 200 200 200 200", ""),
    ("POST", "/v1/users/me/deletion", {"name": "not {n}"}, "401 422 422 422 422", ""),
    ("DELETE", "/v1/users/{spare_user}", None, "401 403 403 403 202", ""),
    (
        "POST",
        "/v1/users/{team_owner}/recovery-link",
        {"reason": "lost"},
        "401 403 403 403 201",
        "",
    ),
    (
        "POST",
        "/v1/expected-people",
        {"csv": "name,address\nexpected {n},\n"},
        "401 403 403 403 201",
        "",
    ),
    ("GET", "/v1/expected-people", None, "401 403 403 403 200", ""),
    ("DELETE", "/v1/expected-people/{expected}", None, "401 403 403 403 204", ""),
    ("GET", "/v1/users/{user}/teams", None, "401 404 200 404 200", ""),
    ("GET", "/v1/users/{user}/sessions", None, "401 404 200 404 200", ""),
    ("DELETE", "/v1/users/{user}/sessions/{session}", None, "401 404 204 404 204", ""),
    ("DELETE", "/v1/users/{user}/sessions", None, "401 404 204 404 204", ""),
    ("PUT", "/v1/users/{outsider}/block", {"reason": "a walk"}, "401 403 403 403 204", ""),
    ("DELETE", "/v1/users/{outsider}/block", None, "401 403 403 403 204", ""),
    ("GET", "/v1/admin/settings", None, "401 403 403 403 200", ""),
    ("PATCH", "/v1/admin/settings", {"quotas": {"requests": 30}}, "401 403 403 403 200", ""),
    ("GET", "/v1/admin/audits", None, "401 403 403 403 200", ""),
    ("POST", "/v1/machines/invitations", None, "401 403 403 403 201", ""),
    ("GET", "/v1/machines/invitations", None, "401 403 403 403 200", ""),
    (
        "DELETE",
        "/v1/machines/invitations/{machine_invitation}",
        None,
        "401 403 403 403 204",
        "",
    ),
    (  # this site has no addresses for machines
        "POST",
        "/v1/machines/join",
        {"code": "x", "name": "pond"},
        "409 409 409 409 409",
        "",
    ),
    ("GET", "/v1/machines", None, "401 403 403 403 200", ""),
    ("GET", "/v1/machines/{machine}", None, "401 403 403 403 200", ""),
    ("PUT", "/v1/machines/{machine}/drain", None, "401 403 403 403 200", ""),
    ("PUT", "/v1/machines/{machine}/trust", {"tier": "member"}, "401 403 403 403 200", ""),
    ("DELETE", "/v1/machines/{machine}/drain", None, "401 403 403 403 200", ""),
    ("DELETE", "/v1/machines/{machine}", None, "401 403 403 403 200", ""),
    # Machines alone use these two; test_machines.py does.
    ("GET", f"/v1/machine/blobs/{NO_BLOB}", None, "401 401 401 401 401", ""),
    ("PUT", f"/v1/machine/blobs/{NO_BLOB}", {"bytes": "{n}"}, "401 401 401 401 401", ""),
    (
        "POST",
        "/v1/sign-up",
        {"name": "walker {n}", "password": "three geese on a torus"},
        "201 201 201 201 201",
        "",
    ),
    ("POST", "/v1/device-logins", {"device": "laptop"}, "201 201 201 201 201", ""),
    ("POST", "/v1/device-logins/token", {"secret": "x"}, "200 200 200 200 200", ""),
    ("GET", "/v1/teams/{team}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "POST",
        "/v1/teams/{team}/members",
        {"user": "{team_owner}", "is_owner": True},
        "401 403 403 403 204",
        "",
    ),
    (
        "PATCH",
        "/v1/teams/{team}",
        {"name": "Walk {n}"},
        "401 403 200 403 200",
        "401 404 403 403 200",
    ),
    ("GET", "/v1/teams/{team}/members", None, "401 403 200 200 200", "401 404 403 200 200"),
    ("GET", "/v1/teams/{team}/opponents", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/teams/{team}/acts", None, "401 403 200 403 200", "401 404 403 403 200"),
    (
        "DELETE",
        "/v1/teams/{team}/members/{team_owner}",  # the last member
        None,
        "401 403 409 403 409",
        "401 404 403 403 409",
    ),
    (
        "PUT",
        "/v1/teams/{team}/owner",
        {"user": "{team_owner}"},
        "401 403 200 403 200",
        "401 404 403 403 200",
    ),
    ("POST", "/v1/teams/{team}/invitations", {}, "401 403 201 403 201", "401 404 403 403 201"),
    ("GET", "/v1/teams/{team}/invitations", None, "401 403 200 403 200", "401 404 403 403 200"),
    (
        "DELETE",
        "/v1/teams/{team}/invitations/{team_invitation}",
        None,
        "401 403 200 403 200",
        "401 404 403 403 200",
    ),
    ("POST", "/v1/join-team/invitation", {"code": "{team_code}"}, "401 409 409 409 409", ""),
    (
        "POST",
        "/v1/join-team",  # members of the team need no invitation
        {"code": "{team_code}"},
        "401 409 200 409 409",
        "401 409 409 409 409",
    ),
    ("GET", "/v1/users/me/team-invitations", None, "401 200 200 200 200", ""),
    (
        "POST",
        "/v1/users/me/team-invitations/{own_invitation}/decline",
        None,
        "401 404 200 404 404",
        "",
    ),
    (
        "POST",
        "/v1/users/me/team-invitations/{own_invitation}/accept",  # after it was declined
        None,
        "401 404 409 404 404",
        "",
    ),
    (
        "POST",
        "/v1/teams/{team}/merges",
        {"into": "{host_team}"},
        "401 403 201 403 403",
        "401 404 403 403 403",
    ),
    ("GET", "/v1/teams/{team}/merges", None, "401 403 200 403 200", "401 404 403 403 200"),
    ("POST", "/v1/team-merges/{merge}/accept", None, "401 404 404 404 403", ""),
    ("DELETE", "/v1/team-merges/{other_merge}", None, "401 404 404 404 204", ""),
    ("DELETE", "/v1/teams/{spare_team}", None, "401 404 404 404 204", ""),
    ("GET", "/v1/games", None, "200 200 200 200 200", ""),
    ("GET", "/v1/profiles", None, "200 200 200 200 200", ""),
    ("GET", "/v1/leagues", None, "200 200 200 200 200", ""),
    (
        "POST",
        "/v1/leagues",
        {"slug": "l{n}", "title": "L", "game": "hungry_geese"},
        "401 201 201 201 201",
        "",
    ),
    ("GET", "/v1/leagues/{league}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "PATCH",
        "/v1/leagues/{league}",
        {"title": "New"},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/leagues/{league}/members", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "PUT",
        "/v1/leagues/{league}/members/{user}",
        {"role": "competitor"},
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    (
        "DELETE",
        "/v1/leagues/{league}/members/{team_owner}",
        None,
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    (
        "POST",
        "/v1/leagues/{league}/invitations",
        {"role": "viewer"},
        "401 403 403 201 201",
        "401 404 403 409 409",
    ),
    # Neither league has reference agents.
    (
        "POST",
        "/v1/leagues/{league}/rehearsals",
        None,
        "401 403 403 409 409",
        "401 404 403 409 409",
    ),
    ("GET", "/v1/leagues/{league}/invitations", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "GET",
        "/v1/leagues/{league}/requests/terms",
        None,
        "401 200 200 200 200",
        "401 404 200 200 200",
    ),
    # Both leagues take no requests.
    (
        "POST",
        "/v1/leagues/{league}/requests",
        {"terms": "{terms}"},
        "401 409 409 409 409",
        "401 404 409 409 409",
    ),
    ("GET", "/v1/leagues/{league}/requests", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "POST",
        "/v1/leagues/{league}/requests/answers",
        {"act": "decline", "requests": ["{other_request}"]},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/me/requests", None, "401 200 200 200 200", ""),
    ("DELETE", "/v1/me/requests/{request}", None, "401 404 200 404 404", ""),
    ("GET", "/v1/leagues/{league}/blocks", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "PUT",
        "/v1/leagues/{league}/blocks/{outsider}",
        {"reason": "a walk"},
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    (
        "DELETE",
        "/v1/leagues/{league}/blocks/{outsider}",
        None,
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    ("GET", "/v1/leagues/{league}/terms", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "POST",
        "/v1/leagues/{league}/roster",
        {"csv": "name,team,role,external_id\nAda,,,{n}\n"},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/leagues/{league}/roster", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "PUT",
        "/v1/seasons/{season}/extensions/{team}",
        {"closes_at": "2999-01-01T00:00:00Z", "reason": "ill"},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    (
        "GET",
        "/v1/seasons/{season}/extensions",
        None,
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/seasons/{season}/standings", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "GET",
        "/v1/seasons/{season}/standings?format=csv",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "GET",
        "/v1/seasons/{season}/participants",
        None,
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    # Only a roster code admits people to a private league.
    (
        "POST",
        "/v1/join/terms",
        {"code": "{code}"},
        "401 200 200 200 200",
        "401 404 404 404 404",
    ),
    ("GET", "/v1/leagues/{league}/seasons", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/seasons/{season}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/seasons/{league}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "GET",
        "/v1/seasons/{season}/certainty",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    ("GET", "/v1/seasons/{season}/health", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "POST",
        "/v1/seasons/{season}/anchors",
        {"anchors": ["greedy"]},
        "401 403 403 201 201",
        "401 404 403 201 201",
    ),
    (
        "PATCH",
        "/v1/seasons/{season}",
        {"state": "open"},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/seasons/{season}/limits", None, "401 200 200 200 403", "401 404 200 200 403"),
    (
        "GET",
        "/v1/seasons/{season}/leaderboard",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "GET",
        "/v1/seasons/{season}/teams/{team}/entry",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "PUT",
        "/v1/seasons/{season}/teams/{team}/entry",
        {"entry": "{entry}"},
        "401 403 200 403 403",
        "401 404 403 403 403",
    ),
    ("GET", "/v1/seasons/{season}/seals", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("POST", "/v1/agents", {"name": "agent {n}"}, "401 201 201 201 403", ""),
    ("GET", "/v1/agents?team={team}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/agents/{agent}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "PATCH",
        "/v1/agents/{agent}",
        {"open_for_scrims": False},
        "401 403 200 403 403",
        "401 404 200 403 403",
    ),
    ("DELETE", "/v1/agents/{agent}", None, "401 403 409 403 403", "401 404 409 403 403"),
    (
        "POST",
        "/v1/agents/{agent}/submissions",
        {"bytes": "{n}"},
        "401 403 201 403 403",
        "401 404 201 403 403",
    ),
    (
        "POST",
        "/v1/agents/{agent}/submissions?season={season}",
        {"bytes": "{n}"},
        "401 403 201 403 403",
        "401 404 201 403 403",
    ),
    (
        "POST",
        "/v1/agents/{agent}/remotes",
        {"url": "https://snake.example.org/{n}"},
        "401 403 201 403 403",
        "401 404 201 403 403",
    ),
    ("GET", "/v1/agents/{agent}/submissions", None, "401 403 200 403 200", "401 404 200 403 200"),
    ("GET", "/v1/submissions/{submission}", None, "401 404 200 404 200", ""),
    ("GET", "/v1/submissions/{submission}/entries", None, "401 404 200 404 200", ""),
    (
        "POST",
        "/v1/seasons/{season}/entries",
        {"submission": "{submission}"},
        "401 404 200 404 403",
        "",
    ),
    ("GET", "/v1/entries?season={season}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries?team={team}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries?agent={agent}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries/{entry}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries/{rejected}", None, "404 404 200 200 200", ""),
    ("GET", "/v1/entries/{rejected}/log", None, "401 404 200 403 403", ""),
    ("GET", "/v1/entries/{entry}/ratings", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries/{entry}/insights", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/entries/{rejected}/insights", None, "404 404 200 200 200", ""),
    (
        "GET",
        "/v1/leagues/{league}/highlights",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "PUT",
        "/v1/leagues/{league}/pins/{rated}",
        None,
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    (
        "DELETE",
        "/v1/leagues/{league}/pins/{rated}",
        None,
        "401 403 403 204 204",
        "401 404 403 204 204",
    ),
    ("GET", "/v1/matches?season={season}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/matches?scrim={scrim}", None, "404 404 200 404 200", ""),
    ("GET", "/v1/matches", None, "200 200 200 200 200", ""),
    ("GET", "/v1/matches?agent={agent}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "GET",
        "/v1/head-to-head?agent={agent}&opponent={host_agent}",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    ("GET", "/v1/search?q=flood", None, "200 200 200 200 200", ""),
    ("GET", "/v1/matches/{rated}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/matches/{validation}", None, "404 404 200 200 200", ""),
    ("GET", "/v1/matches/{scrimmage}", None, "404 404 200 404 200", ""),
    ("GET", "/v1/episodes/{number}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/matches/{rated}/replay", None, "403 403 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/matches/{running}/live", None, "403 403 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/matches/{rated}/live", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "GET",
        "/v1/matches/{rated}/replay?format=kaggle",
        None,
        "403 403 200 200 200",
        "404 404 200 200 200",
    ),
    ("GET", "/v1/matches/{validation}/replay", None, "404 404 200 403 200", ""),
    ("GET", "/v1/matches/{scrimmage}/replay", None, "404 404 200 404 200", ""),
    ("GET", "/v1/matches/{rated}/seats/0/log", None, "401 403 200 403 403", "401 404 200 403 403"),
    ("GET", "/v1/matches/{rated}/seats/1/log", None, "401 403 403 200 403", "401 404 403 200 403"),
    ("GET", "/v1/matches/{scrimmage}/seats/0/log", None, "401 404 200 404 403", ""),
    ("GET", "/v1/matches/{scrimmage}/seats/1/log", None, "401 404 403 404 403", ""),
    (
        "POST",
        "/v1/scrims",
        {"season": "{season}", "lineup": ["{agent}", "{host_agent}"]},
        "401 409 201 409 403",
        "401 404 201 409 403",
    ),
    (
        "POST",
        "/v1/matches/{rated}/forks",
        {"step": 1, "seats": ["{agent}", "{host_agent}"]},
        "401 403 201 409 403",
        "401 404 201 409 403",
    ),
    ("POST", "/v1/matches/{scrimmage}/forks", {"step": 1}, "401 404 201 404 403", ""),
    ("GET", "/v1/scrims/{fork}", None, "401 404 200 404 200", ""),
    ("GET", "/v1/matches?scrim={fork}", None, "404 404 200 404 200", ""),
    ("GET", "/v1/matches/{fork_game}", None, "404 404 200 404 200", ""),
    ("GET", "/v1/matches/{fork_game}/replay", None, "404 404 200 404 200", ""),
    ("GET", "/v1/matches/{fork_game}/seats/0/log", None, "401 404 200 404 403", ""),
    ("GET", "/v1/scrims", None, "401 200 200 200 200", ""),
    ("GET", "/v1/scrims/{scrim}", None, "401 404 200 404 200", ""),
    ("POST", "/v1/scrims/{scrim}/cancel", None, "401 404 200 404 403", ""),
    (
        "POST",
        "/v1/leagues/{league}/comparisons",
        {"old": "{older}", "new": "{submission}"},
        "401 404 201 404 403",
        "",
    ),
    (
        "GET",
        "/v1/leagues/{league}/comparisons",
        None,
        "401 200 200 200 200",
        "401 404 200 200 200",
    ),
    ("GET", "/v1/comparisons/{comparison}", None, "401 404 200 404 200", ""),
    ("POST", "/v1/comparisons/{comparison}/cancel", None, "401 404 200 404 403", ""),
    (
        "POST",
        "/v1/leagues/{league}/tournaments",
        {"title": "Cup {n}", "plan": {"stages": [{"format": "single_elimination"}]}},
        "401 403 403 201 201",
        "401 404 403 201 201",
    ),
    ("GET", "/v1/tournaments", None, "200 200 200 200 200", ""),
    (
        "GET",
        "/v1/tournaments?league={league}",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    ("GET", "/v1/tournaments/{tournament}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "POST",
        "/v1/tournaments/{tournament}/entrants",
        {"agent": "{agent}"},
        "401 403 201 409 409",
        "401 404 201 409 409",
    ),
    (
        "GET",
        "/v1/tournaments/{tournament}/entrants",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "POST",
        "/v1/tournaments/{tournament}/entrants/{agent}/acts",
        {"act": "withdraw"},
        "401 403 200 403 403",
        "401 404 200 403 403",
    ),
    ("GET", "/v1/tournaments/{cup}/pairings", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/tournaments/{cup}/standings", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "GET",
        "/v1/tournaments/{cup}/export?form=csv",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "GET",
        "/v1/tournaments/{cup}/rejudgements",
        None,
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/rejudgements",
        {"pairing": "1.1.1", "reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/rejudgements/decisions",
        {"pairing": "1.1.1", "act": "drop"},
        "401 403 403 200 409",
        "401 404 403 200 409",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/reveals",
        {"embargo": "public"},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/shows",
        {"hours": 1},
        "401 403 403 201 201",
        "401 404 403 201 201",
    ),
    ("GET", "/v1/tournaments/{cup}/shows", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "DELETE",
        "/v1/tournaments/{cup}/shows/{show}",
        None,
        "401 403 403 204 404",
        "401 404 403 204 404",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/acts",
        {"act": "pause"},
        "401 403 403 200 409",
        "401 404 403 200 409",
    ),
    (
        "POST",
        "/v1/tournaments/{cup}/entrants/{host_agent}/disqualification",
        {"reason": "a walk"},
        "401 403 403 200 409",
        "401 404 403 200 409",
    ),
    # Scrims that both sides see, and scrims that the league sees.
    ("GET", "/v1/matches?scrim={sides}", None, "404 404 200 200 200", ""),
    ("GET", "/v1/scrims/{sides}", None, "401 404 200 200 200", ""),
    ("GET", "/v1/matches/{sides_match}", None, "404 404 200 200 200", ""),
    ("GET", "/v1/matches/{sides_match}/replay", None, "404 404 200 200 200", ""),
    ("GET", "/v1/matches/{sides_match}/seats/1/log", None, "401 404 403 200 403", ""),
    ("GET", "/v1/matches?scrim={shared}", None, "200 200 200 200 200", "404 404 200 200 200"),
    ("GET", "/v1/scrims/{shared}", None, "401 200 200 200 200", "401 404 200 200 200"),
    ("GET", "/v1/matches/{shared_match}", None, "200 200 200 200 200", "404 404 200 200 200"),
    (
        "GET",
        "/v1/matches/{shared_match}/replay",
        None,
        "200 200 200 200 200",
        "404 404 200 200 200",
    ),
    (
        "GET",
        "/v1/matches/{shared_match}/seats/0/log",
        None,
        "401 403 200 403 403",
        "401 404 200 403 403",
    ),
    (
        "GET",
        "/v1/agents/{host_agent}/scrim-policy",
        None,
        "401 200 200 200 403",
        "401 404 200 200 403",
    ),
    (
        "PUT",
        "/v1/agents/{agent}/scrim-policy",
        {"whom": "league"},
        "401 403 200 403 403",
        "401 404 200 403 403",
    ),
    (
        "GET",
        "/v1/seasons/{season}/scrim-opponents",
        None,
        "401 200 200 200 403",
        "401 404 200 200 403",
    ),
    (
        "POST",
        "/v1/scrim-requests",
        {"season": "{season}", "lineup": ["{agent}", "{host_agent}"]},
        "401 409 409 201 403",
        "401 404 409 201 403",
    ),
    ("GET", "/v1/scrim-requests", None, "401 200 200 200 200", ""),
    ("GET", "/v1/scrim-requests/{scrim_request}", None, "401 404 200 200 200", ""),
    ("POST", "/v1/scrim-requests/{scrim_request}/withdraw", None, "401 404 200 403 403", ""),
    ("POST", "/v1/scrim-requests/{to_accept}/accept", None, "401 404 404 200 403", ""),
    (
        "POST",
        "/v1/scrim-requests/{to_decline}/decline",
        {"words": "no"},
        "401 404 404 200 403",
        "",
    ),
    (
        "POST",
        "/v1/scrim-batches/plan",
        {"season": "{season}", "kind": "gauntlet", "agents": ["{agent}", "{host_agent}"]},
        "401 422 200 422 403",
        "401 404 200 422 403",
    ),
    (
        "POST",
        "/v1/scrim-batches",
        {
            "season": "{season}",
            "kind": "gauntlet",
            "agents": ["{agent}", "{host_agent}"],
            "games": 1,
        },
        "401 422 201 422 403",
        "401 404 201 422 403",
    ),
    ("GET", "/v1/scrim-batches", None, "401 200 200 200 200", ""),
    ("GET", "/v1/scrim-batches/{batch}", None, "401 404 200 404 200", ""),
    ("GET", "/v1/scrim-batches/{batch}/results", None, "401 404 200 404 200", ""),
    ("POST", "/v1/scrim-batches/{batch}/cancel", None, "401 404 200 404 403", ""),
    ("GET", "/health/live", None, "200 200 200 200 200", ""),
    ("GET", "/health/ready", None, "200 200 200 200 200", ""),
    ("GET", "/v1/leagues/{league}/audits", None, "401 403 403 200 200", "401 404 403 200 200"),
    (
        "GET",
        "/v1/rejudgements/{rejudgement}",
        None,
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    (
        "POST",
        "/v1/seasons/{season}/rejudgements/preview",
        {"predicate": {"node": "node"}},
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
    ("GET", "/v1/seasons/{season}/suspects", None, "401 403 403 200 200", "401 404 403 200 200"),
    ("GET", "/metrics", None, "200 200 200 200 200", ""),
    # Rows that change the world for other rows come last.
    (
        "POST",
        "/v1/seasons/{season}/rejudgements",
        {"predicate": {"node": "node"}, "reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/rejudgements/{rejudgement}/cancellations",
        {"reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/seasons/{season}/shared-places/{place}/separations",
        {"reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/seasons/{season}/shared-places",
        {"teams": ["{team}", "{host_team}"], "reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/seasons/{season}/disqualifications",
        {"subject": "{host_agent}", "reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    (
        "POST",
        "/v1/seasons/{season}/reinstatements",
        {"subject": "{host_agent}", "reason": "a walk"},
        "401 403 403 201 409",
        "401 404 403 201 409",
    ),
    ("POST", "/v1/teams", {"name": "Flock {n}"}, "401 201 201 201 201", ""),
    (
        "POST",
        "/v1/entries/{entry}/resume",
        None,
        "401 403 409 403 403",
        "401 404 409 403 403",
    ),
    (
        "POST",
        "/v1/entries/{entry}/retire",
        None,
        "401 403 200 403 403",
        "401 404 200 403 403",
    ),
    (
        "POST",
        "/v1/leagues/{league}/seasons",
        {"seats": 2},
        "401 403 403 201 201",
        "401 404 403 201 201",
    ),
    (
        "PUT",
        "/v1/leagues/{league}/consent",
        {"terms": "{terms}"},
        "401 200 200 200 200",
        "401 404 200 200 404",
    ),
    (
        "POST",
        "/v1/join",
        {"code": "{code}", "terms": "{terms}"},
        "401 200 200 200 200",
        "401 404 404 404 404",
    ),
    (
        "DELETE",
        "/v1/leagues/{league}/invitations/{invitation}",
        None,
        "401 403 403 200 200",
        "401 404 403 200 200",
    ),
]


# Statuses that do not follow from the row: method and path, then by person the status in the public
# and in the private league.
EXCEPTIONS: dict[tuple[str, str], dict[str, tuple[int, int]]] = {
    ("GET", f"/v1/machine/blobs/{NO_BLOB}"): {"blocked": (401, 401)},
    ("PUT", f"/v1/machine/blobs/{NO_BLOB}"): {"blocked": (401, 401)},
    ("PUT", "/v1/leagues/{league}/consent"): dict.fromkeys(
        ("cohost", "grader", "commentator"), (200, 200)
    ),
    ("POST", "/v1/tournaments/{tournament}/entrants"): dict.fromkeys(
        ("grader", "commentator"), (403, 403)
    ),
    ("DELETE", "/v1/tournaments/{cup}/shows/{show}"): dict.fromkeys(
        ("grader", "commentator"), (403, 403)
    ),
    ("POST", "/v1/join"): dict.fromkeys(("grader", "commentator"), (409, 404)),
    ("GET", "/v1/teams/{team}/members"): dict.fromkeys(("grader", "commentator"), (403, 403)),
    ("GET", "/v1/matches/{rated}/replay"): dict.fromkeys(("grader", "commentator"), (403, 403)),
    ("GET", "/v1/matches/{running}/live"): dict.fromkeys(("grader", "commentator"), (403, 403)),
    ("GET", "/v1/matches/{rated}/replay?format=kaggle"): dict.fromkeys(
        ("grader", "commentator"), (403, 403)
    ),
    # Graders read logs, and so see what failed; commentators do not.
    ("GET", "/v1/matches/{rated}/seats/0/log"): {"grader": (200, 200)},
    ("GET", "/v1/matches/{rated}/seats/1/log"): {"grader": (200, 200)},
    ("GET", "/v1/entries/{rejected}/log"): {"grader": (200, 200), "commentator": (404, 404)},
    ("GET", "/v1/entries/{rejected}"): {"commentator": (404, 404)},
    ("GET", "/v1/entries/{rejected}/insights"): {"commentator": (404, 404)},
    ("POST", "/v1/leagues/{league}/comparisons"): {
        person: (403, 403) for person in ("cohost", "grader", "commentator")
    },
    ("GET", "/v1/matches/{validation}"): {"commentator": (404, 404)},
    ("GET", "/v1/matches/{validation}/replay"): {"commentator": (404, 404)},
    # Roles in a league open no scrim of two teams.
    **{
        (method, path): dict.fromkeys(("cohost", "grader", "commentator"), (404, 404))
        for method, path in (
            ("GET", "/v1/matches?scrim={sides}"),
            ("GET", "/v1/scrims/{sides}"),
            ("GET", "/v1/matches/{sides_match}"),
            ("GET", "/v1/matches/{sides_match}/replay"),
            ("GET", "/v1/matches/{sides_match}/seats/1/log"),
            ("GET", "/v1/scrim-requests/{scrim_request}"),
            ("POST", "/v1/scrim-requests/{scrim_request}/withdraw"),
            ("POST", "/v1/scrim-requests/{to_accept}/accept"),
            ("POST", "/v1/scrim-requests/{to_decline}/decline"),
        )
    },
    **{
        ("POST", path): dict.fromkeys(("cohost", "grader", "commentator"), (403, 403))
        for path in ("/v1/scrim-batches", "/v1/scrim-batches/plan")
    },
}


def statuses(row: tuple[str, str, JSON | None, str, str], league: str) -> dict[str, int]:
    """The status for each person.

    A co-host owns nothing, so the stricter answer to host and admin applies. Graders and
    commentators are members who own nothing and manage nothing. A revoked token opens no route. A
    person whom an administrator blocked reads so everywhere.
    """
    method, path, _, public, private = row
    told = (private if league == "private" and private else public).split()
    found = dict(zip(FIVE, map(int, told), strict=True))
    special = EXCEPTIONS.get((method, path), {})
    exceptions = {person: each[league == "private"] for person, each in special.items()}
    found["cohost"] = exceptions.get("cohost", strictest(found["host"], found["admin"]))
    found["grader"] = found["commentator"] = strictest(found["member"], found["cohost"])
    is_open = path in WITHOUT_TOKEN
    found["revoked"] = found["stranger"] if is_open else 401
    found["blocked"] = found["stranger"] if is_open else 403
    return {**found, **exceptions}


def is_of_no_league(row: tuple[str, str, JSON | None, str, str]) -> bool:
    """Whether a row names nothing that belongs to a league."""
    _, path, body, _, private = row
    return not private and set(re.findall(r"{(\w+)}", f"{path} {body}")) <= OF_NO_LEAGUE


def strictest(*given: int) -> int:
    """The status that grants least; 409 grants the act, which only comes too late."""
    return max(given, key=lambda status: 300 if status == 409 else status)


def words(world: World, league: str) -> dict[str, str]:
    """The values of the {words} of the table in this league."""
    insider = "insider" if league == "private" else "member"
    rated = world.client("member").match(world.matches[f"{league}.rated"])
    spare = world.client("member").mint_token("spare", ["read"])
    act = world.client("host").rejudge(world.seasons[league], "a walk", node="node")
    both = [world.teams[insider], world.teams["host"]]
    shared = world.client("host").share_place(world.seasons[league], both, "a walk")
    play_rated(world, league)  # a match outside all rejudgements
    with world.connect() as conn:
        invitation, code = invitations.create_roster_invitation(
            conn,
            LeagueId(world.leagues[league]),
            role="competitor",
            created_by=None,
            label="",
            max_uses=None,
        )
        member = UserId(world.users["member"])
        sessions.create_session(conn, member, "Firefox on Linux")
        (session,) = sessions.list_sessions(conn, member)[:1]
        notice = inbox.list_notices(conn, member)[0]
        outsider = users.create_user(conn, "Outsider").id
        request, other_request = (
            insert_join_request(conn, world.leagues[league], user) for user in (member, outsider)
        )
        address = parse(f"http://1.1.1.1/{league}")
        channel, _ = channels.create_channel(conn, member, Form.WEBHOOK, address)
        feed, _ = feeds.create_feed(conn, member)
        machine = insert_machine(conn, world.users["admin"], f"pond-{league}")
        root = users.viewer_of_user(conn, UserId(world.users["admin"]))
        assert root is not None
        to_machine, _ = machine_invitations.invite_machine(conn, root)
    fork, fork_game = fork_rated(world, rated["id"])
    expected = world.client("admin").post(
        "/v1/expected-people", {"csv": f"name,address\nexpected in {league},\n"}
    )
    cup = make_tournament(world, league, is_started=True)
    return {
        "show": world.client("admin").post(f"/v1/tournaments/{cup}/shows", {})["id"],
        "spare_user": world.client("admin").create_user(f"spare of {league}")["id"],
        **team_words(world, world.teams[insider]),
        "machine": machine,
        "machine_invitation": to_machine.id,
        "session": session.id,
        "notice": notice.id,
        "channel": channel.id,
        "feed": feed.id,
        "outsider": outsider,
        "request": request,
        "other_request": other_request,
        "user": world.users["member"],
        "token": spare["id"],
        "team": world.teams[insider],
        "team_owner": world.users[insider],
        "league": league,
        "season": world.seasons[league],
        "agent": world.agents[f"{league}.member"],
        "host_agent": world.agents[f"{league}.host"],
        "submission": world.submissions[f"{league}.member"],
        "entry": world.entries[f"{league}.member"],
        "rejected": world.entries[f"{league}.rejected"],
        "rated": rated["id"],
        "running": begin_rated(world, league),
        "validation": world.matches[f"{league}.member.validation"],
        "scrim": world.scrims[league],
        "older": older_submission(world, league),
        "comparison": comparison_of_member(world, league),
        "scrimmage": world.matches[f"{league}.scrim"],
        "fork": fork,
        "fork_game": fork_game,
        "sides": world.scrims[f"{league}.sides"],
        "sides_match": world.matches[f"{league}.sides.scrim"],
        "shared": world.scrims[f"{league}.league"],
        "shared_match": world.matches[f"{league}.league.scrim"],
        **scrim_words(world, league),
        "rejudgement": act["id"],
        "place": shared["id"],
        "invitation": invitation.id,
        "code": code,
        "terms": world.client("member").terms(league)["digest"],
        "number": str(rated["episodes"][0]["number"]),
        "expected": expected["items"][0]["id"],
        "tournament": make_tournament(world, league),
        "cup": cup,
    }


def make_tournament(world: World, league: str, *, is_started: bool = False) -> str:
    """A tournament with open registration; or one that runs, after one pair of games of the agents
    of member and host."""
    wanted = NewTournament(title="Cup", plan={"stages": [{"format": "single_elimination"}]})
    with world.connect() as conn:
        season, its_league = seasons.get_season_and_league(conn, SeasonId(world.seasons[league]))
        made = tournaments.create_tournament(conn, its_league, season, wanted, None).id
        if is_started:
            for person in ("member", "host"):
                agent = agents.get_agent(conn, AgentId(world.agents[f"{league}.{person}"]))
                entrants.enter_agent(conn, made, agent, None)
            locking.lock_entrants(conn, made, None)
            course_acts.start_tournament(conn, made, None)
            advance.advance_one(conn, made, lambda _: 0)
            conn.commit()
            for game in courses.read_games(conn, made):
                finish(conn, world.blobs, game.match_id)
            advance.advance_one(conn, made, lambda _: 0)
    return made


def insert_join_request(conn: Connection, league_id: str, user_id: str) -> str:
    """A request that waits, although the league takes none."""
    request_id = new_id("jrq")
    conn.execute(
        "insert into join_requests (id, league_id, user_id, agreed_visibility, agreed_replays,"
        " agreed_remote, terms_digest, agreed_staff, expires_at)"
        " values (%s, %s, %s, 'public', 'own', false, '', '{}', now() + interval '1 day')",
        (request_id, league_id, user_id),
    )
    return request_id


def scrim_words(world: World, league: str) -> dict[str, str]:
    """A batch of the member, and requests to the host: of the member, and of two teams of nobody
    here."""
    host, mine = world.agents[f"{league}.host"], world.agents[f"{league}.member"]
    season = world.seasons[league]
    batch = world.client("member").start_batch(
        {"season": season, "kind": "gauntlet", "agents": [mine, host], "games": 1}
    )
    asked = ask_host(world, league, world.users["member"], world.teams["member"], mine)
    found = {"batch": batch["id"], "scrim_request": asked}
    for name in ("to_accept", "to_decline"):
        with world.connect() as conn:
            user = users.create_user(conn, f"{name} {league}").id
            team = users.create_own_team(conn, f"{name} {league}", user).id
            agent = agents.create_agent(conn, team, "Asker", "asker").id
            made, _ = agents.add_submission(conn, agent, "0" * 64, 1, "main.py", "", user)
        found[name] = ask_host(world, league, user, team, made.id)
    return found


def ask_host(world: World, league: str, user: str, team: str, mine: str) -> str:
    """A request to the host that waits: it would share logs."""
    with world.connect() as conn:
        terms = NewScrimRequest(
            season=seasons.get_season(conn, SeasonId(world.seasons[league])),
            team_id=TeamId(team),
            user_id=UserId(user),
            wanted=[mine, world.agents[f"{league}.host"]],
            games=1,
            privacy=ScrimPrivacy(ScrimAudience.SIDES, logs=LogAudience.SIDES),
        )
        return scrim_requests.ask_for_scrim(conn, terms).id


def team_words(world: World, team: str) -> dict[str, str]:
    """Values about teams: invitations, and requests for merges between teams of nobody here."""
    with world.connect() as conn:
        root = Viewer(is_admin=True)
        revoked, code = team_invitations.invite(conn, TeamId(team), root, max_uses=9)
        team_invitations.revoke_invitation(conn, TeamId(team), revoked.id, root)
        owner = users.create_user(conn, "Owner of spare teams").id
        spare = [users.create_own_team(conn, f"Spare {n}", owner).id for n in range(4)]
        asked, _ = team_invitations.invite(conn, spare[0], root, person=world.users["member"])
        merges = [
            team_merges.ask_for_merge(conn, each, spare[0], Viewer(owner)).id for each in spare[1:3]
        ]
    return {
        "team_invitation": revoked.id,
        "team_code": code,
        "own_invitation": asked.id,
        "host_team": world.teams["host"],
        "merge": merges[0],
        "other_merge": merges[1],
        "spare_team": spare[3],
    }


def fill(value: Any, known: dict[str, str]) -> Any:
    if isinstance(value, str):
        return value.format(**known)
    if isinstance(value, list):
        return [fill(item, known) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, known) for key, item in value.items()}
    return value


@pytest.mark.parametrize("league", ["public", "private"])
def test_every_route_answers_each_person_as_the_table_says(world: World, league: str) -> None:
    known, fresh = words(world, league), itertools.count()
    spare = world.client("member").mint_token("revoked", SCOPES)
    world.client("member").send("DELETE", f"/v1/users/me/tokens/{spare['id']}")
    world.tokens["revoked"] = spare["token"]
    admin, blocked = world.client("admin"), world.client("admin").create_user("blocked")["id"]
    world.tokens["blocked"] = admin.mint_token("test", SCOPES, user=blocked)["token"]
    admin.send("PUT", f"/v1/users/{blocked}/block", json={"reason": "a walk"})
    wrong = []
    for row in WALK:
        method, path, body, *_ = row
        for person, status in statuses(row, league).items():
            if league == "private" and (person in ("revoked", "blocked") or is_of_no_league(row)):
                continue  # the same answer in every league; the public one shows it
            here = {**known, "n": f"{league[:3]}{next(fresh)}"}
            options: JSON = {}
            if body is not None and "bytes" in body:
                options["content"] = GOOD + here["n"].encode()
            elif body is not None:
                options["json"] = fill(body, here)
            client = world.client(person)
            try:
                got = client.send(method, fill(path, here), **options).status_code
            except ApiError as error:
                got = error.status if error.problem["status"] == error.status else 0
            if got != status:
                wrong.append(f"{method} {path} as {person}: {got}, not {status}")
    assert wrong == [], "\n".join(wrong)


def test_the_table_has_every_route_of_the_api(world: World) -> None:
    document = world.http.get("/openapi.json").json()
    declared = {
        (method.upper(), len(path.split("/")), shape(path))
        for path, methods in document["paths"].items()
        for method in methods
    }
    walked = {
        (method, len(path.split("/")), shape(path.split("?")[0])) for method, path, *_ in WALK
    }
    assert declared - walked == set()


def shape(path: str) -> str:
    """A path without the names of its parameters."""
    return "/".join(
        "*" if part.startswith("{") or part.isdigit() else part for part in path.split("/")
    )
