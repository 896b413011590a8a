"""Draws both boards of a contest as SVG: intervals, likely and official scores. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ladder.leagues.medals import Medal
from ladder.reports.contest_luck.medal_odds import LuckRow

ROW: Final = 18
LEFT: Final = 190
WIDTH: Final = 560
RIGHT: Final = 90
COLOURS: Final = {Medal.GOLD: "#c99700", Medal.SILVER: "#8a8d91", Medal.BRONZE: "#a5622a"}
INTERVAL: Final = 1.96


def draw_odds(rows: Sequence[LuckRow]) -> str:
    """Returns the picture of these rows, one line each. Empty rows give an empty picture."""
    low = min((each.score - INTERVAL * each.sigma for each in rows), default=0.0)
    high = max((each.score + INTERVAL * each.sigma for each in rows), default=1.0)
    scores = [each.official_score for each in rows if each.official_score is not None]
    low, high = min([low, *scores]), max([high, *scores])
    scale = WIDTH / max(high - low, 1.0)

    def across(score: float) -> float:
        return round(LEFT + (score - low) * scale, 1)

    lines = []
    for n, each in enumerate(rows):
        y = (n + 2) * ROW
        colour = "#444" if each.official is None else COLOURS[each.official]
        bar = across(each.score - INTERVAL * each.sigma), across(each.score + INTERVAL * each.sigma)
        lines += [
            f'<text x="8" y="{y + 4}">{each.rank}. team {each.team}</text>',
            f'<line x1="{bar[0]}" x2="{bar[1]}" y1="{y}" y2="{y}" stroke="{colour}"/>',
            f'<circle cx="{across(each.score)}" cy="{y}" r="3.5" fill="{colour}"/>',
            f'<text x="{LEFT + WIDTH + 12}" y="{y + 4}">{_odds_text(each)}</text>',
        ]
        if each.official_score is not None:
            x = across(each.official_score)
            lines.append(f'<path d="M{x - 3} {y - 3}l6 6m0 -6l-6 6" stroke="#b00020" fill="none"/>')
    height = (len(rows) + 3) * ROW
    head = "dot: likely score with its 95 % interval; cross: official score; right: odds of a medal"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}"'
        ' font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="8" y="16" fill="#444">{head}</text>{"".join(lines)}</svg>\n'
    )


def _odds_text(each: LuckRow) -> str:
    return f"{100 * each.chances[2]:.0f} %"
