"""Uploads: streamed, limited, hashed, repeatable."""

from __future__ import annotations

import base64
import hashlib
import re
import tarfile
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI

from ladder.people import quotas
from services.api_client import ApiError
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import GOOD, World


def upload(world: World, content: object, query: str = "", **headers: str) -> httpx.Response:
    agent = world.agents["public.member"]
    return world.http.post(
        f"/v1/agents/{agent}/submissions{query}",
        content=content,  # type: ignore[arg-type]
        headers={**world.client("member").headers, **headers},
    )


def test_an_upload_answers_with_entry_queue_and_limits(fresh_world: World) -> None:
    made = fresh_world.client("member").upload(
        f"/v1/agents/{fresh_world.agents['public.member']}/submissions",
        GOOD + b"#2",
        season="public",
        message="second",
    )
    assert made["submission"]["message"] == "second"
    assert made["submission"]["size_bytes"] == len(GOOD) + 2
    assert made["entry"]["state"] == "pending"
    assert made["entry"]["queue"]["position"] == 0
    limits = made["limits"]
    assert (limits["used"], limits["allowed"], limits["left"]) == (3, 20, 17)
    assert limits["resets_at"].endswith("T00:00:00Z")


def test_repeated_bytes_are_the_same_submission(world: World) -> None:
    first = upload(world, b"same", f"?season={world.seasons['public']}")
    again = upload(world, b"same", f"?season={world.seasons['public']}")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["submission"] == again.json()["submission"]
    assert first.json()["entry"]["id"] == again.json()["entry"]["id"]
    assert first.json()["limits"]["used"] == again.json()["limits"]["used"]


def test_equal_bytes_of_another_team_are_another_submission(world: World) -> None:
    mine = world.client("member").upload(
        f"/v1/agents/{world.agents['public.member']}/submissions", b"common"
    )
    theirs = world.client("rival").upload(
        f"/v1/agents/{world.agents['public.rival']}/submissions", b"common"
    )
    assert mine["submission"]["id"] != theirs["submission"]["id"]


def test_an_uploaded_bundle_can_enter_another_league(fresh_world: World) -> None:
    member = fresh_world.client("member")
    entered = member.post(
        "/v1/seasons/private/entries", {"submission": fresh_world.submissions["public.member"]}
    )
    assert entered["entry"]["submission_id"] == fresh_world.submissions["public.member"]
    assert entered["entry"]["state"] == "pending"
    assert (
        len(
            member.get(f"/v1/submissions/{fresh_world.submissions['public.member']}/entries")[
                "items"
            ]
        )
        == 2
    )


def test_both_ways_into_a_season_have_one_default_of_the_profile(fresh_world: World) -> None:
    member = fresh_world.client("member")
    agent, season = fresh_world.agents["public.member"], fresh_world.seasons["public"]
    member.upload(
        f"/v1/agents/{agent}/submissions", GOOD + b"#science", season=season, profile="science"
    )
    at_once = member.upload(f"/v1/agents/{agent}/submissions", GOOD + b"#at once", season=season)
    later = member.upload(f"/v1/agents/{agent}/submissions", GOOD + b"#later")["submission"]["id"]
    entered = member.post(f"/v1/seasons/{season}/entries", {"submission": later})
    assert at_once["entry"]["profile"] == entered["entry"]["profile"] == "science"


def test_the_daily_limit_answers_429_with_the_reset_time(fresh_world: World) -> None:
    host = fresh_world.client("host")
    season = host.post("/v1/leagues/public/seasons", {"seats": 2, "daily_limit": 1})
    query = f"?season={season['id']}"
    assert upload(fresh_world, b"one", query).status_code == 201
    refused = upload(fresh_world, b"two", query)
    assert refused.status_code == 429
    problem = refused.json()
    assert (problem["used"], problem["left"]) == (1, 0)
    assert int(refused.headers["retry-after"]) > 0
    assert problem["resets_at"]
    rows = list(
        fresh_world.client("member").list_items(
            f"/v1/agents/{fresh_world.agents['public.member']}/submissions"
        )
    )
    assert not any(row["digest"] == digest(b"two") for row in rows)
    assert not fresh_world.blobs.exists(digest(b"two"))
    assert upload(fresh_world, b"one", query).status_code == 200


def test_a_bundle_above_the_limit_is_refused(fresh_world: World) -> None:
    season = fresh_world.client("host").post(
        "/v1/leagues/public/seasons", {"seats": 2, "max_bundle_bytes": 2048}
    )
    query, large = f"?season={season['id']}", b"x" * 5000
    declared = upload(fresh_world, large, query)
    assert (declared.status_code, declared.json()["limit_bytes"]) == (413, 2048)
    chunked = upload(fresh_world, (large[i : i + 500] for i in range(0, 5000, 500)), query)
    assert (chunked.status_code, chunked.json()["type"]) == (413, "/problems/too-large")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_content_digest_is_checked(world: World) -> None:
    right = base64.b64encode(hashlib.sha256(b"body").digest()).decode()
    wrong = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    good = upload(world, b"body", **{"Content-Digest": f"sha-256=:{right}:"})
    assert good.status_code == 201
    bad = upload(world, b"body", **{"Content-Digest": f"sha-512=:eA==:, sha-256=:{wrong}:"})
    assert (bad.status_code, bad.json()["type"]) == (422, "/problems/digest-mismatch")


