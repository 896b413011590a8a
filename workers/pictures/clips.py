"""Moving pictures of a replay, as WebP or GIF of at most 2 MB."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Final, Literal

from PIL import Image, ImageDraw

from games.board_frames import BoardFrame
from workers.pictures.cards import INK, MUTED, PAPER, draw_board, draw_text, font, seat_colour

Form = Literal["webp", "gif"]
MOST_FRAMES: Final = 240
"""Longer replays leave out steps evenly."""
MOST_BYTES: Final = 2_000_000
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
        if len(content) <= MOST_BYTES:
            return content
    raise ValueError(f"a clip of {len(chosen)} frames is larger than {MOST_BYTES} bytes")


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
    if form == "gif":
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
