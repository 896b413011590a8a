"""``peck admin check-standings`` calculates official standings of a real database again."""

from __future__ import annotations

import json
from pathlib import Path

from ladder.ratings import live_ratings
from ladder.ratings.fitting import OfficialFitter
from tests import typed
from tests.integration.ladder.contest import Contest


def check(folder: Path, url: str, season: str, *options: str) -> tuple[int, str, str]:
    given = {"PECK_DATABASE_URL": url}
    done = typed.peck(folder, given, "admin", "check-standings", season, *options)
    return done.returncode, done.stdout, done.stderr


def test_changed_digest_of_a_standing_is_found(
    contest: Contest, database_url: str, tmp_path: Path
) -> None:
    four = [contest.active() for _ in range(4)]
    fitter = OfficialFitter()
    for _ in range(2):
        contest.play(contest.rated(*four), [1, 2, 3, 4])
        live_ratings.rate_season(contest.conn, contest.season.id)
        fitter.refit(contest.conn, contest.season.id)
    status, out, _ = check(tmp_path, database_url, contest.season.id, "--json")
    assert {row["version"]: row["result"] for row in json.loads(out)} == {2: "same", 1: "same"}
    assert status == 0

    contest.conn.execute("alter table standings disable trigger user")
    contest.conn.execute("update standings set digest = repeat('0', 64) where version = 2")
    contest.conn.execute("update standings set content = null where version = 1")
    status, out, _ = check(tmp_path, database_url, contest.season.id, "--json")
    changed, dropped = json.loads(out)
    assert "different" in check(tmp_path, database_url, contest.season.id)[1]
    assert changed["result"] == "different"
    assert "the rows of version 1 were dropped" in dropped["result"]
    assert status == 1


def test_season_without_standing_is_named(database_url: str, tmp_path: Path) -> None:
    status, _, err = check(tmp_path, database_url, "sea_none")
    assert (status, err.splitlines()) == (
        2,
        ["peck: season: there is no official standing of sea_none; give a season id"],
    )
