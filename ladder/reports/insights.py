"""Reads an entry's games, times and prospects for its insights.

Every query is bounded: the entry's last games, the season's last hour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, TypeVar

from pydantic import computed_field

from ladder.database.db import Connection
from ladder.entries import validations
from ladder.entries.records import Entry, EntryState
from ladder.field_types import RECORD
from ladder.ids import AgentId, EntryId, MatchId
from ladder.leagues import measures
from ladder.leagues.measures import Estimate
from ladder.leagues.records import Season
from ladder.people.permissions import may_see
from ladder.people.records import Viewer
from ladder.people.resources import TeamPrivateResource
from ladder.ratings import standing_versions
from ladder.ratings.official.standing import OfficialPlace
from ladder.ratings.rating_updates import Rating
from ladder.ratings.solo_seasons import season_worst_reward, totals_from_json
from ladder.reports import entry_analysis
from ladder.reports.entry_analysis import (
    OpponentRecord,
    OtherSeat,
    PlayedMatch,
    SeatWinShare,
    TimeSummary,
    Upset,
    WinShare,
)

Opponent = TypeVar("Opponent", OpponentRecord, Upset)
WITHIN: Final = 25.0
"""Default precision of a score, in points."""
GAMES: Final = 1000
"""Newest games of the entry that are read."""
OPPONENTS: Final = 30
"""Rows of the head-to-head table: the most frequent opponents."""
UPSETS: Final = 3
SHORTEST_PACE: Final = 600.0
"""Least time in seconds over which a pace is measured, for a league that began just now."""
PACE_SAMPLE: Final = 2000
"""Newest results of the season's last hour that are read."""
WAIT_SAMPLE: Final = 20


@dataclass(frozen=True, slots=True)
class LeaguePace:
    """How fast the league plays, by its last hour, or since its first result."""

    __pydantic_config__ = RECORD
    matches_an_hour: float
    games_an_hour: float | None
    """Mean of the active entries; null without active entries."""
    measured_seconds: float = 3600.0
    """Time over which the pace was measured."""


@dataclass(frozen=True, slots=True)
class Strengths:
    """Duels by the opponent's present score. Near means within half a beta."""

    __pydantic_config__ = RECORD
    stronger: WinShare
    near: WinShare
    weaker: WinShare


