"""Checks the API against its own schema with generated requests of every role.

Every answer must match the declared ones. Half of the requests use ids of the world.
"""

from __future__ import annotations

from collections import Counter, deque
from contextlib import nullcontext, suppress
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import httpx
import requests
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from egress.address import parse
from ladder.entries import team_merges
from ladder.ids import SeasonId, TeamId, TournamentId, UserId
from ladder.moderation import suspects
from ladder.notices import channels
from ladder.notices.kinds import Form
from ladder.people import team_invitations, teams, users
from ladder.people.records import Viewer
from ladder.people.team_invitations import NewTeamInvitation
from ladder.tournaments import rejudgements
from tests.integration.api.route_walk.words import (
    ask_host,
    insert_join_request,
    make_tournament,
    words,
)
from tests.integration.api.world import (
    World,
    comparison_of_member,
    insert_machine,
    older_submission,
)
from tests.sizes import sized

PEOPLE = ("member", "host", "admin", "rival", "stranger", "broken")
"""Each search begins with the first one."""
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)
HEADERS = ("content-type", "content-digest", "idempotency-key", "if-none-match")
EXAMPLES = sized(3, 100)
MOST_EXAMPLES = 60
LAST = (
    "retire_entry",
    "cancel_scrim",
    "cancel_comparison",
    "change_instance_settings",
    "change_season",
    "change_league",
    "create_season",
    "disqualify",
    "reinstate",
    "revoke_invitation",
)
OF_MACHINES = {"invite_machine", "join_machine", "read_machine_blob", "store_machine_blob"}
"""They need a site for machines, and a lease; test_machines.py calls them."""
OF_STANDINGS = {"declare_entry"}
"""It needs an official standing; test_cli.py calls it."""
FUZZING: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "phases": (Phase.generate,),
    "suppress_health_check": list(HealthCheck),
}


def connection() -> requests.Session:
    """A connection for all requests. It keeps no cookie, because each request has its own person.

    It ignores settings of the machine, which requests would read again each time.
    """
    session = requests.Session()
    session.trust_env = False
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
    return session


class Succeeded(Exception):
    """Stops the search for a successful request."""


def ground(case: Any, known: dict[str, Any]) -> None:
    """Replace generated ids by ids of the world."""
    for part in (case.path_parameters, case.query, case.body):
        if isinstance(part, dict):
            for name in part:
                if name in known:
                    part[name] = known[name]
    if isinstance(case.query, dict):
        case.query.pop("cursor", None)


def order(operation: Any) -> tuple[int, bool]:
    """Sort key: reads come before writes, and operations that affect others come last."""
    name = operation.definition.raw["operationId"]
    # An entry must be retired while its season is open.
    late = 0 if name not in LAST else 1 if name == "retire_entry" else 2
    late = 3 if name == "delete_account" else late  # the member is gone then
    return late, operation.method.lower() != "get"


def ids_of_teams(world: World, name: str) -> dict[str, Any]:
    """Ids of new teams for one operation: some end a team, or use an invitation up."""
    member, host = UserId(world.users["member"]), UserId(world.users["host"])
    with world.connect() as conn:
        root = Viewer(is_admin=True)
        asker = users.create_user(conn, f"Asker of {name}").id
        team, other = (
            users.create_own_team(conn, f"{name} {n}".replace("_", " "), owner).id
            for n, owner in enumerate((None, asker))
        )
        teams.add_member(conn, team, member, None, is_owner=True)
        teams.add_member(conn, team, host, None)
        asked = team_invitations.invite(conn, other, root, NewTeamInvitation(person=host))
        code = team_invitations.invite(conn, other, root, NewTeamInvitation(max_uses=100)).code
        found = {"team": team, "into": other, "invitation": asked.id, "code": code, "user": host}
        if name == "ask_for_merge":  # only members see a team that plays nowhere
            teams.add_member(conn, other, member, None)
        if name in ("accept_merge", "end_merge"):
            found["merge"] = team_merges.ask_for_merge(conn, other, team, Viewer(asker)).id
        if name == "revoke_team_invitation":
            found["team"] = other
    return found


