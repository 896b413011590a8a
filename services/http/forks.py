"""Requests of forks: what API and pages check alike before ``forks.request_fork``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from games import GAMES
from games.episode import EpisodeError, from_bytes
from games.forks import Fork, check_fork
from games.protocol import GameError
from ladder.database.db import Connection
from ladder.enums import MatchState
from ladder.errors import Invalid
from ladder.field_types import Key
from ladder.ids import SubmissionId, is_id
from ladder.leagues import seasons
from ladder.matches.records import Match
from ladder.people.records import Viewer
from ladder.scrims import forks, scrims
from ladder.scrims.forks import Draws, ForkPoint
from ladder.scrims.scrims import Scrim, newest_submission
from services.http import permissions
from services.http.app_state import State
from services.http.problems import ProblemError

MOST_SEATS: Final = 16
MOST_BYTES: Final = 20_000
"""Most bytes of all moves by hand, as JSON."""
Move = Annotated[str, Field(max_length=2_000)] | int | float | list[Any] | dict[str, Any]


class NewFork(BaseModel):
    """A request of a fork."""

    model_config = ConfigDict(extra="forbid")
    step: Annotated[int, Field(ge=0, le=1_000_000, description="recorded steps before the fork")]
    episode: Annotated[int, Field(ge=0, le=1000, description="position in the match")] = 0
    seats: Annotated[
        list[Key | None],
        Field(
            max_length=MOST_SEATS,
            description="by seat: a submission id, an agent id for its newest active entry, or"
            " null for the submission that played; empty: null for all",
        ),
    ] = []
    moves: Annotated[
        dict[Annotated[str, Field(pattern=r"^\d{1,2}$")], list[Move]],
        Field(max_length=MOST_SEATS, description="moves by hand after the fork, by seat"),
    ] = {}
    draws: Annotated[
        Draws, Field(description="record: the record's chance goes on; new: drawn anew")
    ] = Draws.RECORD
    games: Annotated[int, Field(ge=1, le=scrims.MOST_GAMES)] = 1
    team: Annotated[Key | None, Field(description="required if you are in several teams")] = None


def forkable_match(conn: Connection, who: Viewer, key: str) -> Match:
    """The finished match, if the viewer may see its replay."""
    found = permissions.visible_match(conn, who, key)
    if not permissions.visible_replay_filter(conn, who)(found):
        if found.state is not MatchState.FINISHED:
            raise ProblemError("conflict", f"Wait for the end of the match; it is {found.state}.")
        raise ProblemError("forbidden", "This league does not show you this replay, or not yet.")
    permissions.visible_season(conn, who, found.season_id)  # whose open agents may be used
    return found


def request_fork(
    conn: Connection, app_state: State, who: Viewer, match: Match, body: NewFork
) -> Scrim:
    """Checks the fork against the game's rules and requests it."""
    assert who.user_id is not None
    team = permissions.team_to_act_for(conn, who, body.team)
    check_moves(body.moves, len(match.seats))
    moves = {int(seat): tuple(given) for seat, given in body.moves.items()}
    check_point(app_state, match, body, moves)
    return forks.request_fork(
        conn,
        ForkPoint(match, body.episode, body.step, body.draws, moves),
        team_id=team.id,
        user_id=who.user_id,
        lineup=_lineup(conn, who, match, body),
        games=body.games,
    )


def check_point(
    app_state: State, match: Match, body: NewFork, moves: Mapping[int, tuple[Any, ...]]
) -> None:
    """Raises Invalid if the step or a first move by hand is not possible."""
    one = next((one for one in match.episodes if one.position == body.episode), None)
    game = GAMES.get(match.game)
    if one is None or game is None or not app_state.blobs.exists(one.replay_digest):
        raise Invalid("episode", "this match has no such replay")
    episode = from_bytes(b"".join(app_state.blobs.open(one.replay_digest)))
    if not body.step < len(episode.steps):
        last = len(episode.steps) - 1
        raise Invalid("step", f"must be between 0 and {last}; it is {body.step}")
    try:
        check_fork(game, Fork(episode, body.step, moves=moves))
    except EpisodeError as error:
        raise Invalid("step", f"the record does not fit the rules: {error}") from None
    except GameError as error:
        raise Invalid(error.field or "moves", error.message) from None


def check_moves(moves: Mapping[str, Sequence[Any]], seats: int) -> None:
    """Raises Invalid for moves that no game can mean: too long, or no JSON for the database."""
    if any(int(seat) >= seats for seat in moves):
        raise Invalid("moves", f"seats are 0 to {seats - 1}")
    try:
        text = json.dumps(moves, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (ValueError, RecursionError):
        raise Invalid("moves", "numbers must be finite, and texts valid Unicode") from None
    if size > MOST_BYTES or "\\u0000" in text:
        raise Invalid("moves", f"give at most {MOST_BYTES} bytes, without the character NUL")


def _lineup(conn: Connection, who: Viewer, match: Match, body: NewFork) -> Sequence[SubmissionId]:
    recorded = forks.recorded_lineup(match, body.episode)
    keys = body.seats or [None] * len(recorded)
    if len(keys) != len(recorded):
        raise Invalid("seats", f"{len(keys)} given; this match has {len(recorded)} seats")
    season = seasons.get_season(conn, match.season_id)
    return [
        played
        if key is None
        else SubmissionId(key)
        if is_id(key, "sub")
        else newest_submission(conn, season, permissions.visible_agent(conn, who, key))
        for key, played in zip(keys, recorded, strict=True)
    ]
