"""Draws wanted pictures: reads what a stranger may see, draws it, and stores it by its digest.

A picture card has 1200 x 630 pixels, the size that other sites show beside a link. Text has one
font, and names are cut to the room that there is. A frame is drawn with Pillow, in the colours of
the site's player. A moving picture of a replay is a WebP or a GIF. Finished replays
also show how interesting they are to watch.
"""

from __future__ import annotations

import hashlib
import io
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw, ImageFont

from games import GAMES
from games.episode import from_bytes, states
from games.frames import BoardFrame, Cell, Token, board_frame
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

FONTS: Final = (
    ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("/usr/share/fonts/dejavu/DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
)
"""Regular and bold, where the machine has them. Pillow's own font has Latin letters alone."""
MOST_CHARACTERS: Final = 200


@cache
def font(size: int, *, is_bold: bool = False) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    for regular, bold in FONTS:
        path = Path(regular).with_name(bold) if is_bold else Path(regular)
        if path.is_file():
            return ImageFont.truetype(path, size)
    return ImageFont.load_default(size)


def clean(text: str) -> str:
    """The text on one line, without characters that draw nothing or turn the direction."""
    short = "".join(
        " " if unicodedata.category(one).startswith("Z") else one
        for one in text[:MOST_CHARACTERS]
        if not unicodedata.category(one).startswith("C")
    )
    return " ".join(short.split())


def draw_text(
    pen: ImageDraw.ImageDraw,
    place: tuple[int, int],
    text: str,
    *,
    size: int,
    room: int,
    colour: str,
    is_bold: bool = False,
    lines: int = 1,
) -> int:
    """Draws the text in ``lines`` lines of at most ``room`` pixels. Returns the y below."""
    chosen = font(size, is_bold=is_bold)
    x, y = place
    for line in _wrap(clean(text), _fitting(pen, chosen, room), lines):
        pen.text((x, y), line, fill=colour, font=chosen)
        y += round(size * 1.25)
    return y


def join_titles(
    pen: ImageDraw.ImageDraw, titles: Sequence[str], *, size: int, room: int, lines: int
) -> str:
    """Joins the titles with commas. Cuts the longest ones until the text fits.

    Never cuts the last one.
    """
    *first, last = map(clean, titles)
    fits = _fitting(pen, font(size), room)

    def cut(most: int) -> str:
        short = [one if len(one) <= most else f"{one[:most].rstrip()}…" for one in first]
        return ", ".join(one for one in (*short, last) if one)

    def is_too_long(most: int) -> bool:
        return " ".join(_wrap(clean(cut(most)), fits, lines)) != cut(most)

    sizes = range(1, max(map(len, first), default=1) + 1)
    return cut(max(1, bisect_left(sizes, True, key=is_too_long)))


def _fitting(
    pen: ImageDraw.ImageDraw, chosen: ImageFont.FreeTypeFont | ImageFont.ImageFont, room: int
) -> Callable[[str], bool]:
    """Returns a function that says whether a text fits on one line."""
    return lambda text: pen.textlength(text, font=chosen) <= room


def _wrap(text: str, fits: Callable[[str], bool], lines: int) -> list[str]:
    found: list[str] = []
    words = text.split(" ")
    while words and len(found) < lines:
        line = words.pop(0)
        while words and fits(f"{line} {words[0]}"):
            line = f"{line} {words.pop(0)}"
        found.append(line)
    if words:
        found[-1] = f"{found[-1]} {words[0]}…"
    return [line if fits(line) else _cut(line, fits) for line in found]


def _cut(line: str, fits: Callable[[str], bool]) -> str:
    while len(line) > 1 and not fits(f"{line}…"):
        line = line[:-1]
    return f"{line.rstrip('…')}…"


SEATS: Final = (
    *("#0072b2", "#d55e00", "#009e73", "#b8548b"),
    *("#56b4e9", "#e69f00", "#6f6f6f", "#8c6d00"),
)
"""By seat, the colours of player.css."""
NOBODY: Final = "#50636e"
GROUND: Final = "#e3f0f3"
TILE: Final = "#d9eaee"
EDGE: Final = "#9cbcc6"
WHITE: Final = "#ffffff"
INK: Final = "#11212a"
BAD: Final = "#a92a22"
HAZARD: Final = "#d9b3b3"
Point = tuple[float, float]


def seat_colour(seat: int | None) -> str:
    return NOBODY if seat is None else SEATS[seat % len(SEATS)]


def draw_board(frame: BoardFrame, width: int, height: int, smooth: int = 2) -> Image.Image:
    """The board as a picture of at most this size in pixels; ``smooth`` times finer before."""
    cell = max(1, min(width * smooth // frame.columns, height * smooth // frame.rows))
    size = (cell * frame.columns, cell * frame.rows)
    picture = Image.new("RGB", size, GROUND)
    pen = ImageDraw.Draw(picture)
    for row in range(frame.rows):
        for column in range((row + 1) % 2, frame.columns, 2):
            pen.rectangle(_box((column, row), cell, 0), fill=TILE)
    for token in frame.tokens:
        _draw_token(pen, frame, token, cell)
    pen.rectangle((0, 0, size[0] - 1, size[1] - 1), outline=EDGE, width=max(1, smooth))
    if smooth == 1:
        return picture
    return picture.resize((size[0] // smooth, size[1] // smooth), Image.Resampling.BOX)


def _draw_token(pen: ImageDraw.ImageDraw, frame: BoardFrame, token: Token, cell: int) -> None:
    colour = seat_colour(token.seat)
    if token.shape == "body":
        _draw_body(pen, frame, token, cell)
        return
    place = token.cells[0]
    match token.shape:
        case "food":
            pen.ellipse(_box(place, cell, 0.24), fill="#f0e442", outline="#6b6100", width=2)
        case "hazard":
            pen.rectangle(_box(place, cell, 0), fill=HAZARD)
        case "wall":
            pen.rectangle(_box(place, cell, 0), fill=NOBODY)
        case "square":
            pen.rectangle(_box(place, cell, 0.16), fill=colour)
        case "ring":
            pen.ellipse(_box(place, cell, 0.12), outline=colour, width=max(2, cell // 9))
        case "cross":
            left, top, right, bottom = _box(place, cell, 0.25)
            thick = max(2, cell // 9)
            pen.line((left, top, right, bottom), fill=BAD, width=thick)
            pen.line((left, bottom, right, top), fill=BAD, width=thick)
        case _:
            pen.ellipse(_box(place, cell, 0.12), fill=colour)
    if token.text:
        ink = WHITE if token.shape in ("disc", "square", "wall") else INK
        middle = ((place[0] + 0.5) * cell, (place[1] + 0.5) * cell)
        pen.text(middle, token.text, fill=ink, anchor="mm", font_size=cell * 0.4)


def _draw_body(pen: ImageDraw.ImageDraw, frame: BoardFrame, token: Token, cell: int) -> None:
    for thick, colour in ((0.78, WHITE), (0.64, seat_colour(token.seat))):
        radius = thick * cell / 2
        for start, end in _segments(frame, token.cells, cell):
            pen.line((start, end), fill=colour, width=max(1, round(2 * radius)))
        for part in token.cells:
            _disc(pen, _middle(part, cell), radius, colour)
    head = _middle(token.cells[0], cell)
    _disc(pen, head, 0.42 * cell, WHITE)
    _disc(pen, head, 0.37 * cell, seat_colour(token.seat))
    across, down = _direction(frame, token.cells)
    for side in (-1, 1):
        eye = (
            head[0] + cell * (0.12 * across - side * 0.17 * down),
            head[1] + cell * (0.12 * down + side * 0.17 * across),
        )
        _disc(pen, eye, 0.11 * cell, WHITE)
        _disc(pen, (eye[0] + 0.04 * cell * across, eye[1] + 0.04 * cell * down), 0.055 * cell, INK)


def _segments(frame: BoardFrame, cells: Sequence[Cell], cell: int) -> Iterator[tuple[Point, Point]]:
    """Lines between neighbours. A step over an edge is drawn up to the edge on both sides."""
    for index in range(1, len(cells)):
        before, after = cells[index - 1], cells[index]
        step = _step(frame, before, after)
        start, end = _middle(before, cell), _middle(after, cell)
        if step == (after[0] - before[0], after[1] - before[1]):
            yield start, end
        else:
            yield start, (start[0] + step[0] * cell, start[1] + step[1] * cell)
            yield end, (end[0] - step[0] * cell, end[1] - step[1] * cell)


def _direction(frame: BoardFrame, cells: Sequence[Cell]) -> Cell:
    """Where the head looks: away from the next cell, or upwards."""
    if len(cells) < 2 or cells[0] == cells[1]:
        return 0, -1
    return _step(frame, cells[1], cells[0])


def _step(frame: BoardFrame, start: Cell, end: Cell) -> Cell:
    """One step from a cell to its neighbour, over an edge if need be."""

    def fold(difference: int, size: int) -> int:
        if size > 2 and abs(difference) == size - 1:
            return -1 if difference > 0 else 1
        return difference

    return fold(end[0] - start[0], frame.columns), fold(end[1] - start[1], frame.rows)


def _middle(place: Cell, cell: int) -> Point:
    return (place[0] + 0.5) * cell, (place[1] + 0.5) * cell


def _box(place: Cell, cell: int, inset: float) -> tuple[float, float, float, float]:
    left, top, gap = place[0] * cell, place[1] * cell, inset * cell
    return left + gap, top + gap, left + cell - 1 - gap, top + cell - 1 - gap


def _disc(pen: ImageDraw.ImageDraw, middle: Point, radius: float, colour: str) -> None:
    x, y = middle
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


SIZE: Final = (1200, 630)
MARGIN: Final = 40
BOARD: Final = (560, 550)
PAPER: Final = "#ffffff"
MUTED: Final = "#50636e"
ACCENT: Final = "#0a666e"
MOST_LINES: Final = 6
LINE: Final = 46
BELOW: Final = SIZE[1] - 76
"""Top of the last line."""


@dataclass(frozen=True, slots=True)
class CardLine:
    """A line of a card: an agent with what it has."""

    name: str
    beside: str = ""
    """Such as a score, at the right end."""
    seat: int | None = None
    """Its seat, whose colour marks the line."""


@dataclass(frozen=True, slots=True)
class Card:
    above: str
    title: str
    lines: Sequence[CardLine]
    below: str
    board: BoardFrame | None = None
    within: Sequence[str] = ()
    """Titles before ``above``, such as those of league and tournament."""


def draw_card(card: Card) -> bytes:
    picture = Image.new("RGB", SIZE, PAPER)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, SIZE[0], 12), fill=ACCENT)
    left = MARGIN
    if card.board is not None and card.board.columns:
        board = draw_board(card.board, *BOARD)
        top = 12 + (SIZE[1] - 12 - board.height) // 2
        picture.paste(board, (MARGIN, top))
        left += board.width + MARGIN
    room = SIZE[0] - left - MARGIN
    above = join_titles(pen, (*card.within, card.above), size=26, room=room, lines=2)
    y = draw_text(pen, (left, 52), above, size=26, room=room, colour=MUTED, lines=2)
    y = draw_text(
        pen, (left, y + 8), card.title, size=44, room=room, colour=INK, is_bold=True, lines=3
    )
    y += 18
    for line in card.lines[: min(MOST_LINES, (BELOW - y) // LINE)]:
        indent = 0
        if line.seat is not None:
            pen.rounded_rectangle(
                (left, y + 5, left + 34, y + 25), radius=10, fill=seat_colour(line.seat)
            )
            indent = 50
        wide = pen.textlength(line.beside, font=font(28, is_bold=True))
        beside = round(wide) + 30 if line.beside else 0
        draw_text(
            pen, (left + indent, y), line.name, size=28, room=room - indent - beside, colour=INK
        )
        if line.beside:
            draw_text(
                pen,
                (left + room - beside + 30, y),
                line.beside,
                size=28,
                room=beside,
                colour=ACCENT,
                is_bold=True,
            )
        y += LINE
    draw_text(pen, (left, BELOW), card.below, size=24, room=room, colour=MUTED)
    return to_png(picture)


def to_png(picture: Image.Image) -> bytes:
    """Few colours: a palette makes the file three times smaller."""
    content = io.BytesIO()
    picture.quantize(96, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        content, "PNG", optimize=False, compress_level=6
    )
    return content.getvalue()


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
