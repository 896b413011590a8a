"""The texts of charts: descriptions for screen readers, and tooltips."""

from __future__ import annotations

from services.web.formatting import plural, score_text, seconds_text


def curve_label(matches: int, first: float, last: float, margin: float) -> str:
    """The description of a rating curve for screen readers. All but ``matches`` in points."""
    return (
        f"Rating over {plural(matches, 'match', 'matches')}: from {score_text(first)} to "
        f"{score_text(last)}, now plus or minus {score_text(margin)}."
    )


def lines_label(what: str, names: list[str]) -> str:
    """The description of a chart of lines for screen readers."""
    return f"{what} over time of {', '.join(names)}. The table below has the numbers."


def seats_label(seats: int) -> str:
    """The description of the chart of seats for screen readers."""
    return f"Placements in each of {plural(seats, 'seat')}. The table below has the numbers."


def seat_text(seat: int) -> str:
    """The name of a seat; people count from 1."""
    return f"Seat {seat + 1}"


def place_share_text(seat: int, place: int, count: int, games: int) -> str:
    """What a part of a seat's bar shows."""
    return f"{seat_text(seat)}, place {place}: {count:,} of {games:,} ({count / games:.0%})"


def move_times_label(matches: int, slowest: float, free: float) -> str:
    """The description of the chart of slowest moves for screen readers. Times in seconds."""
    return (
        f"Slowest move of each of {plural(matches, 'match', 'matches')}: at most "
        f"{seconds_text(slowest)}, {seconds_text(free)} a move are free."
        " The table below has the numbers."
    )
