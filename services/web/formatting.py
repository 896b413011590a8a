"""All texts of the site outside the templates, and the formats of numbers, times and states.

A translator finds the texts of the pages in ``templates/`` and here. The words of the replay
players are in ``static/``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from games import GAMES
from ladder.entries.records import Entry
from ladder.leagues.measures import Estimate
from ladder.leagues.measures import MeasureKind as Measured
from ladder.leagues.medals import MedalRuleKind, MedalRules, MedalStatus
from ladder.matches.match_titles import lineup_title, match_title
from ladder.ratings.official.representatives import LEAST_GAMES
from ladder.ratings.official.standing import OfficialPlace
from ladder.standings.board_ranking import BoardRow, StandsBy
from services.web.avatars import draw_avatar

LOGIN_FAILED: Final = "Copy the whole token again: this one is mistyped, expired or revoked."
STALE_FORM: Final = "Load the page again: this form is out of date or comes from another site."
FORM_OF_OTHER_LEAGUE: Final = "Load the page again: this form belongs to another league."
ADDRESS_INVALID: Final = "Check the address: a part of it is not valid."
FIELD_MISSING: Final = "Fill in this field."
FIELD_CHARACTERS: Final = "Use only the characters that this field allows."
SIGN_IN_FAILED: Final = "Check name and password: they do not belong together."
EXPORT_LINK_OVER: Final = "This link is over, or not yours. Open the page My data for a new one."
PRESENT_IS_WRONG: Final = "Check your present password: this is another one."
NAME_NOT_REPEATED: Final = "Type the present name of the team to dissolve it."
NO_SUCH_TEAM: Final = "Check the team's short name: there is no such team, or you may not see it."
NEW_AGENT: Final = "a new agent"
ALL_LEAGUES: Final = "all leagues"
NOTHING_NAMED: Final = "Check the name: there is nothing of this name that you may see."
CHOOSE_ONE: Final = "Choose one"
CHOOSE_SEASON: Final = "choose the season to enter"
UNKNOWN_ZONE: Final = "choose a time zone from the list."
UNKNOWN_PERSON: Final = "type the exact name of a person with an account, or the user id."
SIGN_UP_DEFAULT: Final = "as the operator set: {}"
SIGN_UP_MODES: Final = {
    "open": "everybody",
    "domain": "people with a mail address of a chosen domain",
    "invitation": "people with an invitation code of a league",
    "closed": "nobody; administrators make accounts",
}
QUOTAS: Final = {
    "tokens": "tokens of a person",
    "leagues": "leagues of a person",
    "seasons": "seasons of a league",
    "invitations": "invitation codes of a league",
    "requests": "requests to join, of a person",
    "agents": "agents of a team",
    "uploads": "uploads of a team",
    "upload_mb": "megabytes of a team's uploads",
}
"""What each quota limits, for each UTC day."""
TICK_REQUESTS: Final = "tick the requests to answer, or tick all."
NOT_YOUR_REQUEST: Final = "Only the team that asked may withdraw a request."
AUDIENCES: Final = {
    "asker": "the team that asks",
    "sides": "all teams that play",
    "league": "everybody who sees the league",
}
"""Who sees results or replays of a scrim."""
LOG_AUDIENCES: Final = {
    "own": "each team its own agents' output",
    "sides": "all teams that play, all output",
    "league": "everybody who sees the league, all output",
}
"""Who reads the output in a scrim."""
UNKNOWN_GAME: Final = "Load the page again and choose a game from the list."
UNKNOWN_PROBLEM: Final = "There is no such type of problem."
REPLAY_HIDDEN: Final = "This league does not show you this replay, or not yet."
REPLAY_GONE: Final = "This replay can no longer be shown: {}."
ACCESS_BY_SCOPE: Final = "a token with {}"
ACCESS_FOR_KNOWN: Final = "any token"
ACCESS_FOR_ALL: Final = "anybody"
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
FIELDS: Final = {
    "sign_up": "who may make an account",
    "user": "person",
    "blocked": "person to block",
    "join_role": "role",
    "cause": "reason",
    "slug": "short name",
    "season": "league",
    "q": "search text",
    "url": "address",
    "kind": "who earns a medal",
    "zone": "time zone",
    "opens_at": "opens",
    "closes_at": "uploads lock",
    "ends_at": "ends",
    "anchors": "reference agents",
    "subject": "entry, agent or team",
    "since": "finished from",
    "until": "finished before",
    "max_uses": "number of people",
    "into": "short name of the other team",
    "name_again": "name of the team",
    "logs": "what agents print",
    "whom": "teams that may play it",
    "teams": "named teams",
    "blocked_teams": "blocked teams",
    "rating_within": "most points between the ratings",
    "games_per_team_daily": "games a day with one team",
    "games_daily": "games a day with all teams",
    "cooldown_seconds": "pause between two scrims",
    "hours_from": "plays from",
    "hours_until": "plays until",
    "expires_hours": "hours until it expires",
}
"""Labels of form fields whose name in the API differs."""
DETAILS: Final = " Details: "
"""Between the sentence of a seat's fault and its numbers."""
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
    "asked": ("warn", "unanswered"),
    "accepted": ("good", "accepted"),
    "declined": ("bad", "declined"),
    "withdrawn": ("", "withdrawn"),
    "expired": ("", "expired"),
    "DONE": ("", "done"),
    "ERROR": ("bad", "error"),
    "INVALID": ("bad", "invalid move"),
    "TIMEOUT": ("bad", "timeout"),
    "private": ("", "private"),
    "public": ("", "public"),
    "rated": ("", "rated"),
    "validation": ("", "validation"),
    "scrim": ("", "scrim"),
    "better": ("good", "better"),
    "not_better": ("bad", "not better"),
    "cannot_tell": ("warn", "cannot tell"),
    "tournament": ("accent", "tournament"),
    "draft": ("warn", "draft"),
    "registration": ("good", "registration open"),
    "check_in": ("good", "check-in open"),
}
TOURNAMENT_CHIPS: Final = {
    "locked": ("accent", "starts soon"),
    "running": ("accent", "running"),
}
PAIRS_LABEL: Final = "Pairs of games in a series"
PAIRS_HINT: Final = "A pair is the same game twice, with swapped seats. A series ends when decided."
GAMES_LABEL: Final = "Games in each round"
FORMATS: Final = {
    "single-elimination": "Single elimination: the loser of a series is out",
    "double-elimination": "Double elimination: an agent that has lost two series is out",
    "swiss": "Swiss: equal scores meet, nobody meets twice",
    "swiss-finals": "Swiss, then the best in single elimination",
    "round-robin": "Round robin: everybody meets everybody",
    "groups-finals": "Groups, then the best of each in single elimination",
    "gauntlet": "Gauntlet: the strongest entrant meets all others",
    "heats-final": "Heats, then one final heat of the best",
    "heats": "Heats: everybody meets everybody as evenly as possible",
    "knockout-heats": "Knock-out of heats: the better half of each heat goes on",
    "solo": "Solo: each plays alone, all with the same random seeds",
}
"""The formats in the form of a new tournament."""


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


