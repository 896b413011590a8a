"""Formats of tournaments: pure functions of plan, entrants, seed and results.

``plan`` describes a tournament and ``plan_check`` checks it. ``course`` computes everything that
follows from the results: pairings, games to play, tables and the champion. ``records`` holds what
it answers. The formats are in ``round_robin``, ``elimination``, ``swiss`` (paired by ``dutch``) and
``heats`` (ranked by ``heat_scores``); ``series`` and ``heat`` judge one pairing. ``tie_breaks`` and
``standings`` make tables, ``drawing`` lays out brackets, ``dependence`` finds what depends on a
result. ``draw`` draws from the committed seed, and ``export`` and ``trf`` write files.
"""

from ladder.tournaments.formats.course import play, standings, without_stale
from ladder.tournaments.formats.dependence import changed, downstream
from ladder.tournaments.formats.draw import commitment, draw_order, new_seed
from ladder.tournaments.formats.drawing import Box, Bracket, CrossTable, Link, bracket, cross_table
from ladder.tournaments.formats.export import encode_course, export_csv, export_json, export_trf
from ladder.tournaments.formats.plan import (
    DoubleElimination,
    Gauntlet,
    Groups,
    HeatRules,
    Heats,
    Plan,
    RoundRobin,
    Series,
    SingleElimination,
    Solo,
    Stage,
    Swiss,
    TieBreak,
    decode_plan,
    encode_plan,
    with_means,
)
from ladder.tournaments.formats.plan_check import check_plan, describe_plan, smallest_field
from ladder.tournaments.formats.records import (
    OLD_RULES,
    RULES,
    By,
    Course,
    Event,
    Game,
    Key,
    Origin,
    Outcome,
    PairedRound,
    Pairing,
    Progress,
    Standing,
    State,
    Takes,
    WantedGame,
)

__all__ = [
    "OLD_RULES",
    "RULES",
    "Box",
    "Bracket",
    "By",
    "Course",
    "CrossTable",
    "DoubleElimination",
    "Event",
    "Game",
    "Gauntlet",
    "Groups",
    "HeatRules",
    "Heats",
    "Key",
    "Link",
    "Origin",
    "Outcome",
    "PairedRound",
    "Pairing",
    "Plan",
    "Progress",
    "RoundRobin",
    "Series",
    "SingleElimination",
    "Solo",
    "Stage",
    "Standing",
    "State",
    "Swiss",
    "Takes",
    "TieBreak",
    "WantedGame",
    "bracket",
    "changed",
    "check_plan",
    "commitment",
    "cross_table",
    "decode_plan",
    "describe_plan",
    "downstream",
    "draw_order",
    "encode_course",
    "encode_plan",
    "export_csv",
    "export_json",
    "export_trf",
    "new_seed",
    "play",
    "smallest_field",
    "standings",
    "with_means",
    "without_stale",
]
