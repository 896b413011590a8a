"""How values are written for people: numbers, times, places, states. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from markupsafe import Markup, escape

from games import GAMES
from ladder.leagues.measures import Estimate
from ladder.leagues.measures import MeasureKind as Measured
from ladder.leagues.medals import MedalRuleKind, MedalRules, MedalStatus
from ladder.ratings.official.standing import OfficialPlace
from ladder.standings.standings import BoardRow

FIELDS: Final = {
    "slug": "name in addresses",
    "url": "address",
    "kind": "who earns a medal",
    "zone": "time zone",
    "opens_at": "opens",
    "closes_at": "uploads lock",
    "ends_at": "ends",
    "anchors": "reference agents",
    "subject": "whom",
    "reason": "why",
    "since": "finished from",
    "until": "finished before",
}
"""Fields of forms that a page calls otherwise than the API does."""
UNITS: Final = (("d", 86400), ("h", 3600), ("min", 60))
STATE_CHIPS: Final = {
    "open": ("good", "open"),
    "paused": ("warn", "paused"),
    "locked": ("warn", "uploads locked"),
    "closed": ("", "closed"),
    "pending": ("warn", "in validation"),
    "active": ("good", "active"),
    "rejected": ("bad", "rejected"),
    "retired": ("", "retired"),
    "disqualified": ("bad", "disqualified"),
    "remote": ("accent", "remote"),
    "queued": ("warn", "queued"),
    "running": ("accent", "running"),
    "finished": ("good", "finished"),
    "void": ("", "void"),
    "cancelled": ("", "cancelled"),
    "DONE": ("", "done"),
    "ERROR": ("bad", "error"),
    "INVALID": ("bad", "invalid move"),
    "TIMEOUT": ("bad", "timeout"),
    "private": ("", "private"),
    "public": ("", "public"),
    "rated": ("", "rated"),
    "validation": ("", "validation"),
    "scrim": ("", "scrim"),
}


def score_text(value: float) -> str:
    """A score or a rating: whole points, as the board shows them."""
    return f"{value:,.0f}".replace("-", "\N{MINUS SIGN}")


def change_text(value: float) -> Markup:
    """A rating change with its sign and a colour that repeats what the sign says."""
    rounded = round(value)
    if rounded == 0:
        return Markup('<span class="num muted">±0</span>')
    kind, sign = ("up", "+") if rounded > 0 else ("down", "\N{MINUS SIGN}")
    return Markup('<span class="num {}">{}{}</span>').format(kind, sign, abs(rounded))


def seconds_text(value: float | None) -> str:
    """A duration in seconds, in the unit that suits it."""
    if value is None:
        return "–"
    if value < 0:  # a bank that is overdrawn
        return f"−{seconds_text(-value)}"
    if 0 < value < 0.0001:
        return "<0.1 ms"
    if value < 0.0095:
        return f"{value * 1000:.1f} ms"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 120:
        return f"{value:.0f} s" if value == int(value) else f"{value:.1f} s"
    if value < 7200:
        return f"{value / 60:.0f} min"
    return f"{value / 3600:.0f} h"


def size_text(value: int) -> str:
    """A number of bytes."""
    if value < 1024:
        return f"{value} B"
    if value < 1024 * 1024:
        return f"{value / 1024:.0f} kB"
    return f"{value / 1024 / 1024:.1f} MB"


def ago_text(moment: datetime, now: datetime | None = None) -> str:
    """How long ago, in one unit. static/times.js says the same in the browser."""
    passed = ((now or datetime.now(UTC)) - moment).total_seconds()
    for unit, length in UNITS:
        if passed >= length:
            return f"{int(passed // length)} {unit} ago"
    return "just now" if passed < 10 else f"{int(passed)} s ago"


def date_text(moment: datetime) -> str:
    """Date and time in UTC."""
    return f"{moment.astimezone(UTC):%d %b %Y, %H:%M} UTC".lstrip("0")


def as_sentence(text: str) -> str:
    """With a large letter at its beginning."""
    return text[:1].upper() + text[1:]


def day_text(moment: datetime) -> str:
    """A date in UTC."""
    return f"{moment.astimezone(UTC):%d %b %Y}".lstrip("0")


def since_text(moment: datetime | None, empty: str = "never") -> Markup:
    """A <time> with the relative time shown and the absolute one as its title."""
    if moment is None:
        return Markup('<span class="muted">{}</span>').format(empty)
    return Markup('<time data-ago datetime="{}" title="{}">{}</time>').format(
        moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        date_text(moment),
        ago_text(moment),
    )


def state_chip(state: Any) -> Markup:
    """A state as a small label; the colour repeats what the word says."""
    kind, word = STATE_CHIPS.get(str(state), ("", str(state)))
    return Markup('<span class="chip {}">{}</span>').format(kind, word)


def rank_interval(place: OfficialPlace) -> str:
    """The interval of a rank: ``3–7``, or the one number that is left."""
    if place.rank_low == place.rank_high:
        return str(place.rank_low)
    return f"{place.rank_low}\N{EN DASH}{place.rank_high}"


def estimate_text(one: Estimate) -> str:
    """The value of a measure: a share in percent, a mean with one digit."""
    return "–" if one.value is None else _measure_number(one, one.value)


def interval_text(one: Estimate) -> str:
    """Its 95 % interval: ``96.1–99.2``; nothing where there is none."""
    if one.low is None or one.high is None:
        return ""
    return f"{_measure_number(one, one.low)}\N{EN DASH}{_measure_number(one, one.high)}"


def _measure_number(one: Estimate, value: float) -> str:
    shown = f"{100 * value:.1f}%" if one.kind is Measured.SHARE else f"{value:,.1f}"
    return shown.replace("-", "\N{MINUS SIGN}")


def percent_text(chance: float) -> str:
    """A probability; never one that nobody can know."""
    if chance > 0.99:
        return ">99%"
    return "<1%" if chance < 0.01 else f"{chance:.0%}"


def medal_rules_text(rules: MedalRules) -> str:
    """Who earns a medal, and who shares it."""
    if rules.kind is not MedalRuleKind.LINES:
        return f"{_rank_range(rules)} Equal scores share a place and count as one team."
    gold, silver, bronze = (
        score_text(number) for number in (rules.gold, rules.silver, rules.bronze)
    )
    return f"Medals by official score: gold from {gold}, silver {silver}, bronze {bronze}."


def _rank_range(rules: MedalRules) -> str:
    numbers = (rules.gold, rules.silver, rules.bronze)
    if rules.kind is MedalRuleKind.TABLE:
        return "Medals by Kaggle's rank table."
    if rules.kind is MedalRuleKind.SHARES:
        gold, silver, bronze = (f"{number:.4g}%" for number in (100 * one for one in numbers))
        return f"Medals to {gold} (gold), {silver} (silver) and {bronze} (bronze) of the teams."
    gold, silver, bronze = (f"{number:,.0f}" for number in numbers)
    return f"Medals to {gold} (gold), {silver} (silver) and {bronze} (bronze) teams."


def medal_odds_text(row: BoardRow) -> str:
    """What stands behind a medal, in one sentence."""
    if row.estimates:
        return (
            "Awarded by the final ranks"
            if row.status is MedalStatus.AWARDED
            else "As it stands now"
        )
    if row.chance is None:
        return "Likely: no fit has seen the team yet"
    odds = (
        f"the team deserves {row.medal} or better with a probability of {percent_text(row.chance)}"
    )
    if row.status is MedalStatus.SEALED:
        return f"Sealed: no game changes it any more; {odds} now"
    kept = f"; {row.sealed} is sealed" if row.sealed else ""
    if row.status is MedalStatus.AWARDED:
        return f"Awarded at the end, not sealed: {odds}{kept}"
    return f"Likely: {odds}{kept}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 match``, ``2 matches``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def seat_mark(seat: int) -> Markup:
    """The seat's colour and stripe, as its goose bears them in the player."""
    return Markup(
        '<svg class="seat-mark seat-{}" viewBox="0 0 32 16" aria-hidden="true">'
        '<rect width="32" height="16" rx="8"/><path d="M7 8H25"/></svg>'
    ).format(seat % 16)