def size_text(value: int) -> str:
    """A number of bytes."""
    if value < 1024:
        return f"{value} B"
    if value < 1024 * 1024:
        return f"{value / 1024:.0f} kB"
    return f"{value / 1024 / 1024:.1f} MB"


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


def tournament_chip(state: Any) -> Markup:
    """The state of a tournament as a small label."""
    kind, word = {**STATE_CHIPS, **TOURNAMENT_CHIPS}.get(str(state), ("", str(state)))
    return Markup('<span class="chip {}">{}</span>').format(kind, word)


def state_chip(state: Any) -> Markup:
    """A state as a small label with its colour."""
    kind, word = STATE_CHIPS.get(str(state), ("", str(state)))
    return Markup('<span class="chip {}">{}</span>').format(kind, word)


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


def percent_text(chance: float) -> str:
    """A probability in percent, never shown as 0 % or 100 %."""
    if chance > 0.99:
        return ">99%"
    return "<1%" if chance < 0.01 else f"{chance:.0%}"


def medal_rules_text(rules: MedalRules) -> str:
    """The medal rules of a season, and the rule for equal scores."""
    if rules.kind is not MedalRuleKind.LINES:
        return f"{_medal_lines_text(rules)} Equal scores share a place and count as one team."
    gold, silver, bronze = (
        score_text(number) for number in (rules.gold, rules.silver, rules.bronze)
    )
    return f"Medals by official score: gold from {gold}, silver {silver}, bronze {bronze}."


