"""How pages show numbers, times, medals and reasons, and the filters of the templates.

A translator finds the texts of the site in ``templates/``, here, and in ``form_texts``,
``charts`` and ``state_chips``. The words of the replay players are in ``static/``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Final
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from estimates.intervals import half_width
from games import GAMES
from ladder.entries.records import Newcomers
from ladder.fault_reasons import DETAILS, OBSERVED, short_reason
from ladder.leagues.measures import Estimate
from ladder.leagues.measures import MeasureKind as Measured
from ladder.leagues.medals import (
    BEST_FIRST,
    MedalRuleKind,
    MedalRules,
    MedalStatus,
    parse_line,
)
from ladder.matches.match_titles import lineup_title, match_title
from ladder.matches.records import Seat
from ladder.ratings.official.representatives import LEAST_GAMES
from ladder.ratings.official.standing import OfficialPlace
from ladder.sizes import size_text
from ladder.standings.board_records import BoardRow, StandsBy
from services.web import form_texts, state_chips

TEAM_ACTS: Final = {
    "create": "made the team",
    "rename": "renamed the team",
    "invite": "invited",
    "revoke": "revoked an invitation",
    "join": "joined the team",
    "decline": "declined an invitation",
    "leave": "left",
    "remove": "removed",
    "hand_over": "handed the team over to",
    "ask_merge": "asked another team for a merge",
    "declined_merge": "declined a merge",
    "withdrawn_merge": "withdrew the request for a merge",
    "merge": "merged two teams",
}
"""Words for the acts of a team's log."""
UNITS: Final = (("d", 86400), ("h", 3600), ("min", 60))


def sentence(message: str) -> str:
    """A message of an error as a sentence."""
    return f"{message[:1].upper()}{message[1:]}."


def sign_in_address(path: str, **query: str | None) -> str:
    """The sign-in page that leads on to this path with these values."""
    given = urlencode({name: value for name, value in query.items() if value})
    onward = f"{path}?{given}" if given else path
    return f"/sign-in?{urlencode({'next': onward})}"


def score_text(value: float) -> str:
    """A score or a rating in whole points."""
    return f"{value:,.0f}".replace("-", "\N{MINUS SIGN}")


def signed_text(value: float, digits: int = 2) -> str:
    """A difference with its sign."""
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def change_text(value: float) -> Markup:
    """A rating change with its sign and colour."""
    rounded = round(value)
    if rounded == 0:
        return Markup('<span class="num muted">±0</span>')
    kind, sign = ("up", "+") if rounded > 0 else ("down", "\N{MINUS SIGN}")
    return Markup('<span class="num {}">{}{}</span>').format(kind, sign, abs(rounded))


def seconds_text(value: float | None) -> str:
    """A duration in seconds, in a suitable unit."""
    if value is None:
        return "–"
    if value == 0:
        return "0 s"
    if value < 0:  # an overdrawn bank
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


def ago_text(moment: datetime, now: datetime | None = None) -> str:
    """How long ago, in one unit. static/times.js does the same in the browser."""
    passed = ((now or datetime.now(UTC)) - moment).total_seconds()
    for unit, length in UNITS:
        if passed >= length:
            return f"{int(passed // length)} {unit} ago"
    return "just now" if passed < 10 else f"{int(passed)} s ago"


def date_text(moment: datetime) -> str:
    """Date and time in UTC."""
    return f"{moment.astimezone(UTC):%d %b %Y, %H:%M} UTC".lstrip("0")


def capitalize_first(text: str) -> str:
    """The text with a capital letter at its start."""
    return text[:1].upper() + text[1:]


def day_text(moment: datetime) -> str:
    """A date in UTC."""
    return f"{moment.astimezone(UTC):%d %b %Y}".lstrip("0")


def since_text(moment: datetime | None, empty: str = "never") -> Markup:
    """A <time> with the relative time as text and the absolute one as title."""
    if moment is None:
        return Markup('<span class="muted">{}</span>').format(empty)
    return Markup('<time data-ago datetime="{}" title="{}">{}</time>').format(
        moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        date_text(moment),
        ago_text(moment),
    )


def rank_interval(place: OfficialPlace) -> str:
    """The interval of a rank: ``3–7``, or one number if both ends are equal."""
    if place.rank_low == place.rank_high:
        return str(place.rank_low)
    return f"{place.rank_low}\N{EN DASH}{place.rank_high}"


def estimate_text(one: Estimate) -> str:
    """The value of a measure: a share in percent, or a mean with one digit."""
    return "–" if one.value is None else _measure_number(one, one.value)


def interval_text(one: Estimate) -> str:
    """The 95 % interval of a measure: ``96.1–99.2``. Empty without an interval."""
    if one.low is None or one.high is None:
        return ""
    return f"{_measure_number(one, one.low)}\N{EN DASH}{_measure_number(one, one.high)}"


def _measure_number(one: Estimate, value: float) -> str:
    shown = f"{100 * value:.1f}%" if one.kind is Measured.SHARE else f"{value:,.1f}"
    return shown.replace("-", "\N{MINUS SIGN}")


