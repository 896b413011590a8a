"""The home page: a match to watch, what just happened, and the leagues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from games import GAMES
from ladder.database.db import Connection
from ladder.entries import entries
from ladder.entries.records import Newcomers
from ladder.leagues import leagues, records, seasons
from ladder.leagues.records import League, Season
from ladder.matches import history
from ladder.matches.match_titles import lineup_title, match_title
from ladder.matches.records import Match
from ladder.people.permissions import may_see
from ladder.people.records import Viewer
from ladder.reports import front_page, highlights, next_match
from ladder.reports.front_page import PlayedMatch
from ladder.reports.highlights import Interest
from ladder.standings.board_records import BoardRow
from ladder.tournaments import views
from services.http.app_state import AppState, Db, State
from services.web import live
from services.web.documents import game_paths
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
LEAGUES_SHOWN: Final = 12
TOP_SHOWN: Final = 3
UPSETS_SHOWN: Final = 4
NEWCOMERS_SHOWN: Final = 5
HIGHLIGHTS_READ: Final = 12


@dataclass(frozen=True, slots=True)
class LeagueCard:
    """A league with the top of its leaderboard."""

    league: League
    season: Season | None
    top: tuple[BoardRow, ...]
    teams: int
    newcomers: Newcomers | None
    """What new agents do while no team has a rank."""
    has_picture: bool


@router.get("/")
def show_home(request: Request, conn: Db, app_state: AppState, viewer: Visitor) -> Response:
    """Shows one match, news and leagues that the visitor may see."""
    cards = league_cards(conn, app_state, viewer)
    playing = [card.season.id for card in cards if card.season]
    recent = front_page.recent_matches(conn, playing)
    return render(
        request,
        "home.html",
        cards=cards,
        more=len(cards) == LEAGUES_SHOWN,
        upsets=front_page.upsets(recent, UPSETS_SHOWN),
        newcomers=front_page.newcomers(conn, viewer, NEWCOMERS_SHOWN),
        playing=live.playing_now(conn, viewer),
        running=views.list_running(conn, viewer),
        **shown_match(conn, app_state, viewer, lambda: recent),
    )


@router.get("/shown")
def show_next_match(
    request: Request, conn: Db, app_state: AppState, viewer: Visitor, seen: live.Seen = ""
) -> Response:
    """The part of the home page with a match, after those of ``seen``."""
    shown = shown_match(
        conn, app_state, viewer, lambda: _recent(conn, viewer), live.seen_before(seen)
    )
    return render(request, "parts/shown_match.html", **shown)


def league_cards(conn: Connection, app_state: State, viewer: Viewer) -> list[LeagueCard]:
    """The leagues that the visitor may see, each with the top of its board."""
    found = []
    for league in leagues.list_leagues_by_activity(conn, viewer, LEAGUES_SHOWN):
        if not may_see(viewer, records.league_resource(league)):
            continue
        season = seasons.current_season(conn, league.id)
        rows = app_state.boards.board(season.id, season.revision).rows if season else ()
        ranked = [row for row in rows if row.rank is not None]
        newcomers = entries.count_newcomers(
            conn, viewer, [season.id] if season and not ranked else []
        )
        found.append(
            LeagueCard(
                league=league,
                season=season,
                top=tuple(ranked[:TOP_SHOWN]),
                teams=len(ranked),
                newcomers=newcomers.get(season.id) if season else None,
                has_picture=f"games/{league.game}.md" in game_paths(),
            )
        )
    return found


def shown_match(
    conn: Connection,
    app_state: State,
    viewer: Viewer,
    recent: Callable[[], list[PlayedMatch]],
    past: Sequence[str] = (),
) -> dict[str, Any]:
    """The match to watch after those of ``past``, as the player's template needs it.

    The highlights of the last 24 hours come first, then the good matches among ``recent``.
    """
    found = highlights.list_highlights(conn, viewer, limit=HIGHLIGHTS_READ)
    best = (
        one.match
        for one in found
        if one.league.game in GAMES and live.is_kept(app_state, one.match)
    )
    groups = (best, _good_matches(conn, app_state, viewer, recent))
    match = next_match.choose_next(groups, past, next_match.last_league(conn, past))
    if match is None:
        return {"match": None}
    interest = next((one.interest for one in found if one.match.id == match.id), None)
    return {
        **player_values(match, leagues.get_league(conn, match.league_id), interest),
        "past": live.past_with(past, match.id),
        "seen": bool(past),
    }


def _good_matches(
    conn: Connection, app_state: State, viewer: Viewer, recent: Callable[[], list[PlayedMatch]]
) -> Iterator[Match]:
    """Recent matches whose replay the visitor may see, the best first."""
    waiting = [one for one in recent() if is_shown_by_player(one, conn)]
    while best := front_page.best_match(waiting, datetime.now(UTC)):
        for match in history.get_matches(conn, [best.match_id], viewer):
            if match.access.has_replay and live.is_kept(app_state, match):
                yield match
        waiting.remove(best)


def _recent(conn: Connection, viewer: Viewer) -> list[PlayedMatch]:
    found = leagues.list_leagues_by_activity(conn, viewer, LEAGUES_SHOWN)
    playing = [seasons.current_season(conn, one.id) for one in found]
    return front_page.recent_matches(conn, [one.id for one in playing if one])


def player_values(match: Match, league: League, interest: Interest | None) -> dict[str, Any]:
    """What the player's template reads."""
    at = match.finished_at or match.created_at
    return {
        "match": match,
        "is_today": datetime.now(UTC) - at < timedelta(days=1),
        "reasons": interest.reasons if interest else (),
        "neutral": lineup_title(match),
        "title": match_title(match),
        "league": league,
        "seated": sorted(match.seats, key=lambda seat: seat.seat),
        "episode_address": f"/matches/{match.id}/episode.json?position=0",
        "position": 0,
        "logs": {},
    }


def is_shown_by_player(one: PlayedMatch, conn: Connection) -> bool:
    """Whether the player draws the boards of the match's game."""
    return seasons.get_season(conn, one.season_id).game in GAMES
