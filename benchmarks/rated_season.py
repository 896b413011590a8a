"""Creates a database with a rated season for the benchmarks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from games import GAMES
from ladder import ids
from ladder.database import db, migrate
from ladder.leagues import leagues, seasons
from ladder.people import users
from services.run import embedded_servers
from tests import servers


@contextmanager
def postgres(state: Path) -> Iterator[str]:
    """A migrated database for this benchmark."""
    given = os.environ.get(servers.GIVEN)
    server = None if given else embedded_servers.start_postgres(state)
    with servers.cloned(server.url if server else str(given), "template1") as url:
        migrate.migrate(url)
        yield url
    if server is not None:
        server.stop()


def create_rated_season(url: str, agents: int) -> str:
    """Write a season with this many rated agents, each of its own team; returns the season's id."""
    with db.connect(url) as conn:
        host = users.create_user(conn, "host").id
        league = leagues.create_league(
            conn,
            slug="bench",
            title="Bench",
            game="hungry_geese",
            visibility="public",
            replay_visibility="public",
            created_by=host,
        )
        season = seasons.create_season(
            conn,
            league.id,
            seasons.SeasonColumns(
                configuration=GAMES["hungry_geese"].configure({}),
                configuration_digest="0" * 64,
                clock={},
                seats=4,
            ),
        )
        keys = [
            tuple(ids.new_id(prefix) for prefix in ("tea", "age", "sub", "ent"))
            for _ in range(agents)
        ]
        tables = {
            "teams (id, slug, name)": ((k[0], f"t{n}", f"Team {n}") for n, k in enumerate(keys)),
            "agents (id, team_id, slug, name)": (
                (k[1], k[0], "a", f"Agent {n}") for n, k in enumerate(keys)
            ),
            "submissions (id, agent_id, digest, size_bytes, filename)": (
                (k[2], k[1], f"{n:064x}", 100, "main.py") for n, k in enumerate(keys)
            ),
            "entries (id, season_id, agent_id, team_id, submission_id, state, mu, sigma, games,"
            " last_match_at)": (
                (k[3], season.id, k[1], k[0], k[2], "active", 600 + n / 100, 40.0, 200, "now")
                for n, k in enumerate(keys)
            ),
        }
        for table, rows in tables.items():
            with conn.cursor().copy(f"copy {table} from stdin") as copy:
                for row in rows:
                    copy.write_row(row)
        conn.execute("update seasons set revision = 1")
    with db.connect(url, autocommit=True) as conn:
        conn.execute("vacuum analyze")
    return season.id


def add_standing(url: str, season: str) -> None:
    """Give the season an official standing, by the live ratings."""
    with db.connect(url) as conn:
        rated = conn.execute(
            "select id, mu from entries where season_id = %s order by mu desc", (season,)
        ).fetchall()
        places = [
            (entry, mu, 40.0, n, max(1, n - 9), n + 9, (0.0, 0.0, 0.5), 0.1)
            for n, (entry, mu) in enumerate(rated, 1)
        ]
        conn.execute(
            "insert into standings (season_id, version, log_no, seed, fitted_by, boundary_weight,"
            " centre, spread, kappa, reference, teams, wrong_medals, digest, content)"
            " values (%s, 1, 1, 1, 1, 1, 0, 1, 0, 0, %s, 1, '', %s)",
            (season, len(rated), json.dumps(places)),
        )
        conn.execute("update seasons set official_version = 1, revision = revision + 1")