def likely_ranks_text(place: OfficialPlace) -> str:
    """What the interval of a rank means."""
    return f"With a probability of 95 % the true rank is {rank_interval(place)}".replace(
        "\N{EN DASH}", " to "
    )


def percent_text(chance: float) -> str:
    """A probability in percent, never shown as 0 % or 100 %."""
    if chance > 0.99:
        return ">99%"
    return "<1%" if chance < 0.01 else f"{chance:.0%}"


def medal_rules_text(rules: MedalRules) -> str:
    """The medal rules of a season, and the rule for equal scores."""
    if rules.kind is not MedalRuleKind.LINES:
        return f"{_medal_lines_text(rules)} Equal scores share a place and count as one team."
    stated = rules.to_json()
    gold, silver, bronze = (
        medal_line_text(line) if isinstance(line, str) else score_text(line)
        for line in (stated[medal.value] for medal in BEST_FIRST)
    )
    return f"Medals by official score: gold from {gold}, silver {silver}, bronze {bronze}."


def medal_line_text(line: str) -> str:
    """A line that a reference agent names: ``survivor + 100``."""
    name, distance = parse_line(line)
    sign = "+" if distance > 0 else "\N{MINUS SIGN}"
    return f"{name} {sign} {score_text(abs(distance))}" if distance else name


def some_names(names: Sequence[str]) -> str:
    """The first five names, and how many more there are."""
    rest = len(names) - 5
    return ", ".join(names[:5]) + (f" and {rest} more" if rest > 0 else "")


def _medal_lines_text(rules: MedalRules) -> str:
    numbers = (rules.gold, rules.silver, rules.bronze)
    if rules.kind is MedalRuleKind.TABLE:
        return "Medals by Kaggle's rank table: bronze from 3 teams, silver from 5, gold from 10."
    if rules.kind is MedalRuleKind.SHARES:
        gold, silver, bronze = (f"{number:.4g}%" for number in (100 * one for one in numbers))
        return f"Medals to {gold} (gold), {silver} (silver) and {bronze} (bronze) of the teams."
    gold, silver, bronze = (f"{number:,.0f}" for number in numbers)
    return f"Medals to {gold} (gold), {silver} (silver) and {bronze} (bronze) teams."


STANDS_BY_TEXTS: Final = {
    StandsBy.DECLARED: "the team declared it",
    StandsBy.NEWEST: "it is the newest entry that has played enough games",
    StandsBy.WAITING: f"the team's newer entries have not played {LEAST_GAMES} games yet",
    StandsBy.BETTER: "it is surely better than the team's newest one",
}


STANDS_BY_WORDS: Final = {
    StandsBy.DECLARED: "declared",
    StandsBy.NEWEST: "newest version",
    StandsBy.WAITING: "older version",
    StandsBy.BETTER: "its better version",
}


def medal_odds_text(row: BoardRow) -> str:
    """The tooltip of a medal: its state and probability."""
    if row.estimates:
        return (
            "Awarded by the final ranks"
            if row.status is MedalStatus.AWARDED
            else "By the present ranks"
        )
    if row.chance is None:
        return "Likely; the probability follows with the next official standing"
    odds = (
        f"the team deserves {row.medal} or better with a probability of {percent_text(row.chance)}"
    )
    if row.status is MedalStatus.SEALED:
        return f"Sealed: no later game changes this medal; {odds} now"
    kept = f"; {row.sealed} is sealed" if row.sealed else ""
    if row.status is MedalStatus.AWARDED:
        return f"Awarded at the end, not sealed: {odds}{kept}"
    return f"Likely: {odds}{kept}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 match``, ``2 matches``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def newcomers_text(newcomers: Newcomers) -> str:
    """``3 agents are in their first matches, and 1 agent is in validation.``"""
    told = [
        f"{plural(count, 'agent')} {one if count == 1 else many}"
        for count, one, many in (
            (newcomers.playing, "is in its first match", "are in their first matches"),
            (
                newcomers.waiting,
                "is waiting for its first match",
                "are waiting for their first match",
            ),
            (newcomers.validating, "is in validation", "are in validation"),
        )
        if count
    ]
    return f"{', and '.join(told)}."


def seat_reason(seat: Seat) -> str:
    """Why a seat failed, and at which step."""
    reason, step = short_reason(seat.reason or ""), seat.failed_step
    if not step or re.search(rf"\bstep {step}\b", reason):
        return reason
    return f"{reason} (step {step})"


def reason_html(reason: str) -> Markup:
    """The sentence of a reason, with its numbers folded."""
    sentence = short_reason(reason)
    observed = OBSERVED.search(reason)
    numbers = [OBSERVED.sub("", reason).partition(DETAILS)[2]]
    if observed:
        numbers.append(f"the agent saw {observed[1]}")
    details = "; ".join(filter(None, numbers))
    if not details:
        return escape(sentence)
    return Markup("{}<details><summary>Numbers</summary>{}</details>").format(
        sentence, capitalize_first(details)
    )


def episode_format(is_kaggle: bool) -> str:
    """The name of a downloaded episode's format."""
    return "Kaggle JSON" if is_kaggle else "frames JSON"


