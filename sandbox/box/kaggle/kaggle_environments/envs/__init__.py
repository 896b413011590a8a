"""The games whose names agents import. So far only Hungry Geese."""

from . import hungry_geese as hungry_geese
