"""Judges games of a pairing again: plays them anew, shows which later pairings depend on them, and
replaces them.

The new matches are played beside the old ones. Nothing changes before a host applies them. The old
matches stay in the record as replaced. Later games whose entrants change are played again.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ladder.database.db import Connection, atomic_function, exists, fetch_one, update
from ladder.enums import MatchKind, MatchState, VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import MatchId, TournamentId, UserId
from ladder.leagues import seasons
from ladder.matches import matches
from ladder.people import audit_log
from ladder.runtime_profiles import REMOTE
from ladder.tournaments import courses, tournaments
from ladder.tournaments.courses import TournamentInputs
from ladder.tournaments.formats.course import changed, downstream
from ladder.tournaments.formats.records import Course, Key
from ladder.tournaments.records import GameOutcome, Tournament, TournamentGame, TournamentState


@dataclass(frozen=True, slots=True)
class PairingRejudgement:
    """A pairing whose games are played again and whose new results wait for a host's decision."""

    key: Key
    games: tuple[tuple[TournamentGame, TournamentGame], ...]
    """The old and the new match of each game. A new match has no placements until it finishes."""
    dependent_pairings: tuple[Key, ...]
    """Pairings whose entrants can depend on this one."""
    changes: tuple[Key, ...] | None
    """Pairings that change if the new results count. None if a new match is void or not
    finished."""

    @property
    def void_reason(self) -> str | None:
        """Why a new match is void; None if none is. Then only ``drop_rejudgement`` is possible."""
        void = [new for _, new in self.games if new.state == MatchState.VOID]
        return (void[0].void_reason or "no reason is known") if void else None


@atomic_function
def rejudge_pairing(
    conn: Connection,
    tournament_id: TournamentId,
    pairing: str,
    by: UserId | None,
    reason: str,
    game: int | None = None,
) -> None:
    """Plays the games of a pairing again, or one of them, with the same seats and seeds.

    Games of a remote agent get new seeds, because its owner may have studied the old games.

    Raises Invalid without a reason, NotFound, Conflict if the pairing is judged again already.
    """
    if not reason.strip():
        raise Invalid("reason", "say why; the audit log keeps it")
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    if tournament.state is TournamentState.CANCELLED:
        raise Conflict("the tournament is cancelled", field="pairing")
    games = courses.read_games(conn, tournament_id, pairing)
    if any(_is_waiting(item) for item in games):
        raise Conflict(
            "this pairing is judged again already; apply or drop its new results first",
            field="pairing",
        )
    counted = [
        item for item in games if item.outcome is GameOutcome.COUNTED and game in (None, item.game)
    ]
    if not counted:
        raise NotFound("this pairing has no such game that counts", field="pairing")
    fresh: defaultdict[bytes, bytes] = defaultdict(lambda: secrets.token_bytes(16))
    for item in counted:
        _play_again(conn, tournament, item, fresh)
    tournaments.record_act(
        conn, tournament.id, "rejudge", by=by, details={"pairing": pairing, "reason": reason}
    )
    audit_log.record_audit(
        conn,
        tournament.league_id,
        by=by,
        act="rejudge tournament games",
        subject=tournament.id,
        reason=reason,
        season_id=tournament.season_id,
        details={"pairing": pairing, "matches": [item.match_id for item in counted]},
    )


def list_rejudgements(conn: Connection, tournament: Tournament) -> list[PairingRejudgement]:
    """The pairings that are judged again and wait for a decision, with what would change."""
    if not _has_waiting(conn, tournament.id):
        return []
    games = courses.read_games(conn, tournament.id)
    waiting: dict[str, list[TournamentGame]] = defaultdict(list)
    for game in games:
        if _is_waiting(game):
            waiting[game.pairing].append(game)
    inputs = courses.read_inputs(conn, tournament)
    before = courses.compute(inputs, games)
    return [
        _pairing_rejudgement(inputs, games, before, news) for _, news in sorted(waiting.items())
    ]