def seat_mark(seat: int) -> Markup:
    """The seat's colour and stripe, as in the player."""
    return Markup(
        '<svg class="seat-mark seat-{}" viewBox="0 0 32 16" aria-hidden="true">'
        '<rect width="32" height="16" rx="8"/><path d="M7 8H25"/></svg>'
    ).format(seat % 16)


def game_title(name: str) -> str:
    """A game's title."""
    return GAMES[name].title if name in GAMES else name


def prose_html(text: str) -> Markup:
    """Paragraphs of HTML; text between backticks becomes code."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        parts = [
            Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
            for place, part in enumerate(paragraph.strip().split("`"))
        ]
        paragraphs.append(Markup("<p>{}</p>").format(Markup("").join(parts)))
    return Markup("").join(paragraphs)


def terms_line_html(line: str) -> Markup:
    """A line of a league's terms, with a link to the page that it names."""
    linked = Markup('page <a href="/privacy">Privacy</a>')
    return Markup(escape(line).replace("page Privacy", linked, 1))  # noqa: S704 (escaped above)


def path_segment(text: str) -> str:
    """The text as a segment of a path."""
    return quote(text, safe="")


def team_act_text(act: str) -> str:
    """What a person did with a team, after the person's name."""
    return TEAM_ACTS.get(act, act.replace("_", " "))


SIDE: Final = 5
HUES: Final = 24


def draw_avatar(name: str) -> Markup:
    """A symmetric pattern of squares as SVG, for agents and teams. Hidden from screen readers."""
    digest = hashlib.sha256(name.encode()).digest()
    hue = digest[0] % HUES
    half = (SIDE + 1) // 2
    cells = [
        (column, row)
        for row in range(SIDE)
        for column in range(SIDE)
        if digest[1 + row * half + min(column, SIDE - 1 - column)] % 2
    ]
    path = "".join(f"M{column} {row}h1v1h-1z" for column, row in cells)
    return Markup(
        '<svg class="avatar hue-{}" viewBox="-1 -1 7 7" aria-hidden="true">'
        '<rect x="-1" y="-1" width="7" height="7"/><path d="{}"/></svg>'
    ).format(hue, path)


_BRACKETS: Final = r"""\([^\s<>"'()]*\)"""
ADDRESS: Final = re.compile(
    rf"""(\b[Hh][Tt][Tt][Pp][Ss]?://(?:{_BRACKETS}|[^\s<>"'()])*"""
    rf"""(?:{_BRACKETS}|[^\s<>"'()\[\]{{}}.,:;!?…”。*]))"""
)
"""An address in a text, without the punctuation after it. It may have round brackets in pairs."""
LINK: Final = Markup('<a href="{0}" rel="nofollow noopener">{0}</a>')


def plain_text_html(text: str) -> Markup:
    """The paragraphs and lines of a text; its http and https addresses become links."""
    lines = (line.strip() for line in text.splitlines())
    return Markup("").join(
        Markup("<p>{}</p>").format(Markup("<br>").join(map(linked_html, block)))
        for is_filled, block in groupby(lines, bool)
        if is_filled
    )


def first_paragraph(text: str) -> str:
    """The first paragraph of a text, on one line."""
    lines = (line.strip() for line in text.splitlines())
    blocks = (list(block) for is_filled, block in groupby(lines, bool) if is_filled)
    return " ".join(next(blocks, []))


def linked_html(line: str) -> Markup:
    """A line whose addresses are links."""
    parts = enumerate(ADDRESS.split(line))
    return Markup("").join(LINK.format(part) if at % 2 else escape(part) for at, part in parts)


FILTERS: Final = {
    "terms_line": terms_line_html,
    "plain_text": plain_text_html,
    "first_paragraph": first_paragraph,
    "some_names": some_names,
    "tournament_chip": state_chips.tournament_chip,
    "team_act": team_act_text,
    "score": score_text,
    "half_width": half_width,
    "change": change_text,
    "signed": signed_text,
    "seconds": seconds_text,
    "size": size_text,
    "since": since_text,
    "absolute": date_text,
    "sentence": capitalize_first,
    "day": day_text,
    "chip": state_chips.state_chip,
    "medal_rules": medal_rules_text,
    "medal_line": medal_line_text,
    "medal_odds": medal_odds_text,
    "stands_by": STANDS_BY_TEXTS.__getitem__,
    "stands_by_word": STANDS_BY_WORDS.__getitem__,
    "plural": plural,
    "newcomers": newcomers_text,
    "ranks": rank_interval,
    "likely_ranks": likely_ranks_text,
    "percent": percent_text,
    "estimate": estimate_text,
    "within": interval_text,
    "seat_mark": seat_mark,
    "address": path_segment,
    "prose": prose_html,
    "game": game_title,
    "title": match_title,
    "lineup": lineup_title,
    "reason": reason_html,
    "short_reason": short_reason,
    "seat_reason": seat_reason,
    "avatar": draw_avatar,
    "field_id": form_texts.field_id,
    "field_word": form_texts.field_word,
    "pairs": form_texts.options_of_words,
}
