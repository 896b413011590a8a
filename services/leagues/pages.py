"""Pages of leagues: the list, a league with its leaderboard, and the forms of hosts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field, ValidationError

from games import GAMES
from games.protocol import Game, clock_fields
from ladder.database.db import Connection
from ladder.entries import entries, medal_lines, reference_agents
from ladder.entries.records import Newcomers
from ladder.enums import MatchKind, MatchState
from ladder.errors import Invalid, LadderError, NotFound
from ladder.field_types import KEY, RequestModel
from ladder.ids import LeagueId, SeasonId
from ladder.leagues import hosting, leagues, members, records, seasons, terms
from ladder.leagues.hosting import supports_remote
from ladder.leagues.records import League, Season
from ladder.leagues.settings import (
    SET_BY_HOSTS,
    Clock,
    LeagueChange,
    LineMedals,
    NewLeague,
    NewSeason,
    NextSeason,
    SeasonChange,
    SeasonDates,
)
from ladder.matches import history
from ladder.matches.records import Match
from ladder.matches.workers import live_workers
from ladder.people.permissions import may_appoint, may_manage, may_see
from ladder.people.records import STAFF, Viewer
from ladder.reports import season_health
from ladder.sizes import size_text
from ladder.standings.board_ranking import Board
from ladder.standings.board_records import BoardRow
from ladder.tournaments import tournaments, views
from services.http import etags
from services.http.app_state import AppState, Db, State
from services.http.auth import Anyone, Host
from services.http.problems import ProblemError
from services.leagues.things import HostedLeague, VisibleLeague, game_of
from services.web import documents, form_texts, forms, leaderboard_page
from services.web.account import redirect
from services.web.form_texts import options_of_words
from services.web.forms import Form, Sent, plain_text, shown_values
from services.web.live import playing_in_league
from services.web.operation_forms import NoForms, OperationForm
from services.web.page_rendering import PageRoute, not_modified, render
from services.web.sharing import league_sharing, site_address

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Number = Annotated[int, Query(ge=1, le=100_000)]
SeasonNumber = Annotated[int | None, Query(ge=1, le=100_000)]
Done = Literal["", "edited", "season"]
LEAGUES_SHOWN: Final = 24
TOP_SHOWN: Final = 3
RECENT: Final = 8
SIZES_MB: Final = (10, 50, 100, 200, 512)
EDITED: Final = ("title", "description", "visibility", "replay_visibility", "same_team_lineups")
"""Settings in the form that edits a league. The others have a form of their own."""
LINES: Final = ("medals.gold", "medals.silver", "medals.bronze")
"""Fields of a season that gives medals by score, until uploads close."""


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


class NewLeagueForm(NewLeague):
    """Makes the short name from the title, if the person gives none."""

    slug: Annotated[str, Field(title="Short name for addresses")] = ""
    """Leave empty: it is made from the title. Else a to z, 0 to 9 and -, for example
    night-geese."""
    zone: forms.ZoneName = forms.UTC_NAME

    def request(self, values: Mapping[str, Any]) -> NewLeague:
        request = {name: getattr(self, name) for name in NewLeague.model_fields}
        request["slug"] = self.slug or leagues.free_slug(values["conn"], self.title)
        return NewLeague.model_validate(request)


class NewSeasonForm(RequestModel):
    season: NewSeason
    fill: bool = False
    zone: forms.ZoneName = forms.UTC_NAME

    def request(self, _: Mapping[str, Any]) -> NextSeason:
        if self.season.seats is None:
            raise Invalid("season.seats", form_texts.FIELD_MISSING)
        settings = {name: getattr(self.season, name) for name in self.season.model_fields_set}
        return NextSeason(**settings, fill=self.fill)


class EndSeasonForm(RequestModel):
    sure: bool = False

    def request(self, _: Mapping[str, Any]) -> SeasonChange:
        if not self.sure:
            words = "tick the box first: a finished season cannot open again."
            raise ProblemError("invalid", words, where="sure")
        return SeasonChange(state="finished")


class LinesForm(BaseModel):
    """The medal lines of the form. An error has the place of the field: ``medals.gold``."""

    medals: LineMedals


@router.get("/leagues")
def show_leagues(
    request: Request,
    conn: Db,
    app_state: AppState,
    viewer: Anyone,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows the leagues that the visitor may see."""
    rows = leagues.list_leagues(conn, viewer, LeagueId(after) if after else None, LEAGUES_SHOWN)
    cards = []
    for league in rows:
        if not may_see(viewer, records.league_resource(league)):
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
    return render(request, "leagues/leagues.html", leagues=cards, more=more)


