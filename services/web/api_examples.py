"""Examples of each call of the API: a line for curl, one for Python and one for ``peck``."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]
DEEPEST: Final = 4
COMMANDS: Final = {
    "read_leaderboard": "leaderboard LEAGUE",
    "list_sealed_medals": "seals LEAGUE",
    "read_me": "whoami",
    "mint_token": "token mint LABEL",
    "list_tokens": "token list",
    "revoke_token": "token revoke TOKEN",
    "read_feed": "feed",
    "sign_up": "sign-up NAME ADDRESS",
    "start_device_login": "login ADDRESS",
    "redeem_device_login": "login ADDRESS",
    "list_leagues": "league list",
    "create_league": "league create SLUG --title TITLE",
    "read_league": "league show LEAGUE",
    "create_invitation": "league invite LEAGUE",
    "list_invitations": "league invitations LEAGUE",
    "revoke_invitation": "league revoke LEAGUE INVITATION",
    "read_invitation_terms": "join CODE",
    "join_league": "join CODE",
    "read_terms": "league terms LEAGUE",
    "give_consent": "league consent LEAGUE",
    "import_roster": "league import LEAGUE roster.csv",
    "read_roster": "league roster LEAGUE",
    "export_standings": "league export LEAGUE -p board.csv",
    "read_season": "league show LEAGUE",
    "add_anchors": "league fill LEAGUE",
    "create_rehearsal": "league rehearse LEAGUE",
    "read_season_health": "watch LEAGUE",
    "declare_entry": "declare ENTRY",
    "put_extension": "league extend LEAGUE TEAM MOMENT",
    "list_extensions": "league extensions LEAGUE",
    "list_agents": "agent list",
    "change_agent": "agent machines AGENT trusted",
    "upload_submission": "submit main.py --agent AGENT --league LEAGUE",
    "submit_remote": "submit --url ADDRESS --agent AGENT --league LEAGUE",
    "list_submissions": "submissions",
    "list_profiles": "profiles",
    "list_entries": "entries",
    "read_entry": "entries ENTRY",
    "resume_entry": "resume ENTRY",
    "read_insights": "insights AGENT",
    "list_matches": "matches --agent AGENT --outcome lost",
    "read_head_to_head": "compare AGENT OPPONENT",
    "read_replay": "replay MATCH",
    "read_seat_log": "logs MATCH SEAT",
    "create_scrim": "scrim AGENT OPPONENT",
    "create_fork": "fork MATCH --step 40 --seat 1=AGENT",
    "create_comparison": "better OLD NEW --league LEAGUE",
    "cancel_scrim": "scrims cancel SCRIM",
    "read_scrim_policy": "scrims policy AGENT",
    "set_scrim_policy": "scrims policy AGENT --whom league",
    "list_scrim_opponents": "scrims opponents --league LEAGUE",
    "ask_for_scrim": "scrims ask AGENT OPPONENT",
    "list_scrim_requests": "scrims inbox",
    "read_scrim_request": "scrims show REQUEST",
    "accept_scrim_request": "scrims accept REQUEST",
    "decline_scrim_request": "scrims decline REQUEST --words WORDS",
    "withdraw_scrim_request": "scrims withdraw REQUEST",
    "start_batch": "scrims gauntlet AGENT",
    "list_batches": "scrims batches",
    "read_batch": "scrims batch BATCH",
    "export_batch": "scrims batch BATCH --csv FILE",
    "cancel_batch": "scrims cancel BATCH",
    "search": "search TEXT",
    "list_audits": "audits LEAGUE",
    "invite_machine": "machine invite",
    "list_machine_invitations": "machine invitations",
    "revoke_machine_invitation": "machine invitations --revoke INVITATION",
    "join_machine": "machine join ADDRESS CODE",
    "list_machines": "machine list",
    "read_machine": "machine show MACHINE",
    "revoke_machine": "machine revoke MACHINE",
    "drain_machine": "machine drain MACHINE",
    "trust_machine": "machine trust MACHINE checked",
    "resume_machine": "machine resume MACHINE",
    "list_suspects": "suspects LEAGUE",
    "share_place": "share-place TEAM TEAM --league LEAGUE",
    "separate": "separate PLACE --league LEAGUE",
    "disqualify": "disqualify LEAGUE SUBJECT",
    "reinstate": "reinstate LEAGUE SUBJECT",
    "preview_rejudgement": "rejudge LEAGUE",
    "create_rejudgement": "rejudge LEAGUE --apply",
    "read_rejudgement": "rejudgement REJUDGEMENT",
}
"""The command that makes a call, by the name of the operation."""


@dataclass(frozen=True, slots=True)
class CallExample:
    """How to make one call."""

    curl: str
    python: str
    command: str | None
    """None if no command makes this call."""


def example_of(method: str, path: str, found: Json, shapes: Mapping[str, Json]) -> CallExample:
    """The example of an operation of the OpenAPI document."""
    address = re.sub(r"\{(\w+)\}", lambda found: found[1].upper(), path)
    query = {
        one["name"]: one["name"].upper()
        for one in found.get("parameters", ())
        if one["in"] == "query" and one["required"]
    }
    is_open = not found.get("security") or {} in found["security"]
    body, is_file = body_of(found, shapes)
    return CallExample(
        curl_line(method, address, query, body, is_open=is_open, is_file=is_file),
        python_lines(method, address, query, body, is_open=is_open, is_file=is_file),
        COMMANDS.get(found["operationId"]),
    )


def curl_line(
    method: str, address: str, query: Json, body: Any, *, is_open: bool, is_file: bool
) -> str:
    """The call as a command of curl."""
    words = ["curl"]
    if method != "GET" and not (method == "POST" and (is_file or body is not None)):
        words += ["-X", method]
    if not is_open:
        words += ["-H", '"Authorization: Bearer $PECK_TOKEN"']
    if is_file:
        words += ["-F", "file=@main.py"]
    elif body is not None:
        words += ["-H", "'Content-Type: application/json'", "-d", shlex.quote(json.dumps(body))]
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    words.append(f'"$PECK_URL{address}?{asked}"' if asked else f"$PECK_URL{address}")
    return " ".join(words)


def python_lines(
    method: str, address: str, query: Json, body: Any, *, is_open: bool, is_file: bool
) -> str:
    """The call with Python's httpx."""
    given = [f'f"{{url}}{address}"']
    if query:
        given.append(f"params={query!r}")
    if not is_open:
        given.append('headers={"Authorization": f"Bearer {token}"}')
    if is_file:
        given.append('files={"file": open("main.py", "rb")}')
    elif body is not None:
        given.append(f"json={body!r}")
    return f"httpx.{method.lower()}({', '.join(given)})"


def body_of(found: Json, shapes: Mapping[str, Json]) -> tuple[Any, bool]:
    """An example of the body, and whether the body is a file."""
    content: Json = found.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return None, bool(content)
    return value_of(content["application/json"].get("schema", {}), shapes), False


def value_of(schema: Json, shapes: Mapping[str, Json], depth: int = 0) -> Any:
    """An example of a value: the schema's own, else its needed members."""
    if "$ref" in schema:
        return value_of(shapes[schema["$ref"].rsplit("/", 1)[-1]], shapes, depth)
    if schema.get("examples"):
        return schema["examples"][0]
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return value_of(schema["anyOf"][0], shapes, depth)
    if schema.get("type") == "object":
        needed = schema.get("required", ()) if depth < DEEPEST else ()
        members = schema.get("properties", {})
        return {name: value_of(members[name], shapes, depth + 1) for name in needed}
    return {"array": [], "integer": 1, "number": 1.0, "boolean": True}.get(
        schema.get("type", ""), "TEXT"
    )