def values_for(world: World, found: dict[str, str], name: str) -> dict[str, Any]:
    """Values for one operation that differ from those of the others; makes what it needs."""
    if "comparison" in name:
        return {
            "comparison": comparison_of_member(world, "public"),
            "old": older_submission(world, "public"),
            "new": world.submissions["public.member"],
            "opponents": [],
            "team": world.teams["member"],
        }
    if "team" in name or "merge" in name:
        return ids_of_teams(world, name)
    with world.connect() as conn:
        match name:
            case "read_entry_log":
                return {"entry": found["rejected"]}
            case "resume_entry":
                conn.execute(
                    "update entries set state = 'paused', pause_cause = 'unreachable',"
                    " paused_at = now(), next_try_at = now()"
                    " where id = %s",
                    (found["rejected"],),
                )
                return {"entry": found["rejected"]}
            case "request_to_join":
                conn.execute("update leagues set takes_requests = true where slug = 'public'")
                # An earlier operation may have made the administrator a member.
                conn.execute(
                    "delete from league_members where league_id = %s and user_id = %s",
                    (world.leagues["public"], world.users["admin"]),
                )
                return {"terms": found["terms"]}
            case "withdraw_join_request":
                conn.execute("delete from join_requests where user_id = %s", (found["user"],))
                asked = insert_join_request(conn, world.leagues["public"], found["user"])
                return {"request": asked}
            case "delete_agent":  # only an agent without submissions can be deleted
                member = world.client("member")
                return {
                    "agent": member.post(
                        "/v1/agents", {"name": "Without submissions", "team": "member"}
                    )["id"]
                }
            case "create_channel":
                return {"address": "http://1.1.1.1/k3J9"}
            case "create_scrim":
                return {"games": 1, "seeds": None, "privacy": {}}
            case "create_fork":  # the scrims before have used up the day's games
                conn.execute("update scrims set created_at = created_at - interval '1 day'")
                body: dict[str, Any] = {"games": 1, "step": 0, "episode": 0}
                return {**body, "seats": [], "moves": {}, "team": "member"}
            case "switch_channel":
                return {"state": "on"}
            case "delete_channel":
                address = parse("http://1.1.1.1/spare")
                owner = UserId(world.users["member"])
                return {"channel": channels.create_channel(conn, owner, Form.SLACK, address)[0].id}
            case "delete_user" | "block_account" | "unblock_account":
                return {"user": found["spare_user"]}
            case "delete_account":
                return {"name": "member"}
            case "create_rehearsal":
                made = world.client("host").post(
                    "/v1/leagues",
                    {
                        "slug": "rehearsed",
                        "title": "R",
                        "game": "hungry_geese",
                        "season": {"seats": 2},
                        "anchors": ["greedy"],
                    },
                )
                conn.execute(
                    "update entries set state = 'active' where season_id = %s",
                    (made["season"]["id"],),
                )
                return {"league": "rehearsed"}
            case "share_place" | "separate":
                conn.execute("delete from shared_places")
                both = [TeamId(world.teams[person]) for person in ("member", "host")]
                if name == "share_place":
                    return {"teams": both}
                season = SeasonId(world.seasons["public"])
                shared = suspects.share_place(conn, season, both, by=None, reason="a test")
                return {"place": shared.id}
            case "create_tournament":
                return {
                    "plan": {"stages": [{"format": "single_elimination"}]},
                    "most_entrants": 8,
                    "embargo": "public",
                    **dict.fromkeys(("season", "locks_at", "starts_at")),
                    "remote_agents": False,
                }
            case "enter_agent" | "act_on_entrant":
                act = {"act": "withdraw", "agent": found["agent"]}
                open_one = make_tournament(world, "public")
                if name == "act_on_entrant":
                    path = f"/v1/tournaments/{open_one}/entrants"
                    world.client("member").post(path, {"agent": found["agent"]})
                return {"tournament": open_one, **act}
            case "act_on_tournament":
                return {"tournament": make_tournament(world, "public"), "act": "cancel"}
            case "disqualify_entrant":
                here = make_tournament(world, "public", is_started=True)
                return {"tournament": here, "agent": found["host_agent"]}
            case "export_tournament":
                return {"tournament": found["cup"], "form": "csv", "stage": 1}
            case "create_tournament_show":
                return {"scene_seconds": None}
            case "list_tournament_shows" | "revoke_tournament_show":
                return {"tournament": found["cup"]}
            case "rejudge_tournament_games" | "decide_tournament_rejudgement":
                played = make_tournament(world, "public", is_started=True)
                if name == "decide_tournament_rejudgement":
                    rejudgements.rejudge_pairing(
                        conn, TournamentId(played), "1.1.1", None, "fuzzing"
                    )
                return {"tournament": played, "pairing": "1.1.1", "game": None, "act": "drop"}
            case "reveal_matches":
                return {"pairing": None}
            case "read_scrim_policy" | "list_scrim_opponents":
                return {"as": found["team"]}
            case "ask_for_scrim":
                conn.execute("delete from scrim_requests where id = %s", (found["scrim_request"],))
                return {"games": 1, "seeds": [], "team": found["team"]}
            case "read_scrim_request":
                return {"request": found["scrim_request"]}
            case "withdraw_scrim_request":
                conn.execute("delete from scrim_requests where team_id = %s", (found["team"],))
                conn.commit()
                return {
                    "request": ask_host(
                        world, "public", found["user"], found["team"], found["agent"]
                    )
                }
            case "accept_scrim_request":
                return {"request": found["to_accept"]}
            case "decline_scrim_request":
                return {"request": found["to_decline"]}
            case "export_batch":
                return {"format": "csv"}
            case "plan_batch" | "start_batch":
                agents_here = [found["agent"], found["host_agent"]]
                return {"kind": "gauntlet", "agents": agents_here, "games": 1}
            case "set_scrim_policy":
                return {"whom": "league", "teams": [], "blocked_teams": []}
            case "drain_machine" | "resume_machine" | "revoke_machine" | "trust_machine":
                return {"machine": insert_machine(conn, world.users["admin"], name.split("_")[0])}
            case "change_season":
                return {"state": "locked"}
    return {}