@router.get("/leagues/{league}")
def league_page(
    request: Request,
    league: VisibleLeague,
    conn: Db,
    app_state: AppState,
    viewer: Anyone,
    forms: NoForms,
    page: Number = 1,
    season: SeasonNumber = None,
    joined: bool = False,
    done: Done = "",
) -> Response:
    """Shows the leaderboard, recent matches, how to join, and to hosts what they can do."""
    every = seasons.list_seasons(conn, league.id)
    chosen = pick_season(conn, league, season)
    query = f"&season={season}" if season else ""
    values: dict[str, Any] = {}
    if chosen:
        board, newcomers, tag = shown_board(conn, app_state, viewer, chosen, page)
        values = {
            "board": leaderboard_page.cut_page(conn, board, page),
            "board_tag": tag,
            "newcomers": newcomers,
            "recent": finished_matches(conn, chosen, RECENT),
            "recent_tag": board_etag(chosen.id, chosen.revision, viewer, page),
            "pulse": season_health.read_health(conn, chosen, league),
        }
    delay = forms["change_live_delay"]
    if delay is not forms.refused:
        delay.values |= {name: field_text(getattr(league, name)) for name in delay.fields}
    return render(
        request,
        "leagues/league.html",
        status=forms.status,
        league=league,
        forms=forms,
        sharing=league_sharing(request, league),
        season=chosen,
        has_reached_end=chosen is not None
        and chosen.ends_at is not None
        and chosen.ends_at <= datetime.now(UTC),
        seasons=every,
        upcoming=every[0] if every and chosen is None else None,
        season_query=query,
        rules=documents.rules_address(league.game),
        runs=may_manage(viewer, records.league_resource(league)),
        may_appoint=may_appoint(viewer, league.id),
        board_address=f"/leagues/{league.slug}/board?page={page}{query}",
        recent_address=f"/leagues/{league.slug}/recent?page={page}{query}",
        base_url=site_address(request),
        remote=terms.REMOTE,
        joined=joined,
        done=done,
        must_agree=lacks_agreement(conn, viewer, league),
        terms=terms.terms_text(terms.settings_of_league(league)),
        playing=playing_in_league(conn, viewer, league),
        running=views.list_running(conn, viewer, league.id),
        has_tournaments=bool(tournaments.list_tournaments(conn, viewer, league.id, limit=1)),
        **values,
    )