def send_form(world: World, body: bytes, query: str = "", **headers: str) -> httpx.Response:
    kind = "multipart/form-data; boundary=XX"
    return upload(world, body, query, **{"Content-Type": kind, **headers})


def part(content: bytes, disposition: str = 'name="file"; filename="main.py"') -> bytes:
    head = f"--XX\r\nContent-Disposition: form-data; {disposition}\r\n\r\n"
    return head.encode() + content + b"\r\n"


def test_a_form_upload_stores_only_the_file(world: World) -> None:
    content = GOOD + b"\r\n--not the boundary\r\n"
    made = world.http.post(
        f"/v1/agents/{world.agents['public.member']}/submissions",
        files={"file": ("goose.py", content)},
        headers=world.client("member").headers,
    ).json()["submission"]
    assert (made["digest"], made["filename"]) == (digest(content), "goose.py")
    assert b"".join(world.blobs.open(made["digest"])) == content


def test_a_form_and_the_raw_bytes_are_the_same_submission(world: World) -> None:
    content = bytes(range(256)) * 3000
    body = part(content) + b"--XX--\r\n"
    checked = base64.b64encode(hashlib.sha256(body).digest()).decode()
    first = send_form(world, body, "?filename=a.zip", **{"Content-Digest": f"sha-256=:{checked}:"})
    again = upload(world, content)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["submission"] == again.json()["submission"]
    assert first.json()["submission"]["filename"] == "a.zip"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (part(b"x") + part(b"y") + b"--XX--", "more than one file"),
        (part(b"public", 'name="season"') + b"--XX--", "a field 'season' that is no file"),
        (b"--XX--\r\n", "broken|no file"),
        (part(b"x"), "the form has no end"),
        (b"def agent(o): return 1\n", "the form is broken"),
        (b"--XX\r\n" + b"A: " + b"a" * 9000 + b"\r\n\r\nx\r\n--XX--", "the form is broken"),
        (part(b"") + b"--XX--", "the upload is empty"),
    ],
)
def test_a_form_without_exactly_one_file_is_refused(world: World, body: bytes, reason: str) -> None:
    season = world.seasons["public"]
    before = world.client("member").get(f"/v1/seasons/{season}/limits")["used"]
    refused = send_form(world, body, f"?season={season}")
    assert refused.status_code in (400, 422)
    assert re.search(reason, refused.json()["detail"])
    assert "main.py" in refused.json()["detail"]
    assert world.client("member").get(f"/v1/seasons/{season}/limits")["used"] == before


def test_a_form_without_a_boundary_is_refused(world: World) -> None:
    for kind in ("multipart/form-data", "multipart/mixed; boundary=XX"):
        refused = send_form(world, part(b"x") + b"--XX--", **{"Content-Type": kind})
        assert refused.status_code == 422
        assert "only multipart/form-data with a boundary" in refused.json()["detail"]


def test_a_form_upload_has_the_bundle_limit(fresh_world: World) -> None:
    season = fresh_world.client("host").post(
        "/v1/leagues/public/seasons", {"seats": 2, "max_bundle_bytes": 2048}
    )
    query = f"?season={season['id']}"
    assert send_form(fresh_world, part(b"x" * 2048) + b"--XX--", query).status_code == 201
    refused = send_form(fresh_world, part(b"x" * 2049) + b"--XX--", query)
    assert (refused.status_code, refused.json()["limit_bytes"]) == (413, 2048)


def test_an_agent_without_submissions_can_be_deleted(world: World) -> None:
    member = world.client("member")
    made = member.post("/v1/agents", {"name": "Short lived"})
    member.delete(f"/v1/agents/{made['id']}")
    assert made["id"] not in [row["id"] for row in member.list_items("/v1/agents", limit=200)]
    with pytest.raises(ApiError, match="an agent with submissions cannot be deleted"):
        member.delete(f"/v1/agents/{world.agents['public.member']}")


def test_an_empty_body_is_refused(world: World) -> None:
    assert upload(world, b"").status_code == 422


@pytest.mark.parametrize(
    ("name", "query", "content"),
    [
        ("readme.txt", "", b"Read this first."),
        ("notes.md", "&filename=notes.md", b"Read this first."),
        ("upload", "", "agent = 'Gänse'".encode("latin-1")),
        ("blob", "", b"agent = 'cut off \xc3"),
        ("-", "", b"\x7fELF\0\0"),
    ],
)
def test_a_file_that_is_no_agent_is_refused_uncounted(
    world: World, name: str, query: str, content: bytes
) -> None:
    season = world.seasons["public"]
    before = world.client("member").get(f"/v1/seasons/{season}/limits")["used"]
    body = part(content, f'name="file"; filename="{name}"') + b"--XX--"
    refused = send_form(world, body, f"?season={season}{query}")
    assert refused.status_code == 422
    assert re.search(rf"send a \.py file, .*: {re.escape(name)} is neither", refused.text)
    assert world.client("member").get(f"/v1/seasons/{season}/limits")["used"] == before
    assert not world.blobs.exists(digest(content))