def test_every_answer_matches_the_schema(world: World, app: FastAPI, http: httpx.Client) -> None:
    found = words(world, "public")
    known: dict[str, Any] = {
        **found,
        "match": found["rated"],
        "seat": 0,
        "number": int(found["number"]),
        "game": "hungry_geese",
        "lineup": [found["agent"], found["host_agent"]],
        "configuration": {},
        "medals": {"kind": "table"},
        "predicate": {"node": "node"},
        "subject": found["host_agent"],
        "opponent": found["host_agent"],
        "until": found["notice"],
        "owner": found["user"],
        "seats": 2,
        "episode": 0,
        "kind": "rated",
        "state": "open",
        "url": "https://snake.example.org/k3J9",
        "csv": "name,team,role,external_id\nAda,Engines,,s-1815\n",
    }
    # Optional ids in bodies and queries stay as generated.
    world.tokens["broken"] = "peck_broken"
    schema = schemathesis.openapi.from_dict(app.openapi())
    operations = [one.ok() for one in schema.get_all_operations() if isinstance(one, Ok)]
    succeeded: Counter[str] = Counter()
    asked = 0
    session = connection()

    for operation in sorted(operations, key=order):
        name = operation.definition.raw["operationId"]
        here = known | values_for(world, found, name)

        def ask(case: Any, person: str, grounded: bool) -> None:
            nonlocal asked
            asked += 1
            if grounded:
                ground(case, here)  # noqa: B023 - called before the loop goes on
            # Only headers of the schema: broken framing never reaches the application.
            case.headers = {k: v for k, v in (case.headers or {}).items() if k.lower() in HEADERS}
            headers = world.client(person).headers
            response = case.call(base_url=str(http.base_url), headers=headers, session=session)
            case.validate_response(response, checks=CHECKS)
            succeeded[name] += response.status_code < 300  # noqa: B023

        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            cases = operation.as_strategy(generation_mode=mode)
            people = st.sampled_from(PEOPLE)
            with suppress(Unsatisfiable) if mode is GenerationMode.NEGATIVE else nullcontext():
                # An operation without input cannot get invalid input.
                settings(max_examples=EXAMPLES, **FUZZING)(
                    given(cases, people, st.sampled_from((True, False)))(ask)
                )()
        if not succeeded[name] and name not in OF_MACHINES | OF_STANDINGS:
            cases = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
            people_in_turn = deque(("admin", "host", "member"))

            def ask_once(case: Any) -> None:
                ask(case, people_in_turn[0], grounded=True)  # noqa: B023
                if succeeded[name]:  # noqa: B023
                    raise Succeeded
                people_in_turn.rotate()  # noqa: B023 - not after a failure, which is repeated

            with suppress(Succeeded):
                settings(max_examples=MOST_EXAMPLES, **FUZZING)(given(cases)(ask_once))()

    print(f"{asked} requests to {len(operations)} operations")
    names = {operation.definition.raw["operationId"] for operation in operations}
    assert {name for name in names if not succeeded[name]} == OF_MACHINES | OF_STANDINGS
