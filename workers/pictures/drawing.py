"""Draws wanted pictures: reads what a stranger may see, draws it, and stores it by its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from games import GAMES
from games.board_frames import BoardFrame, board_frame
from games.episode import from_bytes, states
from games.protocol import GameError
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.errors import NotFound
from ladder.ids import AgentId, LeagueId, MatchId
from ladder.matches.match_titles import lineup_title
from ladder.matches.records import Match
from ladder.people.records import STRANGER
from ladder.reports import pictures, shown_publicly
from ladder.reports.pictures import Form
from ladder.telemetry import log_event, traceback_text
from ladder.tournaments.views import find_place
from workers.pictures.cards import Card, CardLine, draw_card
from workers.pictures.clips import draw_clip

VERSION: Final = "2"
"""Raise it when pictures change, so that they are drawn anew."""
MOST_BYTES: Final = 1 << 30
"""Bytes of all pictures together. Beyond them the ones asked for longest ago are deleted."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A picture that can be drawn: equal ``inputs`` give equal pictures."""

    inputs: str
    draw: Callable[[], bytes]


def draw_wanted(
    conn: Connection, blobs: Blobs, until: Callable[[], bool], on_frame: Callable[[], None]
) -> int:
    """Draws wanted pictures until none is left or ``until`` says so. Returns their number."""
    count = 0
    while not until():
        with conn.transaction():
            taken = pictures.take_wanted(conn)
        if taken is None:
            break
        count += 1
        draw_one(conn, blobs, *taken, on_frame)
    if count:
        with conn.transaction():
            unasked = pictures.delete_unasked(conn, MOST_BYTES)
        for digest in unasked:
            blobs.delete(digest)
    return count


def draw_one(
    conn: Connection,
    blobs: Blobs,
    subject: str,
    before: pictures.Picture | None,
    on_frame: Callable[[], None] = lambda: None,
) -> None:
    """Draws one picture that this worker has taken, unless the drawn one is current."""
    try:
        with conn.transaction():
            plan = make_plan(conn, blobs, subject, on_frame)
        if before is not None and before.inputs == plan.inputs and blobs.exists(before.digest):
            content, digest = b"".join(blobs.open(before.digest)), before.digest
        else:
            content = plan.draw()
            digest = blobs.put_bytes(content).digest
        with conn.transaction():
            pictures.store_picture(conn, subject, plan.inputs, digest, len(content))
    except NotFound:
        with conn.transaction():
            pictures.delete_picture(conn, subject)
    except (GameError, ValueError) as error:  # no board, other rules: no later try helps
        log_event("picture_refused", subject=subject, error=str(error))
        with conn.transaction():
            pictures.give_up(conn, subject, at_once=True)
    except Exception as error:
        log_event(
            "picture_failed",
            level="error",
            subject=subject,
            error=str(error),
            trace=traceback_text(error),
        )
        with conn.transaction():
            pictures.give_up(conn, subject)


def make_plan(
    conn: Connection, blobs: Blobs, subject: str, on_frame: Callable[[], None] = lambda: None
) -> Plan:
    """What to draw for a subject. Raises NotFound if a stranger may not see it."""
    kind, key, form = pictures.parse_subject(subject)
    match kind:
        case "matches":
            found = shown_publicly.public_match(conn, MatchId(key))
            if form is not Form.CARD:
                return _clip_plan(blobs, found.match, form, on_frame)
            return _card_plan(blobs, match_card(conn, found), found.match)
        case "agents":
            agent = shown_publicly.public_agent(conn, AgentId(key))
            return _card_plan(blobs, agent_card(agent), agent.newest)
        case "compare":
            first, _, second = key.partition(pictures.PAIR_MARK)
            pair = shown_publicly.public_comparison(conn, AgentId(first), AgentId(second))
            return _card_plan(blobs, comparison_card(pair), pair.newest)
        case _:
            league = shown_publicly.public_league(conn, LeagueId(key))
            return _card_plan(blobs, league_card(league), league.newest)


