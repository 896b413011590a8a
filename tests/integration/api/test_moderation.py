"""Moderation by a host over HTTP and by `peck`."""

from __future__ import annotations

from typing import Any

import pytest

from ladder.errors import Invalid
from ladder.ids import SeasonId
from ladder.moderation import disqualifications, rejudgements
from ladder.ratings import live_ratings
from ladder.ratings.fitting import OfficialFitter
from services.api_client import ApiError, Client
from tests.integration.api.browsing import browse
from tests.integration.api.commands import Peck, peck, read  # noqa: F401 - a fixture
from tests.integration.api.world import World, finish
from tests.suspect_favourites import write_favourite


def moderation_audits(host: Client) -> list[dict[str, Any]]:
    """The audit log of the public league, without what the making of the world wrote."""
    return [
        row
        for row in host.list_items("/v1/leagues/public/audits")
        if row["act"] not in ("role", "new-season")
    ]


def test_only_the_owner_reads_why_an_entry_is_disqualified(world: World) -> None:
    host, entry = world.client("host"), world.entries["public.member"]
    done = host.post(
        f"/v1/seasons/{world.seasons['public']}/disqualifications",
        {"subject": world.agents["public.member"], "reason": "It colludes."},
    )
    assert done["entries"] == [entry]
    seen = {
        person: world.client(person).get(f"/v1/entries/{entry}")
        for person in ("stranger", "member")
    }
    assert all(one["disqualified_at"] and one["state"] == "retired" for one in seen.values())
    assert seen["stranger"]["reason"] is None
    assert seen["member"]["reason"] == "disqualified: It colludes."
    board = host.list_items(f"/v1/seasons/{world.seasons['public']}/leaderboard")
    assert entry not in {row["entry_id"] for row in board}
    page = world.http.get(f"/agents/{world.agents['public.member']}").text
    assert "disqualified" in page
    assert "It colludes" not in page
    with pytest.raises(ApiError) as refused:
        world.client("member").upload(
            f"/v1/agents/{world.agents['public.member']}/submissions",
            b"new",
            season=world.seasons["public"],
        )
    assert (refused.value.slug, "disqualified" in str(refused.value)) == ("conflict", True)


def test_the_page_takes_the_exact_name_of_an_agent_or_a_team(world: World) -> None:
    season, agent = SeasonId(world.seasons["public"]), world.agents["public.member"]
    with world.connect() as conn:
        (name, slug, team, team_name) = conn.execute(
            "select a.name, a.slug, t.id, t.name from agents a join teams t on t.id = a.team_id"
            " where a.id = %s",
            (agent,),
        ).fetchone() or ("", "", "", "")
        assert disqualifications.find_subject(conn, season, name.upper()) == agent
        assert disqualifications.find_subject(conn, season, slug) == agent
        assert disqualifications.find_subject(conn, season, team_name) == team
        assert disqualifications.find_agent_id(conn, season, slug, "x") == agent
        for wrong in ("\0", "no such"):
            with pytest.raises(Invalid, match="give an exact name"):
                disqualifications.find_subject(conn, season, wrong)
        with pytest.raises(Invalid, match="the season has no agent"):
            disqualifications.find_agent_id(conn, season, team_name, "x")
        conn.execute("update teams set name = %s where id = %s", (name, team))
        with pytest.raises(Invalid, match=f"several have the name .*{agent}, {team}"):
            disqualifications.find_subject(conn, season, name)
        conn.rollback()


def test_a_host_disqualifies_by_name_on_the_page(world: World) -> None:
    path = "/leagues/public/moderation"
    with world.connect() as conn:
        (slug,) = conn.execute(
            "select slug from agents where id = %s", (world.agents["public.member"],)
        ).fetchone() or ("",)
    with browse(world, "host") as browser:
        address = f"/seasons/{world.seasons['public']}/disqualify"
        done = browser.send(path, address, subject=slug, reason="It colludes.")
        assert done.status_code == 200
    entry = world.client("host").get(f"/v1/entries/{world.entries['public.member']}")
    assert entry["disqualified_at"]


def test_a_repeated_disqualification_request_is_recorded_once(world: World) -> None:
    host = world.client("host")
    address = f"/v1/seasons/{world.seasons['public']}/disqualifications"
    options = {
        "headers": {"Idempotency-Key": "once"},
        "json": {"subject": world.entries["public.member"], "reason": "It colludes."},
    }
    first, again = (host.send("POST", address, **options) for _ in range(2))
    assert first.json() == again.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(moderation_audits(host)) == 1


def test_the_audit_log_is_paged_newest_first(world: World) -> None:
    host, season, entry = world.client("host"), world.seasons["public"], "public.member"
    for n in range(2):
        host.post(
            f"/v1/seasons/{season}/disqualifications",
            {"subject": world.entries[entry], "reason": f"reason {n}"},
        )
        host.post(
            f"/v1/seasons/{season}/reinstatements",
            {"subject": world.entries[entry], "reason": f"undone {n}"},
        )
    listed = list(host.list_items("/v1/leagues/public/audits", limit=3))[:4]
    assert [row["reason"] for row in listed] == ["undone 1", "reason 1", "undone 0", "reason 0"]
    assert {(row["by_name"], row["season_id"]) for row in listed} == {("host", season)}


