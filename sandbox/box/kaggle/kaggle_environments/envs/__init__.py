"""The games whose names agents import; so far Hungry Geese."""

from . import hungry_geese as hungry_geese