@dataclass(frozen=True, slots=True)
class Insights:
    """Insights of one entry, from its newest rated games without withdrawn results."""

    __pydantic_config__ = RECORD
    entry_id: EntryId
    games: int
    """Number of games that these numbers use."""
    official: OfficialPlace | None
    estimates: tuple[Estimate, ...]
    """Each measure over all games, if a match has one seat; then opponents and games_left are
    empty."""
    opponents: tuple[OpponentRecord, ...]
    """The opponents met most often."""
    opponents_met: int
    strengths: Strengths
    seats: tuple[SeatWinShare, ...]
    upsets_won: tuple[Upset, ...]
    upsets_lost: tuple[Upset, ...]
    verdicts: dict[str, int]
    times: TimeSummary | None
    """Shown only to its team."""
    games_left: int | None
    """Games until the score is known to +-within points at 95 %; null: games alone never suffice,
    because results of pairs here do not follow one score each."""
    pace: LeaguePace
    first_match_seconds: float | None
    """Expected seconds until its first rated match ends. Null after it, or if unknown. Only for the
    team while the entry waits for validation."""
    within: float
    """Requested precision of the score, in points."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def hours_left(self) -> float | None:
        """``games_left`` in hours, at the pace of the last hour."""
        if self.games_left is None or not self.pace.games_an_hour:
            return None
        return self.games_left / self.pace.games_an_hour


def read_insights_for(
    conn: Connection, who: Viewer, entry: Entry, season: Season, within: float = WITHIN
) -> Insights:
    """Returns what this viewer may see; the caller has checked access to entry and league."""
    found = read_insights(conn, entry, season, within)
    if may_see(who, TeamPrivateResource(entry.team_id)):
        return found
    if entry.state is EntryState.PENDING:
        found = replace(found, first_match_seconds=None)
    return replace(found, times=None)


def read_insights(conn: Connection, entry: Entry, season: Season, within: float) -> Insights:
    """Returns all insights; ``within`` is in points."""
    games = _recent_games(conn, entry.id)
    found = standing_versions.latest_version(conn, season.id)
    places = {} if found is None else found[1]
    place = places.get(entry.id)
    live = Rating(entry.mu + season.score_offset, entry.sigma)
    own = live if place is None else Rating(place.score, place.sigma)
    opponents = entry_analysis.head_to_head(games)
    scores = _opponent_scores(conn, season, games, places)
    fought = entry_analysis.duels(games, own, scores, season.beta)
    won, lost = entry_analysis.upsets(fought, UPSETS)
    pace = read_pace(conn, season)
    shown = opponents[:OPPONENTS]
    names = _opponent_names(
        conn, {row.agent_id for row in shown} | {row.agent_id for row in won + lost}
    )

    def named(row: Opponent) -> Opponent:
        agent_name, team_name, team_id = names[row.agent_id]
        return replace(row, agent_name=agent_name, team_name=team_name, team_id=team_id)

    return Insights(
        entry_id=entry.id,
        games=len(games),
        official=place,
        estimates=_measure_estimates(conn, entry, season),
        opponents=tuple(map(named, shown)),
        opponents_met=len(opponents),
        strengths=Strengths(**entry_analysis.shares_by_strength(fought)),
        seats=tuple(entry_analysis.shares_by_seat(games, fought)),
        upsets_won=tuple(map(named, won)),
        upsets_lost=tuple(map(named, lost)),
        verdicts=dict(Counter(game.verdict for game in games)),
        times=entry_analysis.time_summary(games, season.clock["act_seconds"]),
        games_left=entry_analysis.games_left(
            own.sigma,
            within,
            beta=season.beta,
            seats=season.seats,
            strays=0.0 if found is None else found[0].kappa ** 2,
            repeated=entry_analysis.opponent_repetition(opponents),
        ),
        pace=pace,
        first_match_seconds=first_match_seconds(conn, entry, season, pace),
        within=within,
    )


def _measure_estimates(conn: Connection, entry: Entry, season: Season) -> tuple[Estimate, ...]:
    row = conn.execute("select totals from entries where id = %s", (entry.id,)).fetchone()
    assert row is not None
    worst = season_worst_reward(conn, season.id, season.measures)
    return measures.estimates(season.measures, totals_from_json(row[0]), worst)


def read_pace(conn: Connection, season: Season) -> LeaguePace:
    """Returns the pace of the last hour, from its newest results if there are very many.

    A league whose first result is younger is measured since then.
    """
    row = conn.execute(
        """
        select count(*), extract(epoch from now() - min(created_at)),
        (select extract(epoch from now() - created_at) from acceptances where season_id = %s
          and no = 1),
        (select count(*) from entries where season_id = %s and state = 'active'
          and pairing_weight > 0)
        from (select created_at from acceptances where season_id = %s order by no desc
          limit %s) a where created_at > now() - interval '1 hour'
        """,
        (season.id, season.id, season.id, PACE_SAMPLE),
    ).fetchone()
    assert row is not None
    count, spanned, lived, active = row
    seconds = min(3600.0, max(SHORTEST_PACE, float(lived or 0.0)))
    if count == PACE_SAMPLE:
        seconds = max(1.0, float(spanned))
    an_hour = count * 3600 / seconds
    return LeaguePace(an_hour, an_hour * season.seats / active if active else None, seconds)


def first_match_seconds(
    conn: Connection, entry: Entry, season: Season, pace: LeaguePace | None = None
) -> float | None:
    """Returns the seconds until the entry's first rated match should end.

    They include validation, the wait for the next lineup, and the duration of the match. None after
    the first match, or if unknown.
    """
    pace = pace or read_pace(conn, season)
    if entry.games or pace.matches_an_hour == 0:
        return None
    validation = 0.0
    if entry.state is EntryState.PENDING:
        place = validations.queue_place_of(conn, entry.id)
        if place is None or place.eta_seconds is None:
            return None
        validation = place.eta_seconds
    elif entry.state is not EntryState.ACTIVE:
        return None
    row = conn.execute(
        """
        select avg(extract(epoch from m.finished_at - m.created_at)) from (
          select match_id from acceptances where season_id = %s order by no desc limit %s) a
        join matches m on m.id = a.match_id
        """,
        (season.id, WAIT_SAMPLE),
    ).fetchone()
    if row is None or row[0] is None:
        return None
    wait = 0.0 if entry.in_flight else 3600 / pace.matches_an_hour
    return validation + wait + float(row[0])


def _recent_games(conn: Connection, entry_id: EntryId) -> list[PlayedMatch]:
    """Returns the entry's last valid rated matches, newest first."""
    rows = conn.execute(
        """
        with mine as materialized (
          select season_id, match_id, no from ratings where entry_id = %s order by no desc
          limit %s)
        select m.match_id, a.created_at, t.seat, t.entry_id, t.agent_id, t.placement, t.reward,
        t.verdict, t.charged_seconds, t.max_move_seconds
        from mine m join acceptances a on a.season_id = m.season_id and a.no = m.no
          and a.act = 'accept'
        join seats t on t.match_id = m.match_id
        where not exists (select 1 from acceptances w where w.match_id = a.match_id
          and w.act = 'withdraw')
        order by m.no desc, t.placement, t.seat
        """,
        (entry_id, GAMES),
    )
    games = []
    for match_id, seats in groupby(rows, key=lambda row: row[0]):
        listed = list(seats)
        # An entry in several seats is rated by its best placement.
        own = next(row for row in listed if row[3] == entry_id)
        games.append(
            PlayedMatch(
                match_id=MatchId(match_id),
                at=own[1],
                seat=own[2],
                placement=own[5],
                reward=own[6],
                verdict=own[7],
                charged_seconds=own[8],
                max_move_seconds=own[9],
                rivals=tuple(
                    OtherSeat(EntryId(row[3]), AgentId(row[4]), *row[5:8])
                    for row in listed
                    if row[3] != entry_id
                ),
            )
        )
    return games


def _opponent_scores(
    conn: Connection,
    season: Season,
    games: Iterable[PlayedMatch],
    places: dict[EntryId, OfficialPlace],
) -> dict[EntryId, Rating]:
    """Returns the opponents' current scores: official, or live if they no longer play."""
    met = sorted({rival.entry_id for game in games for rival in game.rivals})
    rows = conn.execute("select id, mu, sigma from entries where id = any (%s)", (met,))
    scores = {EntryId(row[0]): Rating(row[1] + season.score_offset, row[2]) for row in rows}
    for entry_id in scores:
        if entry_id in places:
            scores[entry_id] = Rating(places[entry_id].score, places[entry_id].sigma)
    return scores


def _opponent_names(
    conn: Connection, agent_ids: Iterable[AgentId]
) -> dict[AgentId, tuple[str, str, str]]:
    """Name, team and team id of each agent."""
    rows = conn.execute(
        """
        select a.id, a.name, t.name, t.id from agents a join teams t on t.id = a.team_id
        where a.id = any (%s)
        """,
        (sorted(agent_ids),),
    )
    return {AgentId(agent_id): tuple(names) for agent_id, *names in rows}
