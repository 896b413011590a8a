"""Hungry Geese."""

from . import hungry_geese as hungry_geese