def match_card(conn: Connection, found: shown_publicly.PublicMatch) -> Card:
    """Who met whom, without the result: a card must not tell it before the replay does."""
    match = found.match
    place = find_place(conn, STRANGER, match, found.league)
    seats = sorted(match.seats, key=lambda seat: seat.seat)
    return Card(
        place.round if place else f"{match.kind} match",
        lineup_title(match),
        [CardLine(f"{seat.agent_name}, {seat.team_name}", seat=seat.seat) for seat in seats],
        "Watch the replay",
        within=(found.league.title, *([place.tournament.title] if place else [])),
    )


def agent_card(found: shown_publicly.PublicAgent) -> Card:
    lines = [
        CardLine(place.league.title, f"rank {place.row.rank} of {place.rows}")
        for place in found.places
    ]
    return Card(_game_title(found.newest), found.agent.name, lines, "An agent on the ladder")


def comparison_card(found: shown_publicly.PublicComparison) -> Card:
    """How often each won, with the 95 % interval of the first agent's share."""
    total = found.total
    lines = [
        CardLine(f"{found.agent.name}, {found.agent.team_name}", f"{total.won}", seat=0),
        CardLine(f"{found.opponent.name}, {found.opponent.team_name}", f"{total.lost}", seat=1),
    ]
    if total.tied:
        lines.append(CardLine("Ties", f"{total.tied}"))
    if total.share is not None and total.interval is not None:
        low, high = total.interval
        lines.append(CardLine("Share of the first", f"{total.share:.0%}"))
        lines.append(CardLine("With 95 % confidence", f"{low:.0%} to {high:.0%}"))
    games = f"{total.games} game" if total.games == 1 else f"{total.games} games"
    return Card(
        f"{_game_title(found.newest)}, {games}",
        f"{found.agent.name} against {found.opponent.name}",
        lines,
        "Two agents compared",
    )


def league_card(found: shown_publicly.PublicLeague) -> Card:
    lines = [CardLine(f"{row.rank}. {row.agent_name}, {row.team_name}") for row in found.rows]
    title = GAMES[found.league.game].title if found.league.game in GAMES else found.league.game
    return Card(title, found.league.title, lines, "The leaderboard")


def _game_title(match: Match | None) -> str:
    return GAMES[match.game].title if match is not None and match.game in GAMES else "Agent"


def _card_plan(blobs: Blobs, card: Card, shown: Match | None) -> Plan:
    digest = shown.episodes[0].replay_digest if shown is not None else ""

    def draw() -> bytes:
        return draw_card(replace(card, board=board()))

    def board() -> BoardFrame | None:
        if shown is None or shown.game not in GAMES or not blobs.exists(digest):
            return None
        try:
            return lively_frame(frames_of(blobs, digest))
        except GameError:  # recorded by other rules: a card without a board
            return None

    return Plan(_digest(repr(card), digest), draw)


def _clip_plan(blobs: Blobs, match: Match, form: Form, on_frame: Callable[[], None]) -> Plan:
    digest = match.episodes[0].replay_digest
    names = [seat.agent_name for seat in sorted(match.seats, key=lambda seat: seat.seat)]
    if not blobs.exists(digest):
        raise NotFound.of("replay")

    def draw() -> bytes:
        return draw_clip(
            frames_of(blobs, digest), names, "gif" if form is Form.GIF else "webp", on_frame
        )

    return Plan(_digest(repr(names), digest, form), draw)


def frames_of(blobs: Blobs, digest: str) -> list[BoardFrame]:
    """All frames of a replay. Raises GameError if the rules are missing or have changed."""
    episode = from_bytes(b"".join(blobs.open(digest)))
    game = GAMES.get(episode.game)
    if game is None:
        raise GameError(f"game: {episode.game!r:.100} is unknown here")
    return [
        board_frame(episode.game, episode.configuration, game.frame(state), episode.seats)
        for state in states(game, episode)
    ]


def lively_frame(frames: Sequence[BoardFrame]) -> BoardFrame:
    """A frame of the middle of the episode: the last change of the leader before two thirds.

    So the picture does not tell the result.
    """
    middle = frames[: max(1, 2 * len(frames) // 3)]
    leads = [max(range(len(one.values)), key=one.values.__getitem__, default=0) for one in middle]
    changes = [step for step, (one, two) in enumerate(pairwise(leads), 1) if one != two]
    return middle[changes[-1]] if changes else middle[-1]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join((VERSION, *parts)).encode()).hexdigest()
