"""Pages of leagues: the list, and a league's leaderboard with live updates."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.entries.records import Newcomers
from ladder.enums import MatchKind, MatchState
from ladder.errors import NotFound
from ladder.field_types import KEY
from ladder.ids import LeagueId, SeasonId
from ladder.leagues import leagues, members, records, seasons, terms
from ladder.leagues.records import League, Season
from ladder.matches import history
from ladder.matches.records import Match
from ladder.people.permissions import may_appoint, may_manage, may_see
from ladder.people.records import Viewer
from ladder.people.roles import STAFF
from ladder.reports import season_health
from ladder.standings.board_ranking import Board
from ladder.standings.board_records import BoardRow
from ladder.tournaments import tournaments, views
from services.http import etags, permissions
from services.http.app_state import AppState, Db, State
from services.http.path_parameters import LeagueKey
from services.web import documents, leaderboard_page
from services.web.live import playing_in_league
from services.web.page_rendering import PageRoute, not_modified, render
from services.web.session import Visitor
from services.web.sharing import league_sharing, site_address

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Number = Annotated[int, Query(ge=1, le=100_000)]
SeasonNumber = Annotated[int | None, Query(ge=1, le=100_000)]
Done = Literal["", "edited", "season"]
LEAGUES_SHOWN = 24
TOP_SHOWN = 3
RECENT = 8


@dataclass(frozen=True, slots=True)
class LeagueCard:
    """What the list shows of one league."""

    league: League
    teams: int
    agents: int
    matches: int
    is_finished: bool
    """Whether the current season is finished."""
    top: tuple[BoardRow, ...]
    recent: list[Match]


@dataclass(frozen=True, slots=True)
class PageConfirmation:
    """What the visitor just did, which the page confirms."""

    joined: bool = False
    done: Done = ""


NO_CONFIRMATION = PageConfirmation()


@router.get("/leagues")
def show_leagues(
    request: Request,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows the leagues that the visitor may see."""
    rows = leagues.list_leagues(conn, who, LeagueId(after) if after else None, LEAGUES_SHOWN)
    cards = []
    for league in rows:
        if not may_see(who, records.league_resource(league)):
            continue
        season = seasons.current_season(conn, league.id)
        standing = app_state.boards.board(season.id, season.revision).rows if season else ()
        ranked = (row for row in standing if row.rank is not None)
        cards.append(
            LeagueCard(
                league=league,
                teams=len({row.team_id for row in standing if not row.is_anchor}),
                agents=len({row.agent_id for row in standing if not row.is_anchor}),
                matches=season.accepted_no if season else 0,
                is_finished=season is not None and season.state == "finished",
                top=tuple(islice(ranked, TOP_SHOWN)),
                recent=finished_matches(conn, season, 1) if season else [],
            )
        )
    more = rows[-1].id if len(rows) == LEAGUES_SHOWN else None
    return render(request, "leagues.html", leagues=cards, more=more)


@router.get("/leagues/{league}")
def show_league(
    request: Request,
    league: LeagueKey,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    page: Number = 1,
    season: SeasonNumber = None,
    joined: bool = False,
    done: Done = "",
) -> Response:
    """Shows the leaderboard, recent matches and how to join."""
    found = permissions.visible_league(conn, who, league)
    confirmation = PageConfirmation(joined, done)
    return league_page(
        request, conn, app_state, who, found, page=page, season=season, confirmation=confirmation
    )


def league_page(
    request: Request,
    conn: Connection,
    app_state: State,
    who: Viewer,
    found: League,
    *,
    page: int = 1,
    season: int | None = None,
    confirmation: PageConfirmation = NO_CONFIRMATION,
    rehearsal_error: str | None = None,
) -> Response:
    """The page of a league, with what was just done, or why a rehearsal was refused."""
    every = seasons.list_seasons(conn, found.id)
    chosen = pick_season(conn, found, season)
    query = f"&season={season}" if season else ""
    values: dict[str, Any] = {}
    if chosen:
        board, newcomers, tag = shown_board(conn, app_state, who, chosen, page)
        values = {
            "board": leaderboard_page.cut_page(conn, board, page),
            "board_tag": tag,
            "newcomers": newcomers,
            "recent": finished_matches(conn, chosen, RECENT),
            "recent_tag": board_etag(chosen.id, chosen.revision, who, page),
            "pulse": season_health.read_health(conn, chosen, found),
        }
    return render(
        request,
        "league.html",
        status=422 if rehearsal_error else 200,
        league=found,
        rehearsal_error=rehearsal_error,
        sharing=league_sharing(request, found),
        season=chosen,
        has_reached_end=chosen is not None
        and chosen.ends_at is not None
        and chosen.ends_at <= datetime.now(UTC),
        seasons=every,
        upcoming=every[0] if every and chosen is None else None,
        season_query=query,
        rules=documents.rules_address(found.game),
        runs=may_manage(who, records.league_resource(found)),
        may_appoint=may_appoint(who, found.id),
        board_address=f"/leagues/{found.slug}/board?page={page}{query}",
        recent_address=f"/leagues/{found.slug}/recent?page={page}{query}",
        base_url=site_address(request),
        remote=terms.REMOTE,
        joined=confirmation.joined,
        done=confirmation.done,
        must_agree=lacks_agreement(conn, who, found),
        terms=terms.terms_text(terms.settings_of_league(found)),
        playing=playing_in_league(conn, who, found),
        running=views.list_running(conn, who, found.id),
        has_tournaments=bool(tournaments.list_tournaments(conn, who, found.id, limit=1)),
        **values,
    )