@pytest.mark.parametrize("name", ["upload", "file", "blob", "-"])
def test_python_under_an_invented_name_is_accepted(world: World, name: str) -> None:
    content = f"# Gänse {name}\n".encode() + GOOD
    body = part(content, f'name="file"; filename="{name}"') + b"--XX--"
    assert send_form(world, body).status_code == 201


def test_python_as_form_bytes_of_httpx_is_accepted(world: World) -> None:
    made = world.http.post(
        f"/v1/agents/{world.agents['public.member']}/submissions",
        files={"file": GOOD + b"# httpx"},
        headers=world.client("member").headers,
    )
    assert made.status_code == 201
    assert made.json()["submission"]["filename"] == "upload"


def old_tar() -> bytes:
    """A tar of the seventh Unix, without the word ustar."""
    made = tarfile.TarInfo("main.py")
    made.size = len(GOOD)
    head = bytearray(made.tobuf(tarfile.USTAR_FORMAT))
    head[257:265] = bytes(8)
    head[148:156] = b"        "
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + GOOD + bytes(-len(GOOD) % 512 + 1024)


@pytest.mark.parametrize("name", ["agent.v2", "agent"])
def test_an_archive_of_any_name_is_accepted(world: World, name: str) -> None:
    for content in (b"\x1f\x8b any", b"PK\x03\x04 any", old_tar()):
        sent = upload(world, content + name.encode(), f"?filename={name}")
        assert sent.status_code == 201


def test_a_large_bundle_arrives_whole(world: World) -> None:
    content = bytes(range(256)) * 20_000
    made = world.client("member").upload(
        f"/v1/agents/{world.agents['public.member']}/submissions", content
    )
    assert b"".join(world.blobs.open(made["submission"]["digest"])) == content


def test_a_locked_season_takes_no_uploads(fresh_world: World) -> None:
    season = fresh_world.seasons["public"]
    fresh_world.client("host").patch(f"/v1/seasons/{season}", {"state": "locked"})
    refused = upload(fresh_world, b"late", f"?season={season}")
    assert refused.status_code == 409
    assert "locked" in refused.json()["detail"]


def test_a_viewer_of_a_private_league_may_not_enter(world: World) -> None:
    world.client("host").put(
        f"/v1/leagues/private/members/{world.users['rival']}", {"role": "viewer"}
    )
    with pytest.raises(ApiError, match="to make you a competitor") as refused:
        world.client("rival").upload(
            f"/v1/agents/{world.agents['public.rival']}/submissions", GOOD, season="private"
        )
    assert refused.value.status == 403


def test_uploads_without_a_season_have_a_daily_limit(
    fresh_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "UPLOADS", 6)  # the world made four today
    assert [upload(fresh_world, b"free %d" % n).status_code for n in range(3)] == [201, 201, 429]
    refused = upload(fresh_world, b"free 2")
    assert (refused.json()["allowed"], refused.json()["left"]) == (6, 0)
    assert refused.json()["resets_at"]
    assert int(refused.headers["retry-after"]) > 0
    assert not fresh_world.blobs.exists(digest(b"free 2"))
    assert upload(fresh_world, b"free 1").status_code == 200, "what is here already costs nothing"


def test_the_bytes_uploaded_per_day_are_limited(
    fresh_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "UPLOAD_MB", 2)
    large = [bytes([n]) * (1 << 20) for n in range(2)]
    assert [upload(fresh_world, content).status_code for content in large] == [201, 429]
    assert "megabytes" in upload(fresh_world, large[1]).json()["limit"]


def test_a_refused_upload_deletes_no_bytes_of_other_teams(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.client("rival").upload(
        f"/v1/agents/{world.agents['public.rival']}/submissions", b"held by the rival"
    )
    monkeypatch.setattr(quotas, "UPLOADS", 0)
    assert upload(world, b"held by the rival").status_code == 429
    assert world.blobs.exists(digest(b"held by the rival"))


def test_simultaneous_uploads_of_a_person_are_limited(fresh_world: World, app: FastAPI) -> None:
    release, statuses = threading.Event(), []

    def slow() -> Iterator[bytes]:
        yield b"slow"
        release.wait(120)
        yield threading.current_thread().name.encode()

    def send() -> None:
        statuses.append(upload(fresh_world, slow()).status_code)

    threads = [threading.Thread(target=send) for _ in range(3)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 120
    while app.state.peck.intake.senders.total() < 3:
        assert time.monotonic() < until
        time.sleep(0.05)
    answer = upload(fresh_world, b"one more")
    assert answer.status_code == 429
    assert answer.json()["limit"] == "uploads of a person at a time"
    other = fresh_world.client("rival").upload(
        f"/v1/agents/{fresh_world.agents['public.rival']}/submissions", b"not held up"
    )
    assert other["submission"]["id"]
    release.set()
    for thread in threads:
        thread.join(120)
    assert statuses == [201, 201, 201]
    assert upload(fresh_world, b"one more again").status_code == 201
