"""The settings that the next season takes, beside the request and the form that send them."""

from __future__ import annotations

from games.hungry_geese import HungryGeese
from ladder.leagues.kept_settings import KEPT_SETTINGS
from ladder.leagues.request_models import NewSeason
from services.web import season_fields


def test_every_setting_but_the_dates_is_kept() -> None:
    assert {*KEPT_SETTINGS, "opens_at", "closes_at", "ends_at"} == set(NewSeason.model_fields)


def test_the_form_has_every_kept_setting() -> None:
    game = HungryGeese()
    fields = season_fields.values_of_settings(game, season_fields.default_settings(game))
    assert {name.split(".")[1] for name in fields if "." in name} >= set(KEPT_SETTINGS)
