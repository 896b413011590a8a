"""The texts of forms: labels, choices, and what to do about a wrong value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ladder.entries.records import Entry
from ladder.sizes import size_text
from services.http.body_limits import JSON_LIMIT_BYTES

LOGIN_FAILED: Final = "Copy the whole token again: this one is mistyped, expired or revoked."
STALE_FORM: Final = "Load the page again: this form is out of date or comes from another site."
ONLY_READS: Final = "Sign in with your password: the token of this session can only read."
CHANGED_MEANWHILE: Final = (
    "Choose, and save again: this is {!r} now, and your form said {!r}. Someone changed it after"
    " you opened the form."
)
LOOK_AT_CHANGES: Final = "Look at the marked fields: nothing was saved yet."
ADDRESS_INVALID: Final = "Check the address: a part of it is not valid."
NOT_FOUND: Final = (
    "There is no such page, or not everybody may see it. Check the address. If you have an"
    " invitation link, open it."
)
TAKES_NO_FORM: Final = "This address takes no forms. Open the page and send the form there."
FIELD_MISSING: Final = "Fill in this field."
SIGN_IN_FAILED: Final = "Check name and password: they do not belong together."
EXPORT_LINK_OVER: Final = "This link is over, or not yours. Open the page My data for a new one."
PRESENT_IS_WRONG: Final = "Check your present password: this is another one."
NAME_NOT_REPEATED: Final = "Type the present name of the {}."
NEW_AGENT: Final = "a new agent"
ALL_LEAGUES: Final = "all leagues"
NOTHING_NAMED: Final = "Check the name: there is nothing of this name that you may see."
DID_YOU_MEAN: Final = "No agent has exactly this name. Did you mean one of these?"
SEVERAL_NAMED: Final = "Several teams have an agent of this name. Choose one:"
CHOOSE_ONE: Final = "Choose one"
CHOOSE_SEASON: Final = "choose the season to enter"
UNKNOWN_ZONE: Final = "choose a time zone from the list."
SIGN_UP_DEFAULT: Final = "as the operator set: {}"
SIGN_UP_MODES: Final = {
    "open": "everybody",
    "domain": "people with a mail address of a chosen domain, or an invitation code",
    "invitation": "people with an invitation code of a league",
    "closed": "nobody; administrators make accounts",
}
MACHINE_TIERS: Final = {
    "trusted": "trusted: plays everything",
    "checked": "checked: plays agents that any machine may run, and its results are checked",
}
AGENT_MACHINES: Final = {
    "trusted": "Trusted machines only: those of the site, and those that its administrators trust",
    "any": "Any machine that joined, also those of other people, whose results are checked",
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
CLOCK_LOADS: Final = {
    "first_move": "Counts as part of the first move",
    "own": "Has its own limit",
}
VISIBILITIES: Final = {
    "public": "Everybody, and everybody sees the league",
    "invitation": "People with a link that you share; only they see the league",
    "private": "People whom you add, by name or as a roster; only they see the league",
}
REPLAY_VISIBILITIES: Final = {
    "public": "Everybody who may see the league",
    "members": "Members",
    "own": "Teams that played, and hosts",
    "after_close": "Teams that played; everybody after the season",
}
MEDAL_KINDS: Final = {
    "table": "By rank: Kaggle's table, which depends on the number of teams",
    "lines": "By official score: least scores, for example survivor+100, survivor, greedy",
    "counts": "By rank: numbers of teams, for example 1, 2, 3",
    "shares": "By rank: shares of the teams, for example 0.1, 0.1, 0.2",
}
"""Who earns a medal."""
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
ROSTER_MISSING: Final = "Paste the roster, or choose a file."
ROSTER_TOO_LONG: Final = "Send at most {:,} characters at a time: import the roster in parts."
ROSTER_TOO_LARGE: Final = (
    f"Send at most {size_text(JSON_LIMIT_BYTES)} at a time: import the roster in parts."
)
ROSTER_REFUSED: Final = "Correct the lines that the message above names, and import again."
UNKNOWN_PROBLEM: Final = "There is no such type of problem."
REPLAY_HIDDEN: Final = "This league does not show you this replay, or not yet."
REPLAY_GONE: Final = "This replay can no longer be shown: {}."
ACCESS_BY_SCOPE: Final = "a token with {}"
ACCESS_FOR_KNOWN: Final = "any token"
ACCESS_FOR_ALL: Final = "anybody"
FIELDS: Final = {
    "sign_up": "who may make an account",
    "user": "person",
    "blocked": "person to block",
    "join_role": "role",
    "csv": "roster",
    "visibility": "who may join",
    "replay_visibility": "who may watch replays",
    "same_team_lineups": "allow rated matches between agents of one team",
    "cause": "reason",
    "end_reason": "reason",
    "entrant": "agent",
    "invited": "agent",
    "sure": "confirmation",
    "slug": "short name",
    "season": "league",
    "q": "search text",
    "url": "address",
    "seats": "seats in a match",
    "season.remote_agents": "allow remote agents",
    "medals.kind": "who earns a medal",
    "fill": "add reference agents",
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
    "lineup": "opponents",
    "logs": "what agents print",
    "whom": "teams that may play it",
    "teams": "named teams",
    "blocked_teams": "blocked teams",
    "games_daily": "games a day with all teams",
    "expires_hours": "hours until it expires",
}
"""Labels of form fields whose name in the API differs, by the end of the name."""
PAIRS_LABEL: Final = "Pairs of games in a series"
PAIRS_HINT: Final = "A pair is the same game twice, with swapped seats. A series ends when decided."
GAMES_LABEL: Final = "Games in each round"
NO_STANDING: Final = (
    "This season has no official standing yet. If it has none when registration ends, chance orders"
    " the entrants. The order decides who has a bye, or who meets all others in a gauntlet."
)
SOLO_ORDER: Final = (
    "Chance numbers the entrants. If rewards are equal, the entrant with the lower number ranks"
    " higher."
)
FORMATS: Final = {
    "single-elimination": "Single elimination: the loser of a series is out",
    "double-elimination": "Double elimination: an agent that has lost two series is out",
    "swiss": "Swiss: equal scores meet, nobody meets twice",
    "swiss-finals": "Swiss, then the best in single elimination",
    "round-robin": "Round robin: everybody meets everybody",
    "groups-finals": "Groups, then the best of each in single elimination",
    "gauntlet": "Gauntlet: the first entrant meets all others; the score per pairing decides",
    "heats-final": "Heats, then one final heat of the best",
    "heats": "Heats: everybody meets everybody as evenly as possible",
    "solo": "Solo: each plays alone, all with the same random seeds; the highest reward wins",
}
"""The formats in the form of a new tournament."""


def team_option(entry: Entry) -> str:
    """A team in the list of names to disqualify."""
    return f"team {entry.team_name}"


def agent_option(entry: Entry) -> str:
    """An agent in the list of names to disqualify."""
    return f"agent {entry.agent_name} of {entry.team_name}"


def entry_option(entry: Entry) -> str:
    """An entry in the list of names to disqualify."""
    return f"version {entry.version} of {entry.agent_name}"


def field_id(name: str) -> str:
    """The HTML id of a form's field."""
    return name.replace(".", "-")


def field_word(name: str, label: str = "") -> str:
    """The label of a form's field inside a sentence. ``label`` is the one beside the field."""
    parts = name.split(".")
    if parts[-1].isdecimal():
        return name.replace(".", " ")
    ends = (".".join(parts[start:]) for start in range(len(parts)))
    otherwise = label or parts[-1].replace("_", " ")
    return next((FIELDS[end] for end in ends if end in FIELDS), otherwise)


def options_of_words(words: Iterable[str]) -> list[tuple[str, str]]:
    """Options whose label equals their value."""
    return [(word, word) for word in words]
