"""Each setting of a league or season, from its one declaration to request, record and form."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from starlette.datastructures import FormData

from games.hungry_geese import HungryGeese
from ladder.leagues.hosting import season_columns
from ladder.leagues.records import League, Season
from ladder.leagues.seasons import MEDALS
from ladder.leagues.settings import LeagueChange, NewSeason, SeasonSettings
from services.leagues.pages import NewSeasonForm, season_values
from services.web import routes  # noqa: F401 (declares the forms)
from services.web.operation_forms import OperationForm, fields_of_model


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("seats", (0, 17)),
        ("daily_limit", (-1,)),
        ("scrim_games_daily", (-1, 10_001)),
        ("team_active_limit", (0, 101)),
        ("medal_confidence", (0.49, 1.0)),
    ],
)
def test_season_request_refuses_values_that_the_table_refuses(
    field: str, values: tuple[float, ...]
) -> None:
    for value in values:
        with pytest.raises(ValidationError) as refused:
            NewSeason.model_validate({field: value})
        assert [error["loc"] for error in refused.value.errors()] == [(field,)]


def test_each_setting_of_a_season_is_a_column_and_a_field_of_the_form() -> None:
    fields = {field.name for field in fields_of_model(NewSeasonForm)}
    for name, setting in SeasonSettings.model_fields.items():
        assert name in Season.model_fields
        assert f"season.{name}" in fields
        assert setting.title, name


def test_next_season_copies_each_setting_but_the_dates() -> None:
    game = HungryGeese()
    columns = season_columns(NewSeason(daily_limit=7, team_active_limit=None), game)
    stored = {**dict(columns), "medals": {"kind": "counts", "gold": 1, "silver": 2, "bronze": 3}}
    newest = Season.model_construct(**stored | {"medals": MEDALS.validate_python(stored["medals"])})
    copied = season_values(game, newest)
    names = {name.split(".")[1] for name in copied}
    assert names == NewSeason.model_fields.keys()
    assert (copied["season.daily_limit"], copied["season.team_active_limit"]) == ("7", "")
    assert copied["season.medals.silver"] == "2"
    assert copied["season.closes_at"] == ""


def test_answer_of_a_league_names_no_bounds() -> None:
    properties = League.model_json_schema(mode="serialization")["properties"]
    assert properties["title"] == {"title": "Title", "type": "string"}
    assert "remote_agents" not in properties


def test_change_of_a_league_needs_no_field() -> None:
    assert LeagueChange.model_validate({}).model_dump(exclude_none=True) == {}
    with pytest.raises(ValidationError):
        LeagueChange.model_validate({"live_delay_seconds": 3601})


def test_dates_of_a_form_are_in_its_zone() -> None:
    sent = FormData({"season.opens_at": "2027-01-01T10:00", "zone": "Europe/Berlin"})
    form = OperationForm.named("create_season", sent)
    opens_at = form.value_of(form.fields["season.opens_at"])
    assert opens_at == "2027-01-01T10:00:00+01:00"


def test_numbers_of_a_table_of_medals_are_left_out() -> None:
    numbers = {f"season.medals.{medal}": "1" for medal in ("gold", "silver", "bronze")}
    table = OperationForm.named(
        "create_season", FormData({"season.medals.kind": "table", **numbers})
    )
    counts = OperationForm.named(
        "create_season", FormData({"season.medals.kind": "counts", **numbers})
    )
    gold = table.fields["season.medals.gold"]
    assert (table.value_of(gold), counts.value_of(gold)) == (None, "1")
