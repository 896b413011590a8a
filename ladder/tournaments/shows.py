"""Shows: pages for a screen, which play the games of a tournament in order and then each result.

A show has a secret address that needs no sign-in. It shows at most what the host who made it may
see, and of that only the scenes up to the one on the screen. So its visitors learn no result before
the person at the keys, or the clock, comes to it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from ladder import ids
from ladder.database.db import Connection, atomic_function, fetch, fetch_one
from ladder.errors import Conflict, NotFound
from ladder.ids import MatchId, TournamentId, TournamentShowId, UserId
from ladder.leagues import leagues
from ladder.leagues.records import league_resource
from ladder.people import users
from ladder.people.permissions import may_manage
from ladder.people.records import Viewer
from ladder.tournaments import courses, tournaments, views
from ladder.tournaments.courses import TournamentInputs, TournamentLog
from ladder.tournaments.entrants import entrants_of
from ladder.tournaments.formats.records import By, Course, Key, Pairing, State
from ladder.tournaments.records import GameOutcome, NewShow, TournamentGame
from ladder.tournaments.views import TournamentView

MOST_SHOWS: Final = 20
"""Shows of a tournament that have not ended."""
RANDOM_BYTES: Final = 24
SHOW: Final = """
    select id, tournament_id, created_by, scene, scene_seconds, created_at, expires_at
    from tournament_shows"""


@dataclass(frozen=True, slots=True)
class Show:
    """A show. Its secret is not stored and cannot be shown again."""

    id: TournamentShowId
    tournament_id: TournamentId
    created_by: UserId
    scene: int
    """Scene on the screen, from 0."""
    scene_seconds: float | None
    """After this time, or after a replay, the page goes on by itself; None: by key alone."""
    created_at: datetime
    expires_at: datetime


class SceneKind(StrEnum):
    OPENING = "opening"
    """Title, rules and entrants."""
    GAME = "game"
    """The replay of a game."""
    RESULT = "result"
    """The result of a pairing, with the bracket or table."""
    END = "end"
    """The champion."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What is on the screen at a time."""

    kind: SceneKind
    key: Key | None = None
    """The pairing of a game or result."""
    game: TournamentGame | None = None
    position: int = 0
    """Of the episode in its match."""


class Direction(StrEnum):
    """Where a key leads."""

    NEXT = "next"
    BACK = "back"
    RESULT = "result"
    """To the next result."""
    ROUND = "round"
    """To the last result of the round."""


@dataclass(frozen=True)
class Screen:
    """The scene of a show, with the tournament as far as the show has come."""

    show: Show
    scene: Scene
    number: int
    """Of the scene, from 0. It is less than ``show.scene`` if scenes were taken away again."""
    is_last: bool
    """Whether nothing more is played yet."""
    view: TournamentView
    pairing: Pairing | None
    """The pairing of the scene; before its result scene it has no outcome."""
    maker: Viewer


@atomic_function
def create_show(
    conn: Connection, tournament_id: TournamentId, by: UserId, request: NewShow
) -> tuple[Show, str]:
    """Makes a show of a tournament; returns it with its secret. The caller is a host.

    Raises Conflict if the tournament has MOST_SHOWS.
    """
    tournaments.lock_tournament_row(conn, tournament_id)
    if len(list_shows(conn, tournament_id)) >= MOST_SHOWS:
        raise Conflict(f"revoke a show first: a tournament has at most {MOST_SHOWS} at a time")
    secret = secrets.token_urlsafe(RANDOM_BYTES)
    show_id = TournamentShowId(ids.new_id("tsh"))
    conn.execute(
        """insert into tournament_shows (
          id, tournament_id, hash, created_by, scene_seconds, expires_at)
        values (%s, %s, %s, %s, %s, %s)""",
        (
            *(show_id, tournament_id, _hash(secret), by, request.scene_seconds),
            datetime.now(UTC) + timedelta(hours=request.hours),
        ),
    )
    tournaments.record_act(conn, tournament_id, "make show", by=by, details={"show": show_id})
    return fetch_one(conn, Show, f"{SHOW} where id = %s", (show_id,)), secret


def list_shows(conn: Connection, tournament_id: TournamentId) -> list[Show]:
    """The shows of a tournament that have not ended, oldest first."""
    query = f"{SHOW} where tournament_id = %s and expires_at > now() order by id"
    return fetch(conn, Show, query, (tournament_id,))


@atomic_function
def revoke_show(
    conn: Connection, tournament_id: TournamentId, show_id: TournamentShowId, by: UserId | None
) -> None:
    """Ends a show at once and for good. Raises NotFound."""
    tournaments.lock_tournament_row(conn, tournament_id)
    gone = conn.execute(
        "delete from tournament_shows where id = %s and tournament_id = %s",
        (show_id, tournament_id),
    )
    if gone.rowcount != 1:
        raise NotFound.of("show")
    tournaments.record_act(conn, tournament_id, "revoke show", by=by, details={"show": show_id})


def delete_expired_shows(conn: Connection) -> int:
    """Deletes shows past their end; returns how many."""
    return conn.execute("delete from tournament_shows where expires_at < now()").rowcount


