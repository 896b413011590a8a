"""Draws wanted pictures: reads what a stranger may see, draws it, and stores it by its digest.

A moving picture of a replay is a WebP or a GIF. Finished replays also show how interesting they
are to watch.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from PIL import Image, ImageDraw

from games import GAMES
from games.episode import from_bytes, states
from games.frames import BoardFrame, board_frame
from games.protocol import GameError
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.errors import NotFound
from ladder.ids import AgentId, LeagueId, MatchId
from ladder.matches.match_titles import lineup_title
from ladder.matches.records import Match
from ladder.people.records import STRANGER
from ladder.reports import highlights, pictures, shown_publicly
from ladder.reports.pictures import Form
from ladder.telemetry import log_event, traceback_text
from ladder.tournaments.views import find_place
from workers.pictures.cards import (
    INK,
    MUTED,
    PAPER,
    Card,
    CardLine,
    draw_board,
    draw_card,
    draw_text,
    font,
    seat_colour,
)

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
    place = find_place(conn, STRANGER, match)
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
        return draw_clip(frames_of(blobs, digest), names, form, on_frame)

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


MOST_FRAMES: Final = 240
"""Longer replays leave out steps evenly."""
MOST_CLIP_BYTES: Final = 2_000_000
SIZES: Final = (400, 320, 240, 160)
"""Widths of the board in pixels, tried in this order until the clip is small enough."""
STEP_MS: Final = 120
LAST_MS: Final = 2_000
COLOURS: Final = 32


def draw_clip(
    frames: Sequence[BoardFrame],
    names: Sequence[str],
    form: Form,
    on_frame: Callable[[], None] = lambda: None,
) -> bytes:
    """The clip of the frames. Raises ValueError if there is no board to draw."""
    chosen = chosen_steps(len(frames))
    for width in SIZES:
        pictures = []
        for step in chosen:
            pictures.append(_draw(frames[step], step, len(frames) - 1, names, width))
            on_frame()
        content = _encode(pictures, form)
        if len(content) <= MOST_CLIP_BYTES:
            return content
    raise ValueError(f"a clip of {len(chosen)} frames is larger than {MOST_CLIP_BYTES} bytes")


def chosen_steps(count: int) -> list[int]:
    """Steps to draw, evenly, with the first and the last."""
    if count <= MOST_FRAMES:
        return list(range(count))
    return [round(one * (count - 1) / (MOST_FRAMES - 1)) for one in range(MOST_FRAMES)]


def _draw(frame: BoardFrame, step: int, last: int, names: Sequence[str], width: int) -> Image.Image:
    if not frame.columns:
        raise ValueError("this game has no board to draw")
    board = draw_board(frame, width, width)
    line = 18
    picture = Image.new("RGB", (width, board.height + line * (1 + (len(names) + 1) // 2)), PAPER)
    picture.paste(board, ((width - board.width) // 2, 0))
    pen = ImageDraw.Draw(picture)
    half = width // 2
    for seat, name in enumerate(names):
        x, y = half * (seat % 2), board.height + line * (seat // 2)
        pen.rounded_rectangle((x + 2, y + 5, x + 16, y + 14), 4, fill=seat_colour(seat))
        value = f"{frame.values[seat]:g}" if frame.values else ""
        draw_text(pen, (x + 21, y + 2), name, size=12, room=half - 60, colour=INK)
        pen.text((x + half - 6, y + 2), value, fill=INK, font=font(12), anchor="ra")
    foot = board.height + line * ((len(names) + 1) // 2)
    pen.text((4, foot + 2), f"step {step} of {last}", fill=MUTED, font=font(12))
    return picture


def _encode(pictures: Sequence[Image.Image], form: Form) -> bytes:
    times = [STEP_MS] * (len(pictures) - 1) + [LAST_MS]
    palette = pictures[len(pictures) // 2].quantize(COLOURS, dither=Image.Dither.NONE)
    flat = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in pictures]
    content = io.BytesIO()
    if form is Form.GIF:
        flat[0].save(
            content, "GIF", save_all=True, append_images=flat[1:], duration=times, loop=0,
            optimize=False, disposal=1,
        )  # fmt: skip
    else:
        plain = [one.convert("RGB") for one in flat]
        plain[0].save(
            content, "WEBP", save_all=True, append_images=plain[1:], duration=times, loop=0,
            lossless=True, method=0, quality=20, minimize_size=False,
        )  # fmt: skip
    return content.getvalue()


def judge_matches(
    conn: Connection, blobs: Blobs, until: Callable[[], bool], on_match: Callable[[], None]
) -> int:
    """Looks at the newest matches of each season. Returns how many."""
    with conn.transaction():
        highlights.delete_old_interest(conn)
        waiting = highlights.matches_to_judge(conn)
    count = 0
    for match in waiting:
        if until():
            break
        on_match()
        try:
            interest = judge_match(blobs, match)
        except (GameError, NotFound) as error:  # the replay is gone, or recorded by other rules
            log_event("match_not_judged", match=match.id, error=str(error))
            interest = highlights.judge(match, [], 1)
        with conn.transaction():
            highlights.store_interest(conn, match, interest)
        count += 1
    return count


def judge_match(blobs: Blobs, match: Match) -> highlights.Interest:
    """How interesting the first episode of a match is. Raises GameError and NotFound."""
    game = GAMES.get(match.game)
    if game is None:
        raise GameError(f"game: {match.game!r:.100} is unknown here")
    frames = frames_of(blobs, match.episodes[0].replay_digest)
    longest = game.longest(game.configure({}))
    return highlights.judge(match, [frame.values for frame in frames], longest)
