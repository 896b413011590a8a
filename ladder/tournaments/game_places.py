"""Where a game stands in its tournament: its round, and the game to watch after it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from ladder.database.db import Connection
from ladder.ids import SeasonId
from ladder.leagues import seasons
from ladder.leagues.records import League
from ladder.matches import history
from ladder.matches.records import Match, replay_resource
from ladder.people.permissions import may_see
from ladder.people.records import Viewer
from ladder.tournaments import tournaments
from ladder.tournaments.formats import Key
from ladder.tournaments.records import GameOutcome, Tournament, TournamentGame
from ladder.tournaments.views import view_tournament

MOST_TRIED: Final = 10
"""Games whose replays are looked at for the next one. A league may hide them all."""


@dataclass(frozen=True, slots=True)
class GamePlace:
    """A game in its tournament, as far as the viewer may know."""

    tournament: Tournament
    key: Key | None
    """Its pairing; None if that is not in the course that the viewer knows."""
    round: str
    """Name of its round and section, such as ``Round 2, group 1``; empty without a pairing."""
    following: Match | None
    """The next game whose replay the viewer may see: of the same pairing first."""

    @property
    def title(self) -> str:
        """Tournament and round, such as ``Spring cup, Round 2``."""
        return f"{self.tournament.title}, {self.round}" if self.round else self.tournament.title


def find_place(conn: Connection, viewer: Viewer, match: Match, league: League) -> GamePlace | None:
    """The place of a match that the viewer may see; None if it belongs to no tournament."""
    if match.tournament_id is None:
        return None
    found = tournaments.get_tournament(conn, match.tournament_id)
    view = view_tournament(conn, viewer, found)
    games = [one for each in view.games.values() for one in each]
    own = next((one for one in games if one.match_id == match.id), None)
    if own is None or view.course is None:
        return GamePlace(found, None, "", None)
    pairing = next((one for one in view.course.pairings if str(one.key) == own.pairing), None)
    if pairing is None or not set(own.entrants) <= set(pairing.entrants):
        return GamePlace(found, None, "", None)
    following = _game_after(conn, viewer, own, games, league, found.season_id)
    stage = f"Stage {pairing.key.stage}, " if len(found.plan.stages) > 1 else ""
    return GamePlace(found, pairing.key, stage + pairing.round_name, following)


def _game_after(
    conn: Connection,
    viewer: Viewer,
    own: TournamentGame,
    games: list[TournamentGame],
    league: League,
    season_id: SeasonId,
) -> Match | None:
    later = [
        one for one in games if one.outcome is GameOutcome.COUNTED and _order(one) > _order(own)
    ]
    if not later:
        return None
    state = seasons.get_season(conn, season_id).state
    for one in islice(sorted(later, key=_order), MOST_TRIED):
        match = history.get_match(conn, one.match_id)
        if match.episodes and may_see(viewer, replay_resource(match, league, state)):
            return match
    return None


def _order(one: TournamentGame) -> tuple[Key, int, str]:
    return Key.parse(one.pairing), one.game, one.match_id