def open_show(conn: Connection, secret: str) -> tuple[Show, Viewer]:
    """The show with this secret, and the person who made it.

    Raises NotFound if it has ended, or if that person hosts the league no more.
    """
    query = f"{SHOW} where hash = %s and expires_at > now()"
    show = fetch_one(conn, Show, query, (_hash(secret),), NotFound.of("show"))
    maker = users.viewer_of_user(conn, show.created_by)
    if maker is None:
        raise NotFound.of("show")
    tournament = tournaments.get_tournament(conn, show.tournament_id)
    if not may_manage(maker, league_resource(leagues.get_league(conn, tournament.league_id))):
        raise NotFound.of("show")
    return show, maker


def read_screen(conn: Connection, secret: str) -> Screen:
    """What the show has on the screen now. Raises NotFound."""
    show, maker = open_show(conn, secret)
    return _screen(conn, show, maker)


@atomic_function
def move_show(conn: Connection, secret: str, start: int, direction: Direction) -> None:
    """Moves a show that is at the scene ``start``. Does nothing if it has moved since.

    So two screens with the same show, and a key pressed twice, go on by one scene. Raises NotFound.
    """
    show, _ = open_show(conn, secret)
    scenes = _scenes(conn, _read_course(conn, show))
    here = min(show.scene, len(scenes) - 1)
    if start != here:
        return
    conn.execute(
        "update tournament_shows set scene = %s where id = %s and scene = %s",
        (_next_scene(scenes, here, direction), show.id, show.scene),
    )


def shown_game(
    conn: Connection, secret: str, match_id: str, position: int
) -> tuple[MatchId, Viewer]:
    """A match whose episode the show has come to, and who may see it. Raises NotFound."""
    show, maker = open_show(conn, secret)
    for scene in _scenes(conn, _read_course(conn, show))[: show.scene + 1]:
        if scene.game is not None and (scene.game.match_id, scene.position) == (match_id, position):
            return scene.game.match_id, maker
    raise NotFound.of("match")


@dataclass(frozen=True)
class _Known:
    """What is known of a tournament whose entrants are fixed."""

    inputs: TournamentInputs
    log: TournamentLog
    games: Sequence[TournamentGame]
    """Those that count."""
    course: Course


def _read_course(conn: Connection, show: Show) -> _Known | None:
    """The course by all games that count; None before the lock."""
    tournament = tournaments.get_tournament(conn, show.tournament_id)
    entered = entrants_of(conn, tournament.id)
    if not views.has_course(tournament, entered):
        return None
    log = courses.read_log(conn, tournament.id)
    inputs = courses.make_inputs(tournament, entered, log.published)
    games = [game for game in log.games if game.outcome is GameOutcome.COUNTED]
    return _Known(inputs, log, games, courses.course_of_log(inputs, log).course)


def _screen(conn: Connection, show: Show, maker: Viewer) -> Screen:
    course = _read_course(conn, show)
    scenes = _scenes(conn, course)
    if course is None:
        tournament = tournaments.get_tournament(conn, show.tournament_id)
        view = views.view_tournament(conn, maker, tournament)
        return Screen(show, scenes[0], 0, True, view, None, maker)
    number = min(show.scene, len(scenes) - 1)
    scene = scenes[number]
    shown = {str(item.key) for item in scenes[: number + 1] if item.kind is SceneKind.RESULT}
    games = [game for game in course.games if game.pairing in shown]
    view = views.view_of_games(conn, course.inputs, course.log, games)
    assert view.course is not None
    pairing = view.course.get(scene.key) if scene.key else None
    return Screen(show, scene, number, number == len(scenes) - 1, view, pairing, maker)


def _scenes(conn: Connection, played: _Known | None) -> list[Scene]:
    """All scenes so far. A pairing is shown once those before it have results."""
    scenes = [Scene(SceneKind.OPENING)]
    if played is None:
        return scenes
    games, course = played.games, played.course
    of_pairing: dict[str, list[TournamentGame]] = {}
    for game in sorted(games, key=lambda game: game.game):
        of_pairing.setdefault(game.pairing, []).append(game)
    episodes = _count_episodes(conn, [game.match_id for game in games])
    for pairing in course.pairings:
        if pairing.state is State.VOID or (pairing.outcome and pairing.outcome.by is By.BYE):
            continue
        if pairing.outcome is None:
            return scenes
        scenes += [
            Scene(SceneKind.GAME, pairing.key, game, position)
            for game in of_pairing.get(str(pairing.key), [])
            for position in range(episodes.get(game.match_id, 0))
        ]
        scenes.append(Scene(SceneKind.RESULT, pairing.key))
    if course.finished:
        scenes.append(Scene(SceneKind.END))
    return scenes


def _count_episodes(conn: Connection, matches: list[MatchId]) -> Mapping[str, int]:
    rows = conn.execute(
        "select match_id, count(*) from episodes where match_id = any (%s) group by match_id",
        (matches,),
    )
    return {match_id: count for match_id, count in rows}


def _next_scene(scenes: Sequence[Scene], here: int, direction: Direction) -> int:
    """The number of the scene to which a key leads."""
    if direction is Direction.BACK:
        return max(0, here - 1)
    after = min(here + 1, len(scenes) - 1)
    if direction is Direction.NEXT:
        return after
    results = [n for n in range(after, len(scenes)) if scenes[n].kind is SceneKind.RESULT]
    if not results:
        return after
    if direction is Direction.RESULT:
        return results[0]
    return [n for n in results if _round(scenes[n]) == _round(scenes[results[0]])][-1]


def _round(scene: Scene) -> tuple[int, int] | None:
    return (scene.key.stage, scene.key.round) if scene.key else None


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
