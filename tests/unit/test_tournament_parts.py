"""Parts of the page of a long tournament: pages of a list, and addresses of pairings."""

from __future__ import annotations

from ladder.ids import TournamentId
from ladder.tournaments.formats.records import Key
from services.tournaments.pages import PageChoice, part_of
from services.web.state_chips import tournament_chip

CHOICE = PageChoice(TournamentId("trn_1"), "1.5", pairings=3, places=2)


def test_a_page_beyond_the_end_is_the_last_page() -> None:
    part = part_of(range(250), 9)
    assert (part.number, part.pages, part.first, list(part.rows)) == (3, 3, 201, [*range(200, 250)])
    assert part_of([], 1).pages == 1


def test_another_round_begins_at_its_first_pairings() -> None:
    address = CHOICE.address("rounds-1", round="1.4")
    assert address == "/tournaments/trn_1?round=1.4&places=2#rounds-1"


def test_the_address_of_a_pairing_names_its_page() -> None:
    address = CHOICE.address_of_pairing(Key(1, 2, 201))
    assert address == "/tournaments/trn_1?round=1.2&pairings=3&places=2#p1-2-201"


def test_the_label_of_a_locked_tournament_names_no_start() -> None:
    assert ">registration ended<" in tournament_chip("locked")
