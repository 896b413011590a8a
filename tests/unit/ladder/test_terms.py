"""What joining means, and which settings are wider than what was agreed to."""

from __future__ import annotations

from itertools import product

from ladder import terms
from ladder.model import ReplayVisibility, Visibility

PUBLIC, MEMBERS, OWN, AFTER_CLOSE = ReplayVisibility
EVERY = list(product(Visibility, ReplayVisibility))


def test_a_digest_names_its_text_and_private_leagues_read_as_those_by_invitation() -> None:
    for visibility, replays in EVERY:
        told = terms.settings_of(terms.digest(visibility, replays))
        assert told is not None
        assert terms.text(*told) == terms.text(visibility, replays)
    assert terms.settings_of("0" * 64) is None
    assert len({terms.text(*each) for each in EVERY}) == 8


def test_what_was_agreed_to_covers_what_shows_nobody_more() -> None:
    by_code = Visibility.INVITATION
    covered = {
        (one, other)
        for one, other in product(ReplayVisibility, repeat=2)
        if terms.covers((by_code, one), (by_code, other))
    }
    assert covered == {
        *((each, each) for each in ReplayVisibility),
        *((each, OWN) for each in ReplayVisibility),
        *((PUBLIC, each) for each in ReplayVisibility),
    }
    assert (MEMBERS, AFTER_CLOSE) not in covered
    assert (AFTER_CLOSE, MEMBERS) not in covered


def test_a_league_that_becomes_public_shows_names_to_more_people() -> None:
    for replays in ReplayVisibility:
        assert not terms.covers((Visibility.PRIVATE, replays), (Visibility.PUBLIC, replays))
        assert terms.covers((Visibility.PUBLIC, replays), (Visibility.PRIVATE, replays))
        assert terms.covers((Visibility.PRIVATE, replays), (Visibility.INVITATION, replays))
