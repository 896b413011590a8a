"""What joining a league means: one short text made from its settings, and what it promises.

Whoever joins agrees to the text of that moment. Settings are not changed later so that more people
see more than a text said, unless those who agreed to it agree to the wider one.
"""

from __future__ import annotations

import hashlib
from itertools import product
from typing import Final

from ladder.model import ReplayVisibility, Visibility

REPLAYS: Final = {
    ReplayVisibility.PUBLIC: "Replays of rated matches open to all of them as each match ends.",
    ReplayVisibility.MEMBERS: "Replays of rated matches open to all members as each match ends.",
    ReplayVisibility.OWN: (
        "Replays of rated matches are for the teams that played in them, and for the hosts."
    ),
    ReplayVisibility.AFTER_CLOSE: (
        "Replays of rated matches are for the teams that played in them, and for the hosts, until"
        " the season is finished; then they open to all who see the league."
    ),
}


def text(visibility: Visibility, replays: ReplayVisibility) -> str:
    """The text, a sentence a line."""
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
            "None of this is widened later without your consent.",
        )
    )


def digest(visibility: Visibility, replays: ReplayVisibility) -> str:
    """SHA-256 of the text: what a consent names."""
    return hashlib.sha256(text(visibility, replays).encode()).hexdigest()


def settings_of(named: str) -> tuple[Visibility, ReplayVisibility] | None:
    """The settings whose text has this digest; None when no text of today has."""
    for visibility, replays in product(
        (Visibility.PUBLIC, Visibility.INVITATION), ReplayVisibility
    ):
        if digest(visibility, replays) == named:
            return visibility, replays
    return None


def covers(
    agreed: tuple[Visibility, ReplayVisibility], wished: tuple[Visibility, ReplayVisibility]
) -> bool:
    """Whether nobody sees more under the wished settings than under those agreed to.

    MEMBERS shows more people a replay at once, AFTER_CLOSE more people later: neither covers the
    other.
    """
    audience = agreed[0] is Visibility.PUBLIC or wished[0] is not Visibility.PUBLIC
    replays = wished[1] in (agreed[1], ReplayVisibility.OWN)
    return audience and (replays or agreed[1] is ReplayVisibility.PUBLIC)
