"""The meaning of joining, and the settings that are wider than the agreed ones."""

from __future__ import annotations

import re
from itertools import product

import pytest

from ladder.enums import ReplayVisibility, Visibility
from ladder.leagues import terms

PUBLIC, MEMBERS, OWN, AFTER_CLOSE = ReplayVisibility
EVERY = [
    terms.TermsSettings(*each) for each in product(Visibility, ReplayVisibility, (False, True))
]


def test_a_digest_identifies_the_text_of_the_terms() -> None:
    for settings in EVERY:
        same = terms.SETTINGS_OF_DIGEST[terms.terms_digest(settings)]
        assert terms.terms_text(same) == terms.terms_text(settings)
    assert len({terms.terms_text(settings) for settings in EVERY}) == 16


def test_the_terms_are_short_and_say_what_is_stored_and_who_sees_it() -> None:
    for each in EVERY:
        told = terms.terms_text(each)
        assert len(told.split()) < 320
        assert max(len(sentence.split()) for sentence in re.split(r"[.:]\s", told)) <= 26
        for words in (
            "stores your account, the agents that you upload, what they print",
            "page Privacy",
            "Only your team sees the code of its agents.",
            "Whoever sees a match sees how it ended, such as a time-out.",
            "A host may name graders at any time.",
            "A host may name commentators at any time.",
        ):
            assert words in told


def test_consent_covers_only_settings_with_no_wider_audience() -> None:
    by_code = Visibility.INVITATION
    covered = {
        (one, other)
        for one, other in product(ReplayVisibility, repeat=2)
        if terms.is_covered_by(
            terms.TermsSettings(by_code, one), terms.TermsSettings(by_code, other)
        )
    }
    assert covered == {
        *((each, each) for each in ReplayVisibility),
        *((each, OWN) for each in ReplayVisibility),
        *((PUBLIC, each) for each in ReplayVisibility),
    }
    assert (MEMBERS, AFTER_CLOSE) not in covered
    assert (AFTER_CLOSE, MEMBERS) not in covered


def covers(agreed: Visibility, wished: Visibility, replays: ReplayVisibility) -> bool:
    return terms.is_covered_by(
        terms.TermsSettings(agreed, replays), terms.TermsSettings(wished, replays)
    )


def test_consent_without_remote_agents_does_not_cover_remote_agents() -> None:
    for each in EVERY:
        told = (
            "Agents in seasons that say so may run at addresses of their owners."
            in terms.terms_text(each)
        )
        assert told == each.remote
        assert terms.is_covered_by(each._replace(remote=True), each)
        assert terms.is_covered_by(each._replace(remote=False), each) == (not each.remote)


def test_a_league_that_becomes_public_shows_names_to_more_people() -> None:
    for replays in ReplayVisibility:
        assert not covers(Visibility.PRIVATE, Visibility.PUBLIC, replays)
        assert covers(Visibility.PUBLIC, Visibility.PRIVATE, replays)
        assert covers(Visibility.PRIVATE, Visibility.INVITATION, replays)


@pytest.mark.parametrize(
    ("people", "teams", "told"),
    [
        (1, 0, "1 member has not agreed to this setting. This member"),
        (3, 0, "3 members have not agreed to this setting. Each of them"),
        (
            *(0, 1),
            "1 team whose people are not members has not agreed to this setting."
            " One person of each team",
        ),
        (
            *(1, 2),
            "1 member and 2 teams whose people are not members have not agreed to this setting."
            " Each of these members and one person of each team",
        ),
    ],
)
def test_the_text_counts_only_those_who_must_agree(people: int, teams: int, told: str) -> None:
    assert terms.who_must_agree(people, teams) == told