def _medal_lines_text(rules: MedalRules) -> str:
    numbers = (rules.gold, rules.silver, rules.bronze)
    if rules.kind is MedalRuleKind.TABLE:
        return "Medals by Kaggle's rank table."
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


def short_reason(reason: str) -> str:
    """The sentence of a reason, without its numbers."""
    return reason.partition(DETAILS)[0]


def reason_html(reason: str) -> Markup:
    """The sentence of a reason, with its numbers folded."""
    sentence, _, details = reason.partition(DETAILS)
    if not details:
        return escape(sentence)
    return Markup("{}<details><summary>Numbers</summary>{}</details>").format(
        sentence, capitalize_first(details)
    )


def verdict_options(verdicts: Iterable[str]) -> list[tuple[str, str]]:
    """Verdicts with their words."""
    return [(verdict, STATE_CHIPS[verdict][1]) for verdict in verdicts]


def episode_format(is_kaggle: bool) -> str:
    """The name of a downloaded episode's format."""
    return "Kaggle JSON" if is_kaggle else "frames JSON"


def team_option(entry: Entry) -> str:
    """A team in the list of names to disqualify."""
    return f"team {entry.team_name}"


def agent_option(entry: Entry) -> str:
    """An agent in the list of names to disqualify."""
    return f"agent {entry.agent_name} of {entry.team_name}"


def entry_option(entry: Entry) -> str:
    """An entry in the list of names to disqualify."""
    return f"submission {entry.submission_number} of {entry.agent_name}"


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
    """The name of a seat."""
    return f"Seat {seat}"


def place_share_text(seat: int, place: int, count: int, games: int) -> str:
    """What a part of a seat's bar shows."""
    return f"Seat {seat}, place {place}: {count:,} of {games:,} ({count / games:.0%})"


def move_times_label(matches: int, slowest: float, free: float) -> str:
    """The description of the chart of slowest moves for screen readers. Times in seconds."""
    return (
        f"Slowest move of each of {plural(matches, 'match', 'matches')}: at most "
        f"{seconds_text(slowest)}, {seconds_text(free)} a move are free."
        " The table below has the numbers."
    )


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


def path_segment(text: str) -> str:
    """The text as a segment of a path."""
    return quote(text, safe="")


def field_id(name: str) -> str:
    """The HTML id of a form's field."""
    return name.replace(".", "-")


def field_word(name: str) -> str:
    """The label of a form's field inside a sentence."""
    word = name.rpartition(".")[2]
    if word.isdecimal():
        return name.replace(".", " ")
    return FIELDS.get(word, word.replace("_", " "))


def options_of_words(words: Iterable[str]) -> list[tuple[str, str]]:
    """Options whose label equals their value."""
    return [(word, word) for word in words]


def team_act_text(act: str) -> str:
    """What a person did with a team, after the person's name."""
    return TEAM_ACTS.get(act, act.replace("_", " "))


FILTERS: Final = {
    "tournament_chip": tournament_chip,
    "team_act": team_act_text,
    "score": score_text,
    "change": change_text,
    "seconds": seconds_text,
    "size": size_text,
    "since": since_text,
    "absolute": date_text,
    "sentence": capitalize_first,
    "day": day_text,
    "chip": state_chip,
    "medal_rules": medal_rules_text,
    "medal_odds": medal_odds_text,
    "stands_by": STANDS_BY_TEXTS.__getitem__,
    "plural": plural,
    "ranks": rank_interval,
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
    "avatar": draw_avatar,
    "field_id": field_id,
    "field_word": field_word,
    "pairs": options_of_words,
}