def game_title(name: str) -> str:
    """A game's title."""
    return GAMES[name].title if name in GAMES else name


def prose_html(text: str) -> Markup:
    """Paragraphs, with what stands between backticks as code."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        parts = [
            Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
            for place, part in enumerate(paragraph.strip().split("`"))
        ]
        paragraphs.append(Markup("<p>{}</p>").format(Markup("").join(parts)))
    return Markup("").join(paragraphs)


def address(text: str) -> str:
    """A path segment."""
    return quote(text, safe="")


def field_id(name: str) -> str:
    """The id of a form's field."""
    return name.replace(".", "-")


def field_word(name: str) -> str:
    """A form's field in a sentence."""
    word = name.rpartition(".")[2]
    return FIELDS.get(word, word.replace("_", " "))


def word_pairs(words: Iterable[str]) -> list[tuple[str, str]]:
    """Options that are called what they are."""
    return [(word, word) for word in words]


FILTERS: Final = {
    "score": score_text,
    "change": change_text,
    "seconds": seconds_text,
    "size": size_text,
    "since": since_text,
    "absolute": date_text,
    "sentence": as_sentence,
    "day": day_text,
    "chip": state_chip,
    "medal_rules": medal_rules_text,
    "medal_odds": medal_odds_text,
    "plural": plural,
    "ranks": rank_interval,
    "percent": percent_text,
    "estimate": estimate_text,
    "within": interval_text,
    "seat_mark": seat_mark,
    "address": address,
    "prose": prose_html,
    "game": game_title,
    "field_id": field_id,
    "field_word": field_word,
    "pairs": word_pairs,
}