def lacks_agreement(conn: Connection, viewer: Viewer, league: League) -> bool:
    """Whether the league has graders or commentators, and the visitor is a member viewer agreed to
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
    league: VisibleLeague,
    conn: Db,
    app_state: AppState,
    viewer: Anyone,
    page: Number = 1,
    season: SeasonNumber = None,
    if_none_match: etags.IfNoneMatch = None,
) -> Response:
    """The table alone, for live updates."""
    chosen = require_season(pick_season(conn, league, season))
    board, newcomers, tag = shown_board(conn, app_state, viewer, chosen, page)
    if etags.matches(if_none_match, tag):
        return not_modified(tag)
    return render(
        request,
        "parts/board.html",
        etag=tag,
        league=league,
        season=chosen,
        board=leaderboard_page.cut_page(conn, board, page),
        newcomers=newcomers,
    )


@router.get("/leagues/{league}/recent")
def show_recent(
    request: Request,
    league: VisibleLeague,
    conn: Db,
    viewer: Anyone,
    page: Number = 1,
    season: SeasonNumber = None,
    if_none_match: etags.IfNoneMatch = None,
) -> Response:
    """The recent matches alone, for live updates."""
    chosen = require_season(pick_season(conn, league, season))
    tag = board_etag(chosen.id, chosen.revision, viewer, page)
    if etags.matches(if_none_match, tag):
        return not_modified(tag)
    recent = finished_matches(conn, chosen, RECENT)
    return render(request, "parts/recent.html", etag=tag, season=chosen, recent=recent)


def pick_season(conn: Connection, league: League, number: int | None) -> Season | None:
    """The season with this number, or the current one. Raises NotFound for an unknown number."""
    if number is None:
        return seasons.current_season(conn, league.id)
    numbered = (row for row in seasons.list_seasons(conn, league.id) if row.number == number)
    return require_season(next(numbered, None))


def require_season(season: Season | None) -> Season:
    if season is None:
        raise NotFound.of("season")
    return season


def shown_board(
    conn: Connection, app_state: State, viewer: Viewer, season: Season, page: int
) -> tuple[Board, Newcomers | None, str]:
    """The leaderboard, what new agents do while no team has a rank, and the ETag of both."""
    board = app_state.boards.board(season.id, season.revision)
    newcomers = None
    if not board.rows.order.ranked_teams:
        newcomers = entries.count_newcomers(conn, viewer, [season.id]).get(season.id)
    return board, newcomers, board_etag(season.id, board.revision, viewer, page, newcomers)


def finished_matches(conn: Connection, season: Season, limit: int) -> list[Match]:
    """The newest finished rated matches of a season, the last to finish first."""
    matches = history.list_matches(
        conn,
        season_id=season.id,
        kind=MatchKind.RATED,
        state=MatchState.FINISHED,
        limit=limit,
    )
    return sorted(matches, key=lambda match: match.finished_at or match.created_at, reverse=True)


def board_etag(
    season_id: SeasonId,
    revision: int,
    viewer: Viewer,
    page: int,
    newcomers: Newcomers | None = None,
) -> str:
    """Changes with the revision, and with the newcomers while nobody has a rank.

    Differs by visitor, because own rows are marked.
    """
    reader_key = f"{','.join(sorted(viewer.team_ids))}{newcomers or ''}"
    reader = hashlib.sha256(reader_key.encode()).hexdigest()[:8]
    return f'W/"{season_id}.{revision}.{page}.{reader}"'


@router.get("/new-league")
def new_league_page(
    request: Request,
    conn: Db,
    viewer: Anyone,
    forms: NoForms,
    game: Annotated[str, Query(max_length=60)] = "",
) -> Response:
    """The form with the defaults of a game. A stranger signs in first."""
    if viewer.user_id is None:
        return redirect("/sign-in?next=/new-league")
    form = forms["create_league"]
    chosen = GAMES.get(form.values["game"] or game) or next(iter(GAMES.values()))
    if form is not forms.refused:
        form.values |= season_values(chosen) | {"game": chosen.name}
    form.choices["visibility"] = list(form_texts.VISIBILITIES.items())
    form.choices["replay_visibility"] = list(form_texts.REPLAY_VISIBILITIES.items())
    return render(
        request,
        "leagues/new_league.html",
        status=forms.status,
        form=form,
        games=GAMES.values(),
        is_open=bool(set(form.wrong) - {"", "title", "visibility"}),
        may="leagues:write" in viewer.scopes or viewer.is_admin,
        **season_choices(conn, chosen, form),
    )


@router.get("/leagues/{league}/new-season")
def new_season_page(
    request: Request, conn: Db, viewer: Anyone, league: HostedLeague, forms: NoForms
) -> Response:
    """The form with the settings of the newest season, which may not have opened yet."""
    form, game = forms["create_season"], game_of(league)
    newest = next(iter(seasons.list_seasons(conn, league.id)), None)
    if form is not forms.refused:
        form.values |= season_values(game, newest) | {"fill": "true"}
    dates = {"", "zone", *(f"season.{name}" for name in SeasonDates.model_fields)}
    return render(
        request,
        "leagues/new_season.html",
        status=forms.status,
        form=form,
        league=league,
        newest=newest,
        number=newest.number + 1 if newest else 1,
        is_open=bool(set(form.wrong) - dates),
        may="leagues:write" in viewer.scopes or viewer.is_admin,
        **season_choices(conn, game, form),
    )


def season_values(game: Game[Any], newest: Season | None = None) -> dict[str, str]:
    """First values of the fields: those of the newest season without its dates, and the defaults of
    the API and the game for settings that it lacks."""
    clock = Clock.model_validate(dict(game.clock)).model_dump()
    settings = NewSeason().model_dump() | {"seats": min(4, game.seats.stop - 1)}
    configuration = game.configure({})
    if newest:
        kept = settings.keys() - SeasonDates.model_fields.keys()
        settings |= newest.model_dump(include=kept)
        clock |= newest.clock
        configuration |= newest.configuration
    settings |= {"clock": clock, "configuration": configuration}
    for name in clock_fields(game):
        del configuration[name]
    return {f"season.{name}": field_text(value) for name, value in flat_values(settings)}


def flat_values(values: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """``{"clock": {"load": "own"}}`` as ``clock.load`` and its value."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from (
                (f"{name}.{inner}", inner_value) for inner, inner_value in flat_values(value)
            )
        else:
            yield name, value


def field_text(value: object) -> str:
    """A value as text of a field: empty for None and false, whole numbers without a point."""
    if value is None or value is False:
        return ""
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value) if isinstance(value, str) else json.dumps(value)


