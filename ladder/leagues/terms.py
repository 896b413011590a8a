"""Writes the terms of a league from its settings, and compares settings.

A new member agrees to the current text. Later settings must not show more to more people, unless
these members agree to wider terms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple

from ladder.enums import LeagueRole, ReplayVisibility, Visibility
from ladder.leagues.records import League

REPLAYS: Final = {
    ReplayVisibility.PUBLIC: (
        "Everybody who sees the league watches rated matches live, and their replays afterwards."
    ),
    ReplayVisibility.MEMBERS: (
        "Only members of the league watch rated matches live, and their replays afterwards."
    ),
    ReplayVisibility.OWN: (
        "Only the hosts, and the teams that play in a rated match, watch it live or as a replay."
    ),
    ReplayVisibility.AFTER_CLOSE: (
        "Until the season ends, only the hosts, and the teams that play in a rated match, watch it"
        " live or as a replay. After that, everybody who sees the league watches the replays."
    ),
}
REMOTE: Final = (
    "Agents in this season may run at addresses of their owners. Nobody checks what computes there."
    " Their time is measured over the network, and their owners see matches as they are played."
)
"""For a season that takes remote agents."""
STAFF_TERMS: Final = {
    LeagueRole.GRADER: (
        "{} is a grader: this person sees the logs of your agents in this league and why an agent"
        " failed, but neither code nor scrims."
    ),
    LeagueRole.COMMENTATOR: (
        "{} is a commentator: this person sees replays of your agents before the season ends, also"
        " where others wait for its end."
    ),
}
"""For a person whom a host named grader or commentator."""
StaffName = tuple[str, LeagueRole]
"""Name and role of a grader or commentator."""


class TermsSettings(NamedTuple):
    """The settings that the terms of a league depend on."""

    visibility: Visibility
    replays: ReplayVisibility
    remote: bool = False
    """Whether its seasons may take remote agents."""


def settings_of_league(league: League) -> TermsSettings:
    """Returns the league's current settings."""
    return TermsSettings(league.visibility, league.replay_visibility, league.remote_agents)


def terms_text(
    visibility: Visibility,
    replays: ReplayVisibility,
    remote: bool = False,
    staff: Sequence[StaffName] = (),
) -> str:
    """Returns the text, one sentence a line. It names the graders and commentators in ``staff``."""
    told = (REMOTE.replace("this season", "seasons that say so", 1),) if remote else ()
    seer = "Everybody sees" if visibility is Visibility.PUBLIC else "Members see"
    return "\n".join(
        (
            "This site stores your account, the agents that you upload, what they print, and the "
            "results and replays of their matches. Its page Privacy says how long the site keeps "
            "it, and how you delete it.",
            f"{seer} the leaderboard, the matches, and the names of teams and agents.",
            REPLAYS[replays],
            "Only your team sees the code of its agents. Only your team, and graders to whom it "
            "agreed, see the logs of its agents and the details of a fault. Whoever sees a match "
            "sees how it ended, such as a time-out.",
            "Others see the name of your team. That is your name, until you rename the team or "
            "join another. Only your team and the hosts see your own name. An id that a host gave "
            "you is for hosts only.",
            "If a host's list names your team, only people on that list are its members.",
            "Administrators of this site see what hosts see, and every replay.",
            "A host may name graders, who read logs, and commentators, who see replays early. "
            "Graders and commentators see no more than others until all people of your team agree.",
            *told,
            *(STAFF_TERMS[role].format(name) for name, role in staff),
            "No host shows more of this to more people unless you agree.",
        )
    )


def terms_digest(
    visibility: Visibility,
    replays: ReplayVisibility,
    remote: bool = False,
    staff: Sequence[StaffName] = (),
) -> str:
    """Returns the SHA-256 of the text, which identifies a consent."""
    return hashlib.sha256(terms_text(visibility, replays, remote, staff).encode()).hexdigest()


def settings_with_digest(named: str, staff: Sequence[StaffName] = ()) -> TermsSettings | None:
    """Returns the settings whose text with these names has this digest; None if there is none."""
    for each in product(
        (Visibility.PUBLIC, Visibility.INVITATION), ReplayVisibility, (False, True)
    ):
        if terms_digest(*each, staff) == named:
            return TermsSettings(*each)
    return None


def is_covered_by(agreed: TermsSettings, wished: TermsSettings) -> bool:
    """Whether the wished settings show nothing more, or sooner, than the agreed ones.

    MEMBERS shows a replay to members immediately; AFTER_CLOSE shows it to more people later.
    Neither covers the other.
    """
    audience = agreed.visibility is Visibility.PUBLIC or wished.visibility is not Visibility.PUBLIC
    replays = wished.replays in (agreed.replays, ReplayVisibility.OWN)
    remote = agreed.remote or not wished.remote
    return audience and remote and (replays or agreed.replays is ReplayVisibility.PUBLIC)