@atomic_function
def apply_rejudgement(
    conn: Connection, tournament_id: TournamentId, pairing: str, by: UserId | None
) -> None:
    """Lets the new results of a pairing count in place of the old ones. The tournament goes on.

    Raises Conflict if no new results wait, if a new match is void, or if a new match is not
    finished.
    """
    tournament, rejudgement = _lock_rejudgement(conn, tournament_id, pairing)
    if rejudgement.void_reason is not None:
        raise Conflict(
            f"keep the old results and judge the pairing again: a new match is void"
            f" ({rejudgement.void_reason})",
            field="pairing",
        )
    if rejudgement.changes is None:
        raise Conflict("the new matches are not over yet", field="pairing")
    for old, new in rejudgement.games:
        query = """update tournament_games
            set outcome = case match_id when %s then 'counted' else 'replaced' end
            where match_id in (%s, %s)"""
        conn.execute(query, (new.match_id, old.match_id, new.match_id))
    if tournament.state is TournamentState.FINISHED:
        tournaments.set_state(conn, tournament.id, TournamentState.RUNNING)
    update(conn, "tournaments", {"id": tournament.id}, is_due=True, champion=None)
    tournaments.record_act(
        conn, tournament.id, "apply rejudgement", by=by, details={"pairing": pairing}
    )


@atomic_function
def drop_rejudgement(
    conn: Connection, tournament_id: TournamentId, pairing: str, by: UserId | None
) -> None:
    """Keeps the old results. The new matches stay in the record and do not count.

    Raises Conflict if the pairing is not judged again.
    """
    tournament, rejudgement = _lock_rejudgement(conn, tournament_id, pairing)
    news = [new.match_id for _, new in rejudgement.games]
    matches.void_matches(conn, news, VoidCause.CALLED_OFF, "the rejudgement was dropped")
    conn.execute("update tournament_games set outcome = 'stale' where match_id = any (%s)", (news,))
    tournaments.record_act(
        conn, tournament.id, "drop rejudgement", by=by, details={"pairing": pairing}
    )


def _lock_rejudgement(
    conn: Connection, tournament_id: TournamentId, pairing: str
) -> tuple[Tournament, PairingRejudgement]:
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    for rejudgement in list_rejudgements(conn, tournament):
        if str(rejudgement.key) == pairing:
            return tournament, rejudgement
    raise Conflict("this pairing has no new results to apply or drop", field="pairing")


def _is_waiting(game: TournamentGame) -> bool:
    return game.is_rejudgement and game.outcome in (None, GameOutcome.PROPOSED)


def _has_waiting(conn: Connection, tournament_id: TournamentId) -> bool:
    """Whether a game is judged again and waits: most tournaments have none."""
    query = """select 1 from tournament_games
        where tournament_id = %(tournament_id)s and is_rejudgement
          and (outcome is null or outcome = 'proposed') limit 1"""
    return exists(conn, query, {"tournament_id": tournament_id})


def _play_again(
    conn: Connection, tournament: Tournament, old: TournamentGame, fresh: Mapping[bytes, bytes]
) -> None:
    """Queues a match for this game. ``fresh`` gives another seed for each old one."""
    seed = fetch_one(conn, bytes, "select seed from matches where id = %s", (old.match_id,))
    lineup = matches.lineup_of(conn, old.match_id)
    is_known = any(seat.profile == REMOTE for seat in lineup)
    new: MatchId = matches.create_match(
        conn,
        season=seasons.get_season(conn, tournament.season_id),
        kind=MatchKind.TOURNAMENT,
        lineup=lineup,
        seed=fresh[seed] if is_known else seed,
        turn=matches.first_turn_of_queue(conn, "play.cpu") or 0,
    )
    query = """insert into tournament_games (
          match_id, tournament_id, pairing, game, entrants, try, embargo, is_rejudgement)
        select %(new)s, tournament_id, pairing, game, entrants, try + 1, embargo, true
        from tournament_games
        where match_id = %(match_id)s"""
    conn.execute(query, {"new": new, "match_id": old.match_id})


def _pairing_rejudgement(
    inputs: TournamentInputs,
    games: list[TournamentGame],
    before: Course,
    news: list[TournamentGame],
) -> PairingRejudgement:
    key = Key.parse(news[0].pairing)
    counted = {
        item.game: item
        for item in games
        if item.pairing == news[0].pairing and item.outcome is GameOutcome.COUNTED
    }
    pairs = tuple((counted[new.game], new) for new in news)
    changes = None
    if all(new.places for new in news):
        gone = {item.match_id for pair in pairs for item in pair}
        supposed = [item for item in games if item.match_id not in gone]
        supposed += [replace(new, outcome=GameOutcome.COUNTED) for new in news]
        after = courses.compute(inputs, supposed)
        changes = tuple(item for item in changed(before, after) if item != key)
    return PairingRejudgement(key, pairs, downstream(inputs.event, before, key), changes)