def season_choices(conn: Connection, game: Game[Any], form: OperationForm) -> dict[str, Any]:
    """Adds the choices of the game and of the machines that play now. Returns what the template
    shows beside them."""
    classes = {worker.speed_class for worker in live_workers(conn)}
    classes |= {form.values["season.speed_class"]}
    sizes = {megabytes << 20 for megabytes in SIZES_MB}
    size = form.values["season.max_bundle_bytes"]
    sizes |= {int(size)} if size.isdecimal() else set()
    form.choices |= {
        "zone": options_of_words(forms.time_zones()),
        "season.speed_class": [
            ("any", "All machines"),
            *((name, f"Speed class {name} only") for name in sorted(classes - {"any", ""})),
        ],
        "season.max_bundle_bytes": [(str(size), size_text(size)) for size in sorted(sizes)],
        "season.clock.load": list(form_texts.CLOCK_LOADS.items()),
        "season.medals.kind": list(form_texts.MEDAL_KINDS.items()),
    }
    seats = form.fields["season.seats"]
    form.fields["season.seats"] = replace(seats, least=game.seats[0], most=game.seats[-1])
    if not supports_remote(game):
        del form.fields["season.remote_agents"]
    return {
        "game": game,
        "anchors": reference_agents.agent_names(game.name),
        "configuration": [name for name in form.values if name.startswith("season.configuration.")],
    }


@router.get("/leagues/{league}/edit")
def edit_page(request: Request, conn: Db, viewer: Anyone, league: HostedLeague) -> Response:
    """The form that edits a league, and the medal lines of its season."""
    return show_edit_form(request, conn, viewer, league, Form(present_values(conn, viewer, league)))


@router.post("/leagues/{league}/edit")
def edit_league(
    request: Request, conn: Db, viewer: Host, league: HostedLeague, sent: Sent
) -> Response:
    """Changes the league and shows it, or the form with its errors."""
    form = Form.of(sent, present_values(conn, viewer, league))
    try:
        with conn.transaction():
            league = leagues.lock_league(conn, league.id)
            present = present_values(conn, viewer, league)
            form.refuse_changed(sent, present)
            if not form.wrong:
                change_fields(conn, viewer, league, form, present)
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
    if form.wrong:
        return show_edit_form(request, conn, viewer, league, form)
    return redirect(f"/leagues/{league.slug}?done=edited")


def change_fields(
    conn: Connection, viewer: Viewer, league: League, form: Form, present: Mapping[str, str]
) -> None:
    """Stores the fields that the visitor changed. Raises ValidationError and LadderError."""
    edited: dict[str, Any] = {
        name: text
        for name, now in present.items()
        if (text := plain_text(form.values[name])) != plain_text(now)
    }
    moves_lines = any([edited.pop(name, None) is not None for name in LINES])
    if "same_team_lineups" in edited:
        edited["same_team_lineups"] = bool(edited["same_team_lineups"])
    hosting.change_league(conn, viewer, league, LeagueChange.model_validate(edited))
    if moves_lines:
        lines = {name.rpartition(".")[2]: form.values[name] for name in LINES}
        medals = LinesForm.model_validate({"medals": {"kind": "lines", **lines}}).medals
        season = seasons.current_season(conn, league.id)
        assert season is not None
        medal_lines.change_medal_lines(conn, viewer, season.id, medals)


def present_values(conn: Connection, viewer: Viewer, league: League) -> dict[str, str]:
    """The present value of every field that the visitor may change."""
    hidden = () if may_appoint(viewer, league.id) else SET_BY_HOSTS
    values = {name: field_text(getattr(league, name)) for name in EDITED if name not in hidden}
    season = seasons.current_season(conn, league.id)
    if season is not None and medal_lines.may_move_lines(conn, season):
        lines = season.medals.model_dump()
        values |= {name: field_text(lines[name.rpartition(".")[2]]) for name in LINES}
    return values


def show_edit_form(
    request: Request, conn: Connection, viewer: Viewer, league: League, form: Form
) -> Response:
    """Shows the form, with the present values hidden in it; 422 with its errors."""
    return render(
        request,
        "leagues/edit_league.html",
        status=422 if form.wrong else 200,
        form=form,
        shown=shown_values(present_values(conn, viewer, league)),
        visibilities=form_texts.VISIBILITIES.items(),
        replay_visibilities=form_texts.REPLAY_VISIBILITIES.items(),
        lines=LINES,
        league=league,
        may="leagues:write" in viewer.scopes or viewer.is_admin,
    )
