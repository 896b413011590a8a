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
        "Rated matches are shown to all of them as they are played, and their replays after that."
    ),
    ReplayVisibility.MEMBERS: (
        "Rated matches are shown to all members as they are played, and their replays after that."
    ),
    ReplayVisibility.OWN: (
        "Rated matches and their replays are shown move by move to the teams that play in them, and"
        " to the hosts, alone."
    ),
    ReplayVisibility.AFTER_CLOSE: (
        "Rated matches and their replays are shown move by move to the teams that play in them, and"
        " to the hosts, until the season is finished; then they open to all who see the league."
    ),
}
REMOTE: Final = (
    "Agents in this season may run at addresses of their owners. What computes there is not"
    " checked, its time is measured over the network, and their owners see matches as they are"
    " played."
)
"""For a season that takes remote agents."""
STAFF_TERMS: Final = {
    LeagueRole.GRADER: (
        "{} is a grader: in spite of the above, this person reads logs, reasons and tracebacks of"
        " your agents in this league, but no bundles and no scrims."
    ),
    LeagueRole.COMMENTATOR: (
        "{} is a commentator: this person sees replays of your agents before the season is"
        " finished, where those open only then."
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
    audience = "Anyone" if visibility is Visibility.PUBLIC else "Members"
    return "\n".join(
        (
            f"{audience} may see this league: its leaderboard, its matches, and the names of the "
            "teams and agents in them.",
            REPLAYS[replays],
            "Names of people, and the ids that a host gave them, are for the hosts alone; but who "
            "joins without a team gets one of their own name.",
            "Hosts see that a submission was rejected, not why. Bundles, logs and tracebacks are "
            "for their own team alone; no host reads them. Where a host's roster names your team, "
            "its people are those whom the roster names.",
            "Administrators of this site see what hosts see, and every replay.",
            *told,
            *(STAFF_TERMS[role].format(name) for name, role in staff),
            "None of this is widened later without your consent.",
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