def test_an_invalid_subject_is_refused_with_the_field_named(world: World) -> None:
    host, season = world.client("host"), world.seasons["public"]
    for subject, slug in (("flood", "invalid"), (world.entries["private.member"], "not-found")):
        with pytest.raises(ApiError, match="subject: ") as refused:
            host.post(
                f"/v1/seasons/{season}/disqualifications", {"subject": subject, "reason": "because"}
            )
        assert refused.value.slug == slug


def judge_all(world: World) -> None:
    """Do the work of the scheduler, the workers, the rater and the fit."""
    with world.connect() as conn:
        for act, match_id in rejudgements.matches_to_queue(conn, ["numpy"]):
            made = rejudgements.queue_replacement_match(conn, act, match_id)
            conn.commit()
            assert made is not None
            finish(conn, world.blobs, made)
        live_ratings.rate_season(conn, SeasonId(world.seasons["public"]))


def test_a_rejudgement_is_previewed_applied_and_followed(peck: Peck, world: World) -> None:  # noqa: F811
    season, token = world.seasons["public"], {"PECK_TOKEN": world.tokens["host"]}
    with world.connect() as conn:
        OfficialFitter().refit(conn, SeasonId(season))
    asked = ("public", "predicate.node=node")
    seen = read(peck("api", "preview-rejudgement", *asked, "--json", **token))
    assert (seen["total"], seen["version"]) == (1, 1)
    assert [row["match_id"] for row in seen["matches"]] == [world.matches["public.rated"]]
    assert {row["team_name"] for row in seen["changes"]} == {"Team member", "Team host"}
    assert moderation_audits(world.client("host")) == []

    made = read(peck("api", "create-rejudgement", *asked, "reason=a bad node", "--json", **token))
    assert (made["waiting"], made["predicate"]) == (1, {"node": "node"})
    judge_all(world)
    done = read(peck("api", "read-rejudgement", made["id"], "--json", **token))
    assert (done["done"], done["total"]) == (1, 1)
    (audit,) = moderation_audits(world.client("host"))
    assert (audit["act"], audit["subject"]) == ("rejudge", made["id"])


def test_a_rejudgement_is_called_off(world: World) -> None:
    host = world.client("host")
    made = host.post(
        f"/v1/seasons/{world.seasons['public']}/rejudgements",
        {"reason": "a bad node", "predicate": {"node": "node"}},
    )
    assert (made["state"], made["ended_at"]) == ("judging", None)
    ended = host.post(f"/v1/rejudgements/{made['id']}/cancellations", {"reason": "it is fine"})
    assert (ended["state"], ended["refused"]) == ("cancelled", 1)
    assert [audit["act"] for audit in moderation_audits(host)] == ["cancel", "rejudge"]
    with pytest.raises(ApiError, match="it has already ended") as refused:
        host.post(f"/v1/rejudgements/{made['id']}/cancellations", {"reason": "again"})
    assert refused.value.slug == "conflict"


def test_an_empty_or_unmatched_predicate_is_refused(world: World) -> None:
    host, season = world.client("host"), world.seasons["public"]
    with pytest.raises(ApiError, match="give at least one condition on matches"):
        host.post(f"/v1/seasons/{season}/rejudgements/preview", {"predicate": {}})
    assert (
        host.post(
            f"/v1/seasons/{season}/rejudgements/preview",
            {"predicate": {"agent": world.agents["public.rival"]}},
        )["total"]
        == 0
    )
    with pytest.raises(ApiError, match="matches no valid result") as refused:
        host.post(
            f"/v1/seasons/{season}/rejudgements",
            {"reason": "because", "predicate": {"verdict": "TIMEOUT"}},
        )
    assert refused.value.slug == "conflict"


def test_a_host_lists_suspects_and_lets_teams_share_a_place(peck: Peck, world: World) -> None:  # noqa: F811
    season, token = world.seasons["public"], {"PECK_TOKEN": world.tokens["host"]}
    assert "version" in peck("api", "list-suspects", "public", **token).stdout
    with world.connect() as conn:
        OfficialFitter().refit(conn, SeasonId(season))
    both = world.teams["member"], world.teams["host"]
    share = ("api", "share-place", "public", f"teams={','.join(both)}", "reason=copies", "--json")
    made = read(peck(*share, **token))
    assert sorted(made["teams"]) == sorted(both)
    assert "copies" in peck("api", "list-suspects", "public", **token).stdout
    refused = peck(*share, **token)
    assert (refused.returncode, "shares a place already" in refused.stderr) == (1, True)
    assert peck("api", "separate", "public", made["id"], "reason=copies", **token).returncode == 0
    acts = [row["act"] for row in moderation_audits(world.client("host"))]
    assert acts == ["separate", "share_place"]


def test_a_host_reads_which_entries_lose_to_a_favourite(world: World) -> None:
    with world.connect() as conn:
        season = SeasonId(world.seasons["public"])
        OfficialFitter().refit(conn, season)
        write_favourite(conn, season)
    (favourite,) = world.client("host").get("/v1/seasons/public/suspects")["favourites"]
    (thrower,) = favourite["throwers"]
    assert (thrower["meetings"], thrower["lost"], thrower["last"]) == (3, 3, 2)
