"""`peck api`: one act of each shape, and names where the API takes ids."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.integration.api.commands import Peck, read
from tests.integration.api.commands import peck as peck
from tests.integration.api.shared import world as world
from tests.integration.api.world import GOOD, World, begin_rated


def test_operations_are_listed_by_subject_and_by_word(peck: Peck) -> None:
    listed = peck("api").stdout
    assert "Teams\n" in listed
    assert "create-team-invitation" in listed
    found = peck("api", "invitation").stdout
    assert "create-team-invitation" in found
    assert "list-matches" not in found
    unknown = peck("api", "fly-away")
    assert unknown.returncode == 1
    assert "has no operation fly-away" in unknown.stderr
    assert "POST /v1/teams" in peck("api", "create-team", "--help").stdout


def test_document_is_kept_by_its_etag(peck: Peck, tmp_path: Path) -> None:
    assert peck("api", "read-me").returncode == 0
    (kept,) = (tmp_path / ".cache" / "peck").iterdir()
    tag, _, content = kept.read_text().partition("\n")
    assert tag.startswith('W/"')
    kept.write_text(f"{tag}\n{content.replace('Create a team', 'Kept here')}")
    assert "Kept here" in peck("api", "create-team", "--help").stdout
    kept.write_text("damaged")
    assert "Create a team" in peck("api", "create-team", "--help").stdout


def test_list_is_read_page_by_page(peck: Peck, world: World) -> None:
    first = peck("api", "list-matches", "season=public", "limit=1")
    assert "there are more: --all reads all pages" in first.stderr
    total = len(list(world.client("member").list_items("/v1/matches", season="public")))
    pages = read(peck("api", "list-matches", "season=public", "limit=1", "--all", "--json"))
    assert len(pages["items"]) == total > 1


def test_team_is_made_renamed_and_left_by_names(peck: Peck, world: World) -> None:
    made = read(peck("api", "create-team", "name=Night Geese", "--json"))
    team = made["slug"]
    invited = read(peck("api", "create-team-invitation", made["id"], "max_uses=2", "--json"))
    code = f"code={invited['code']}"
    assert peck("api", "join-team", code, PECK_TOKEN=world.tokens["rival"]).returncode == 0
    listed = read(peck("api", "list-team-invitations", team, "--json"))["items"]
    assert [row["uses"] for row in listed] == [1]
    revoked = peck("api", "revoke-team-invitation", team, invited["id"])
    assert revoked.returncode == 0
    assert peck("api", "hand-over-team", team, "user=Rival", "--yes").returncode == 0
    assert peck("api", "remove-team-member", team, "member").stdout == "done\n"
    wrong = peck("api", "create-team-invitation", team, "max_uses=0")
    assert wrong.stderr.splitlines() == [
        "peck: max_uses: use whole number, 1 to 100",
        "  next: peck api create-team-invitation --help",
    ]


def test_act_that_nobody_can_undo_needs_a_yes(peck: Peck) -> None:
    team = read(peck("api", "create-team", "name=Short Lived", "--json"))["slug"]
    refused = peck("api", "dissolve-team", team)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"peck: add --yes to dissolve a team ({team}): All members")
    assert peck("api", "read-team", team).returncode == 0
    assert peck("api", "dissolve-team", team, "--yes").returncode == 0
    assert peck("api", "read-team", team).returncode == 1


def test_file_is_uploaded_and_data_is_downloaded(peck: Peck, world: World, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_bytes(GOOD + b"# by peck api")
    sent = peck("api", "upload-submission", "flood-public-member", "main.py", "--json")
    assert read(sent)["submission"]["filename"] == "main.py"
    saved = peck("api", "export-account", "--out", "mine.zip")
    assert saved.stdout.startswith("wrote mine.zip, ")
    assert zipfile.ZipFile(tmp_path / "mine.zip").namelist()
    again = peck("api", "export-account", "--out", "mine.zip")
    assert "--out: mine.zip exists; name another file" in again.stderr
    assert "add --out FILE" in peck("api", "export-account").stderr


def test_roster_is_read_from_a_file(peck: Peck, world: World, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("name,team,role,external_id\nAda,Engines,competitor,s-1\n")
    roster = ("api", "import-roster", "public", "csv=@r.csv", "dry_run=yes")
    assert "Engines" in peck(*roster, PECK_TOKEN=world.tokens["host"]).stdout
    text = peck("api", "export-standings", "public", "format=csv").stdout
    assert text.startswith("rank,")


def test_stream_is_printed_event_by_event(peck: Peck, world: World) -> None:
    match = begin_rated(world, "public")
    with world.connect() as conn:
        conn.execute("update matches set state = 'void' where id = %s", (match,))
    shown = peck("api", "watch-match", match, "--follow")
    assert shown.returncode == 0, shown.stderr
    refused = peck("api", "read-me", "--follow")
    assert "leave out --follow: read-me has no stream" in refused.stderr


def test_action_without_a_body_ends_an_entry(peck: Peck, world: World) -> None:
    entry = world.entries["public.member"]
    assert read(peck("api", "retire-entry", entry, "--json"))["state"] == "retired"


def test_moderation_takes_names(peck: Peck, world: World) -> None:
    host = {"PECK_TOKEN": world.tokens["host"]}
    act = ("api", "disqualify", "public", "subject=flood-public-rival", "reason=a test", "--json")
    assert len(read(peck(*act, **host))["entries"]) == 1
    assert "a test" in peck("api", "list-audits", "public", **host).stdout
    nobody = peck("api", "disqualify", "public", "subject=nobody", "reason=x", **host)
    assert "there is no agent 'nobody'" in nobody.stderr


def test_scrim_is_asked_for_by_names(peck: Peck, world: World) -> None:
    lineup = "lineup=flood-public-host,flood-public-host"
    made = peck("api", "ask-for-scrim", "season=public", lineup, "games=1", "--json")
    assert made.returncode in (0, 1)
    assert "age_" not in made.stderr


@pytest.mark.parametrize(
    ("command", "word"), [("suspects", "suspects"), ("league rename", "rename")]
)
def test_unknown_command_points_to_the_operations(peck: Peck, command: str, word: str) -> None:
    done = peck(*command.split())
    assert done.returncode == 2
    assert done.stderr.endswith(f"peck api {word} searches all operations of the site\n")