def lacks_agreement(conn: Connection, viewer: Viewer, league: League) -> bool:
    """Whether the league has graders or commentators, and the visitor is a member who agreed to
    terms without these roles."""
    if viewer.user_id is None or viewer.roles.get(league.id) in (None, *STAFF):
        return False
    agreement = terms.agreement_of_member(conn, league.id, viewer.user_id)
    return (
        agreement is not None
        and not agreement.names_staff
        and bool(members.list_staff(conn, league.id))
    )


@router.get("/leagues/{league}/board")
def show_board(
    request: Request,
    league: LeagueKey,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    page: Number = 1,
    season: SeasonNumber = None,
    if_none_match: etags.IfNoneMatch = None,
) -> Response:
    """The table alone, for live updates."""
    found = permissions.visible_league(conn, who, league)
    chosen = require_season(pick_season(conn, found, season))
    board, newcomers, tag = shown_board(conn, app_state, who, chosen, page)
    if etags.matches(if_none_match, tag):
        return not_modified(tag)
    return render(
        request,
        "parts/board.html",
        etag=tag,
        league=found,
        season=chosen,
        board=leaderboard_page.cut_page(conn, board, page),
        newcomers=newcomers,
    )


@router.get("/leagues/{league}/recent")
def show_recent(
    request: Request,
    league: LeagueKey,
    conn: Db,
    who: Visitor,
    page: Number = 1,
    season: SeasonNumber = None,
    if_none_match: etags.IfNoneMatch = None,
) -> Response:
    """The recent matches alone, for live updates."""
    found = permissions.visible_league(conn, who, league)
    chosen = require_season(pick_season(conn, found, season))
    tag = board_etag(chosen.id, chosen.revision, who, page)
    if etags.matches(if_none_match, tag):
        return not_modified(tag)
    recent = finished_matches(conn, chosen, RECENT)
    return render(request, "parts/recent.html", etag=tag, season=chosen, recent=recent)


def pick_season(conn: Connection, league: League, number: int | None) -> Season | None:
    """The season with this number, or the current one. Raises NotFound for an unknown number."""
    if number is None:
        return seasons.current_season(conn, league.id)
    found = [row for row in seasons.list_seasons(conn, league.id) if row.number == number]
    return require_season(found[0] if found else None)


def require_season(season: Season | None) -> Season:
    if season is None:
        raise NotFound.of("season")
    return season


def shown_board(
    conn: Connection, app_state: State, who: Viewer, season: Season, page: int
) -> tuple[Board, Newcomers | None, str]:
    """The leaderboard, what new agents do while no team has a rank, and the ETag of both."""
    board = app_state.boards.board(season.id, season.revision)
    newcomers = None
    if not board.rows.order.ranked_teams:
        newcomers = entries.count_newcomers(conn, who, [season.id]).get(season.id)
    return board, newcomers, board_etag(season.id, board.revision, who, page, newcomers)


def finished_matches(conn: Connection, season: Season, limit: int) -> list[Match]:
    """The newest finished rated matches of a season, the last to finish first."""
    found = history.list_matches(
        conn,
        season_id=season.id,
        kind=MatchKind.RATED,
        state=MatchState.FINISHED,
        limit=limit,
    )
    return sorted(found, key=lambda match: match.finished_at or match.created_at, reverse=True)


def board_etag(
    season_id: SeasonId, revision: int, who: Viewer, page: int, newcomers: Newcomers | None = None
) -> str:
    """Changes with the revision, and with the newcomers while nobody has a rank.

    Differs by visitor, because own rows are marked.
    """
    reader_key = f"{','.join(sorted(who.team_ids))}{newcomers or ''}"
    reader = hashlib.sha256(reader_key.encode()).hexdigest()[:8]
    return f'W/"{season_id}.{revision}.{page}.{reader}"'
