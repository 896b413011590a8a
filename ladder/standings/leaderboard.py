"""Reads the board of a season and its revision; ``board_ranking`` computes the board."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ladder.database.db import Connection
from ladder.entries import medal_lines
from ladder.enums import Visibility
from ladder.errors import NotFound
from ladder.ids import EntryId, SeasonId, TeamId, is_id
from ladder.leagues import measures as leagues_measures
from ladder.leagues import seasons
from ladder.leagues.measures import Measure
from ladder.leagues.medals import MedalRules, sealed_medals_of_season
from ladder.people.resources import LeagueResource
from ladder.ratings import standing_versions
from ladder.ratings.official.standing import OfficialPlace
from ladder.ratings.solo_seasons import season_worst_reward, totals_from_json
from ladder.ratings.standing_versions import StandingVersion
from ladder.standings.board_ranking import Board, BoardRows, build_board
from ladder.standings.board_records import BoardEntry, MedalTerms, OfficialVersion

ENTRY: Final = (
    "e.id, e.agent_id, a.name, e.team_id, t.name, e.mu, e.sigma, e.games, e.last_match_at,"
    " e.is_anchor, d.entry_id is not null, e.profile = 'remote', e.state = 'paused',"
    " coalesce(("
    "   select min(p.place) from shared_places p join teams o on o.id = p.team_id"
    "   where p.season_id = s.id and e.team_id in (o.id, o.merged_into)"
    "   and s.official_version between p.from_version"
    "     and coalesce(p.until_version, s.official_version)),"
    "   b.digest || ':' || e.profile),"
    " e.totals::text"  # JSON as text: it is parsed once, not in each row
    " from entries e left join declared_entries d on d.entry_id = e.id"
    " join agents a on a.id = e.agent_id join teams t on t.id = e.team_id"
    " join seasons s on s.id = e.season_id join submissions b on b.id = e.submission_id"
)


def board_entry(
    row: tuple[Any, ...],
    place: OfficialPlace | None,
    estimates: tuple[leagues_measures.Estimate, ...] = (),
) -> BoardEntry:
    """Returns the entry in a row of ``ENTRY``."""
    return BoardEntry(*(*row[:11], place, estimates, *row[11:14]))


def read_board(
    conn: Connection,
    season_id: SeasonId,
    supposed: Mapping[EntryId, OfficialPlace] | None = None,
    unsealed: Collection[TeamId] = (),
    totals: Mapping[EntryId, leagues_measures.Totals] | None = None,
) -> Board:
    """Returns the whole board and its revision. Raises NotFound.

    Cache it by revision: the board changes only with the season's revision. ``supposed`` replaces
    the places, ``totals`` the totals of some entries. Teams in ``unsealed`` count as without seals.
    """
    season = board_season(conn, season_id)
    rows = conn.execute(
        f"select {ENTRY} where e.season_id = %s and e.state in ('active', 'paused')",
        (season_id,),
    ).fetchall()
    found = standing_versions.latest_version(conn, season_id)
    version, places = (None, {}) if found is None else found
    if supposed is not None:
        places = dict(supposed)
    worst = season_worst_reward(conn, season_id, season.measures, totals)
    totals = totals or {}

    def estimates(row: tuple[Any, ...]) -> tuple[leagues_measures.Estimate, ...]:
        if not season.measures:
            return ()
        own = totals[row[0]] if row[0] in totals else totals_from_json(json.loads(row[-1]))
        return leagues_measures.estimates(season.measures, own, worst)

    contenders = [
        board_entry(row, places.get(row[0]), estimates(row))
        for row in rows
        if row[0] in places or season.measures or not season.is_final
    ]
    terms = medal_terms(conn, season, version if supposed is None else None, contenders, unsealed)
    standings = build_board(contenders, season.score_offset, terms, season.measures)
    return season.board(version, standings, terms, places)


@dataclass(frozen=True, slots=True)
class BoardSeason:
    """What the row of a season says about its board."""

    season_id: SeasonId
    revision: int
    score_offset: float
    accepted_no: int
    medals: str
    medal_confidence: float
    medal_teams: int | None
    is_final: bool
    mu0: float
    measures: tuple[Measure, ...]
    oldest_xid: int
    """All changes of the database by transactions before this one were visible."""

    def board(
        self,
        version: StandingVersion | None,
        rows: BoardRows,
        terms: MedalTerms,
        places: Mapping[EntryId, OfficialPlace],
    ) -> Board:
        """Returns the board with these rows."""
        fitted = None
        if version is not None:
            fitted = OfficialVersion(
                version.version, version.log_no, version.made_at, version.wrong_medals
            )
        return Board(
            season_id=self.season_id,
            revision=self.revision,
            accepted_no=self.accepted_no,
            fitted=fitted,
            rows=rows,
            terms=terms,
            measures=self.measures,
            places=places,
            oldest_xid=self.oldest_xid,
        )


def board_season(conn: Connection, season_id: SeasonId) -> BoardSeason:
    """Reads the season's row. Raises NotFound."""
    row = conn.execute(
        """
        select revision, score_offset, accepted_no, medals::text, medal_confidence, medal_teams,
        final_version is not null, mu0, measures::text,
        pg_snapshot_xmin(pg_current_snapshot())::text::bigint from seasons where id = %s
        """,
        (season_id,),
    ).fetchone()
    if row is None:
        raise NotFound.of("season")
    measures = seasons.measures_from_json(json.loads(row[8] or "null"))
    return BoardSeason(season_id, *(*row[:8], measures, row[9]))


def medal_terms(
    conn: Connection,
    season: BoardSeason,
    version: StandingVersion | None,
    shown: Iterable[BoardEntry],
    unsealed: Collection[TeamId] = (),
) -> MedalTerms:
    """Returns the medal rules of a season; without seals of the teams in ``unsealed``.

    ``shown`` are the entries of the board. The scores of reference agents among them place the
    lines that name them.
    """
    sealed = sealed_medals_of_season(conn, season.season_id)
    teams = season.medal_teams
    if teams is None and version is not None:
        teams = version.teams
    stated = MedalRules.from_json(json.loads(season.medals))
    scores: dict[str, float] = {}
    if any(stated.agents):
        names = medal_lines.anchor_names(conn, season.season_id)
        scores = {
            names[each.entry_id]: each.mu + season.score_offset
            if each.official is None
            else each.official.score
            for each in shown
            if each.entry_id in names
        }
    return MedalTerms(
        stated.placed(scores, season.mu0),
        season.medal_confidence,
        teams,
        {team: medal for team, medal in sealed.items() if team not in unsealed},
        season.is_final,
        stated,
    )


@dataclass(frozen=True, slots=True)
class BoardHead:
    """Data needed before sending a cached board."""

    season_id: SeasonId
    revision: int
    league: LeagueResource


HEAD: Final = """
    select s.id, s.revision, l.id, l.visibility from seasons s join leagues l on l.id = s.league_id
    """
CURRENT: Final = "where l.slug = %s and s.opens_at <= now() order by s.number desc limit 1"


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
    return f"{HEAD} where s.id = %s" if is_id(key, "sea") else f"{HEAD} {CURRENT}"


def head_of_row(row: tuple[Any, ...] | None) -> BoardHead | None:
    """Returns the head in a row of ``head_query``; None for None."""
    if row is None:
        return None
    season_id, revision, league_id, visibility = row
    return BoardHead(season_id, revision, LeagueResource(league_id, Visibility(visibility)))
