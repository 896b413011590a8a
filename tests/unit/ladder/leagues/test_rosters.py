"""A roster as CSV: its contents, and the messages for its faults."""

from __future__ import annotations

import pytest

from ladder.enums import LeagueRole
from ladder.leagues.rosters import MOST_LINES, RosterError, RosterPerson, parse_roster

HEADER = "name,team,role,external_id\n"


def test_columns_may_have_any_order() -> None:
    text = '\ufeffExternal_ID,role,team,name\r\n7,,"Engines, Ltd", Ada \r\n\r\n8,Viewer,,Bob\r\n'
    assert parse_roster(text) == [
        RosterPerson("7", "Ada", "Engines, Ltd", LeagueRole.COMPETITOR),
        RosterPerson("8", "Bob", "", LeagueRole.VIEWER),
    ]


def test_both_spellings_of_a_team_name_become_one() -> None:
    text = f"{HEADER}Ada,E\u0301quipe  A,,1\nBob,\u00c9quipe\u00a0A,,2\n"
    assert {line.team for line in parse_roster(text)} == {"\u00c9quipe A"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_every_spreadsheet_format_parses_alike(between: str, bom: str, end: str) -> None:
    lines = [
        ["name", "team", "role", "external_id"],
        ['"Lovelace; Ada, ""Countess"""', '"Engines, Ltd; UK"', "", "=1+1"],
        ["Bob", "", "viewer", "@8"],
    ]
    text = bom + end.join(between.join(line) for line in lines) + end
    assert parse_roster(text) == [
        RosterPerson(
            "=1+1", 'Lovelace; Ada, "Countess"', "Engines, Ltd; UK", LeagueRole.COMPETITOR
        ),
        RosterPerson("@8", "Bob", "", LeagueRole.VIEWER),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: the header must be name,team,role,external_id, in any order"),
        ("name,team\nAda,x\n", "line 1: the header must be"),
        (HEADER, "line 2: add people below the header"),
        (HEADER + "Ada,,,1\n,,,2\n", "line 3, name: it is empty"),
        (HEADER + "Ada,,,\n", "line 2, external_id: it is empty"),
        (HEADER + "Ada,,host,1\n", "line 2, role: 'host' is no role; write competitor or viewer"),
        (HEADER + "Ada,,,1\nBob,,,1\n", "line 3, external_id: an earlier line has the same id"),
        (
            HEADER + "Ada,1\n",
            "line 2: it has 2 values, but the header has 4;"
            " put a value that contains a comma in double quotes",
        ),
        (
            "name;team;role;external_id\nA;da;;;1\n",
            "line 2: it has 5 values, but the header has 4; put a value that contains a semicolon",
        ),
        (
            HEADER + "M\ufffdller,,,1\n",
            "line 2, name: save the file as 'CSV UTF-8'; it is not UTF-8",
        ),
        (HEADER + f"{'A' * 61},,,1\n", "line 2, name: at most 60 characters on one line"),
        (
            HEADER + "Ada,,,e\u0301\nBob,,,\u00e9\n",
            "line 3, external_id: an earlier line has the same",
        ),
        (HEADER + "Ada,\u3164,,1\n", "line 2, team: use at least one letter"),
        (HEADER + "\u0301,,,1\n", "line 2, name: begin with a letter"),
        (HEADER + "e" + "\u0301" * 50 + ",,,1\n", "line 2, name: put at most 4 accents"),
        (HEADER + 'A"da,,,1\n"Bob', "line 3: this line is not valid CSV"),
        (HEADER + "Ada\x00,,,1\n", "line 2"),
    ],
)
def test_a_roster_error_names_the_line_and_column(text: str, told: str) -> None:
    with pytest.raises(RosterError) as error:
        parse_roster(text)
    assert str(error.value).startswith(f"roster: {told}")


def test_every_roster_error_is_reported() -> None:
    with pytest.raises(RosterError, match=r"and 2 more") as error:
        parse_roster(HEADER + ",,chief,1\nBob,,,2\nCyd,,,\n")
    assert [(fault.line, fault.column) for fault in error.value.faults] == [
        (2, "name"),
        (2, "role"),
        (4, "external_id"),
    ]


def test_a_roster_has_a_maximum_number_of_lines() -> None:
    lines = (f"P,,,{n}\n" for n in range(MOST_LINES + 1))
    with pytest.raises(RosterError, match=f"at most {MOST_LINES} people"):
        parse_roster(HEADER + "".join(lines))
