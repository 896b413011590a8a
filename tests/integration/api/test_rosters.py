"""Rosters and exported standings through the API and the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from ladder.ids import SeasonId
from ladder.moderation.disqualifications import disqualify
from ladder.standings import participants
from services.api_client import ApiError
from tests.integration.api.browsing import browse
from tests.integration.api.commands import Peck, read
from tests.integration.api.commands import peck as peck
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.world import World

ROSTER = "name,team,role,external_id\nMember,,,s-1\nSomebody,,viewer,s-2\n"


def enlist(world: World) -> None:
    """Put the member, who has a team in the public league, on the roster; the member joins."""
    made = world.client("host").post("/v1/leagues/public/roster", {"csv": ROSTER})
    member, code = world.client("member"), made["items"][0]["code"]
    member.post(
        "/v1/join",
        {"code": code, "terms": member.post("/v1/join/terms", {"code": code})["terms"]["digest"]},
    )


def test_only_hosts_see_external_ids_in_the_export(world: World) -> None:
    enlist(world)
    for person in ("host", "admin"):
        found = json.loads(world.client(person).send("GET", "/v1/seasons/public/standings").text)
        ids = {row["team"]: row["external_ids"] for row in found["items"]}
        assert ids == {"Team member": ["s-1"], "Team host": [], "Team rival": []}
        (line,) = [
            row
            for row in world.client(person).get("/v1/leagues/public/roster")["items"]
            if row["user_id"]
        ]
        assert (line["external_id"], line["user_name"]) == ("s-1", "member")
    for person in ("stranger", "rival", "member"):
        for form in ("json", "csv"):
            text = (
                world.client(person)
                .send("GET", "/v1/seasons/public/standings", params={"format": form})
                .text
            )
            assert "external_id" not in text
            assert "s-1" not in text


def test_the_csv_export_contains_no_formula(world: World) -> None:
    names = {
        "public.host": "=1+1",
        "public.member": 'a "quoted", name; =HYPERLINK("x");\uff1d2',
    }
    with world.connect() as conn:
        for key, name in names.items():
            conn.execute("update agents set name = %s where id = %s", (name, world.agents[key]))
    text = (
        world.client("host")
        .send("GET", "/v1/seasons/public/standings", params={"format": "csv"})
        .text
    )
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    board = list(world.client("host").list_items("/v1/seasons/public/leaderboard"))
    assert [row["team_id"] for row in rows] == [row["team_id"] for row in board]
    assert [row["rank"] for row in rows] == ["1", "2", ""]
    told = {row["agent"] for row in rows}
    assert {"'=1+1", 'a "quoted", name;\' =HYPERLINK("x");\'\uff1d2'} <= told
    for between in ",;\t":  # separators of spreadsheets in several countries
        cells = [cell for row in csv.reader(text.splitlines(), delimiter=between) for cell in row]
        assert not [cell for cell in cells if cell.strip().startswith(tuple("=+-@\uff1d"))]


def test_a_faulty_roster_is_refused_as_a_whole(world: World) -> None:
    host = world.client("host")
    with pytest.raises(ApiError, match=r"line 3, role: 'chief'") as refused:
        host.post("/v1/leagues/public/roster", {"csv": ROSTER.replace("viewer", "chief")})
    assert refused.value.status == 422
    assert refused.value.problem["errors"] == [
        {"where": "line 3, role", "message": "'chief' is no role; write competitor or viewer"}
    ]
    assert host.get("/v1/leagues/public/roster")["items"] == []


def test_a_repeated_import_does_not_show_the_codes_again(world: World) -> None:
    headers = {**world.client("host").headers, "Idempotency-Key": "r1"}
    path, body = "/v1/leagues/private/roster", {"csv": ROSTER}
    first, again = (world.http.post(path, json=body, headers=headers) for _ in range(2))
    assert all(row["code"].startswith("join_") for row in first.json()["items"])
    assert [row["code"] for row in again.json()["items"]] == [None, None]


def test_peck_imports_a_roster_and_exports_standings(
    peck: Peck, world: World, tmp_path: Path
) -> None:
    as_host = {"PECK_TOKEN": world.tokens["host"]}
    (tmp_path / "roster.csv").write_text(ROSTER)
    load = ("api", "import-roster", "public", "csv=@roster.csv")
    assert "join_" not in peck(*load, "dry_run=true", **as_host).stdout
    made = read(peck(*load, "--json", **as_host))
    assert [row["change"] for row in made["items"]] == ["new", "new"]
    assert "s-2" in peck("api", "read-roster", "public", **as_host).stdout
    export = ("api", "export-standings", "public")
    assert peck(*export, "format=csv", "--out", "final.csv", **as_host).returncode == 0
    assert "external_ids" in (tmp_path / "final.csv").read_text().partition("\n")[0]
    assert "external_ids" not in peck(*export, PECK_TOKEN="").stdout
    assert peck("api", "read-roster", "public").returncode == 1


def test_hosts_export_who_passed_validation_and_where_everybody_stands(
    world: World, peck: Peck, tmp_path: Path
) -> None:
    enlist(world)
    world.client("host").post(
        "/v1/leagues/public/roster", {"csv": "name,team,role,external_id\n=Late,,competitor,s-3\n"}
    )
    with world.connect() as conn:
        conn.execute("update teams set name = '=1+1' where id = %s", (world.teams["rival"],))
    as_host = {"PECK_TOKEN": world.tokens["host"]}
    export = ("api", "export-participants", "public")
    done = peck(*export, "format=csv", "--out", str(tmp_path / "p.csv"), **as_host)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert [row["external_id"] for row in rows] == ["s-1", "s-3", "", ""]
    member, late, *others = rows
    assert (member["name"], member["account"], member["has_passed"]) == ("Member", "member", "True")
    assert (member["latest_state"], member["submissions"]) == ("rejected", "2")
    assert member["rank"] in ("1", "2")
    assert float(member["score"]) > 0
    assert (late["name"], late["user_id"], late["has_passed"]) == ("'=Late", "", "False")
    assert {row["team"] for row in others} == {"Team host", "'=1+1"}
    listed = read(peck(*export, "--json", **as_host))["items"]
    assert [row["external_id"] for row in listed[:2]] == ["s-1", "s-3"]
    with browse(world, "host") as browser, browse(world, "member") as member_browser:
        path = "/leagues/public/people/export"
        assert browser.get(path).content == (tmp_path / "p.csv").read_bytes()
        assert member_browser.get(path).status_code == 403


def test_a_disqualified_student_stands_in_both_exports(world: World) -> None:
    enlist(world)
    host, season, team = world.client("host"), world.seasons["public"], world.teams["member"]
    games = next(
        row for row in host.list_items("/v1/seasons/public/leaderboard") if row["team_id"] == team
    )["games"]
    host.post(f"/v1/seasons/{season}/disqualifications", {"subject": team, "reason": "it colludes"})
    (student,) = [
        row
        for row in json.loads(host.send("GET", "/v1/seasons/public/participants").text)["items"]
        if row["team_id"] == team
    ]
    assert student["latest_state"] == "disqualified"
    assert student["has_passed"]
    assert student["rank"] is student["score"] is student["medal"] is None
    rows = json.loads(host.send("GET", "/v1/seasons/public/standings").text)["items"]
    assert [row["is_disqualified"] for row in rows] == [False, False, True]
    assert rows[-1]["team_id"] == team
    assert rows[-1]["rank"] is rows[-1]["score"] is None
    assert rows[-1]["external_ids"] == ["s-1"]
    assert rows[-1]["games"] == games > 0
    last = list(
        csv.DictReader(
            io.StringIO(
                host.send("GET", "/v1/seasons/public/standings", params={"format": "csv"}).text
            )
        )
    )[-1]
    assert (last["team_id"], last["rank"], last["is_disqualified"]) == (team, "", "True")
    host.post(f"/v1/seasons/{season}/reinstatements", {"subject": team, "reason": "it did not"})
    rows = json.loads(host.send("GET", "/v1/seasons/public/standings").text)["items"]
    assert not any(row["is_disqualified"] for row in rows)


@pytest.mark.parametrize(
    ("state", "is_disqualified"),
    [("pending", False), ("paused", False), ("active", False), ("retired", False),
     ("rejected", True)],
)  # fmt: skip
def test_team_is_disqualified_only_without_another_entry(
    fresh_world: World, state: str, is_disqualified: bool
) -> None:
    season, team = SeasonId(fresh_world.seasons["public"]), fresh_world.teams["member"]
    entry = fresh_world.entries["public.member"]
    with fresh_world.connect() as conn:
        disqualify(conn, season, entry, by=None, reason="it colludes")
        conn.execute(
            """
            update entries set state = %(state)s,
                pause_cause = case when %(state)s = 'paused' then 'unreachable' end
            where season_id = %(season)s and team_id = %(team)s and id <> %(entry)s
            """,
            {"state": state, "season": season, "team": team, "entry": entry},
        )
        listed = participants.list_disqualified(conn, season, [])
    assert [row.team_id for row in listed] == [team] * is_disqualified


def test_team_with_an_older_retired_entry_is_disqualified(fresh_world: World) -> None:
    season, team = SeasonId(fresh_world.seasons["public"]), fresh_world.teams["member"]
    older, newer = (fresh_world.entries[f"public.{name}"] for name in ("member", "rejected"))
    with fresh_world.connect() as conn:
        conn.execute("update entries set state = 'retired' where id = %s", (older,))
        conn.execute("update entries set state = 'active' where id = %s", (newer,))
        disqualify(conn, season, newer, by=None, reason="it colludes")
        listed = participants.list_disqualified(conn, season, [])
    assert [row.team_id for row in listed] == [team]


def test_reference_agent_is_no_disqualified_team(fresh_world: World) -> None:
    season, entry = SeasonId(fresh_world.seasons["public"]), fresh_world.entries["public.member"]
    with fresh_world.connect() as conn:
        conn.execute("update entries set is_anchor = true where id = %s", (entry,))
        disqualify(conn, season, entry, by=None, reason="it plays badly")
        assert participants.list_disqualified(conn, season, []) == []
