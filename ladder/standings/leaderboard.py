"""Reads the board of a season and its revision; ``board_ranking`` computes the board."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ladder.database.db import Connection
from ladder.enums import ReplayVisibility, Visibility
from ladder.errors import NotFound
from ladder.ids import EntryId, SeasonId, TeamId, is_id
from ladder.leagues import measures as leagues_measures
from ladder.leagues import sealed_medals, seasons
from ladder.leagues.medals import MedalRules
from ladder.people.permissions import LeagueResource
from ladder.ratings import standing_versions
from ladder.ratings.official.standing import OfficialPlace
from ladder.ratings.solo_seasons import season_worst_reward, totals_from_json
from ladder.standings.board_ranking import (
    Board,
    BoardEntry,
    MedalTerms,
    OfficialVersion,
    build_board,
)


def read_board(
    conn: Connection,
    season_id: SeasonId,
    supposed: Mapping[EntryId, OfficialPlace] | None = None,
    unsealed: Collection[TeamId] = (),
    totals: Mapping[EntryId, leagues_measures.Totals] | None = None,
) -> Board:
    """Returns the whole board and its revision, from one moment. Raises NotFound.

    Cache it by revision: the board changes only with the season's revision. ``supposed`` replaces
    the places, ``totals`` the totals of some entries. Teams in ``unsealed`` count as without seals.
    """
    rows = conn.execute(
        # JSON as text: it is parsed once, not in each row.
        "select s.revision, s.score_offset, s.accepted_no, s.medals::text, s.medal_confidence,"
        " s.medal_teams, s.final_version is not null, e.id, e.agent_id, a.name, e.team_id, t.name,"
        " e.mu, e.sigma, e.games, e.last_match_at, e.is_anchor, d.entry_id is not null,"
        " e.totals::text, e.profile = 'remote', e.state = 'paused', s.measures::text"
        " from seasons s"
        " left join entries e on e.season_id = s.id and e.state in ('active', 'paused')"
        " left join declared_entries d on d.entry_id = e.id"
        " left join agents a on a.id = e.agent_id left join teams t on t.id = e.team_id"
        " where s.id = %s",
        (season_id,),
    ).fetchall()
    if not rows:
        raise NotFound.of("season")
    revision, score_offset, accepted_no, medals, confidence, teams, is_final = rows[0][:7]
    sealed = sealed_medals.sealed_medals_of_season(conn, season_id)
    sealed = {team: medal for team, medal in sealed.items() if team not in unsealed}
    measures = seasons.measures_from_json(json.loads(rows[0][-1] or "null"))
    fitted, places = None, dict[EntryId, OfficialPlace]()
    found = standing_versions.latest_version(conn, season_id)
    if found is not None:
        version, places = found
        fitted = OfficialVersion(
            version.version, version.log_no, version.made_at, version.wrong_medals
        )
        teams = version.teams if teams is None and supposed is None else teams
    rules = MedalRules.from_json(json.loads(medals))
    terms = MedalTerms(rules, confidence, teams, sealed, is_final)
    if supposed is not None:
        places = dict(supposed)
    worst = season_worst_reward(conn, season_id, measures, totals)
    totals = totals or {}

    def estimates(row: tuple[Any, ...]) -> tuple[leagues_measures.Estimate, ...]:
        if not measures:
            return ()
        own = totals[row[7]] if row[7] in totals else totals_from_json(json.loads(row[18]))
        return leagues_measures.estimates(measures, own, worst)

    contenders = (
        BoardEntry(*(*row[7:18], places.get(row[7]), estimates(row), *row[19:21]))
        for row in rows
        if row[7] is not None and (row[7] in places or measures or not is_final)
    )
    standings = build_board(contenders, score_offset, terms, measures)
    return Board(season_id, revision, accepted_no, fitted, standings, terms, measures)


@dataclass(frozen=True, slots=True)
class BoardHead:
    """Data needed before sending a cached board."""

    season_id: SeasonId
    revision: int
    league: LeagueResource


def board_head(conn: Connection, key: str) -> BoardHead:
    """Returns the head for a season id or, for a league slug, of its current season. One query.

    Raises NotFound.
    """
    head = head_of_row(conn.execute(head_query(key), (key,)).fetchone())
    if head is None:
        raise NotFound.of("season")
    return head


def head_query(key: str) -> str:
    """Returns the query for the row of ``head_of_row``; its argument is the key."""
    which = "s.id = %s"
    if not is_id(key, "sea"):
        which = "l.slug = %s and s.opens_at <= now() order by s.number desc limit 1"
    return (
        "select s.id, s.revision, l.id, l.visibility, l.replay_visibility"  # noqa: S608
        f" from seasons s join leagues l on l.id = s.league_id where {which}"
    )


def head_of_row(row: tuple[Any, ...] | None) -> BoardHead | None:
    """Returns the head in a row of ``head_query``; None for None."""
    if row is None:
        return None
    season_id, revision, league_id, visibility, replays = row
    league = LeagueResource(league_id, Visibility(visibility), ReplayVisibility(replays))
    return BoardHead(season_id, revision, league)


def board_revision(conn: Connection, season_id: SeasonId) -> int:
    """Returns the season's revision, which is the board's ETag. Raises NotFound."""
    row = conn.execute("select revision from seasons where id = %s", (season_id,)).fetchone()
    if row is None:
        raise NotFound.of("season")
    return int(row[0])
