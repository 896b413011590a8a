"""Seals medals: a team keeps a sealed medal whatever later games bring.

Only an audited act revokes a seal (``ladder.leagues.medals``). A class can be sealed once uploads
are locked. Several standings must then give the team that class or a better one, with the season's
confidence. A better class may be sealed later, never a lower one.

Each standing is another chance for a class to pass the confidence by luck. So
``STANDINGS_THAT_MUST_AGREE`` standings must agree, each with ``GROWTH`` times the results of the
previous one.

Measured in 60 simulated seasons of 100 teams, with a standing after each thirtieth more results. At
95 % confidence, 2.8 % of the medals sealed by one standing are wrong, and 1.5 % by three. If the
fit's deviations are a fifth too small, 6.8 % and 4.1 % are wrong. The rule delays one medal in 25.

The final standing needs no other standing, because nobody chose its time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from estimates.intervals import wilson_interval
from ladder.database.db import Connection, exists
from ladder.ids import EntryId, SeasonId, TeamId
from ladder.leagues.medals import BEST_FIRST, Medal, MedalRules, sealed_medals_of_season
from ladder.ratings.official.representatives import Entrant
from ladder.ratings.official.standing import DRAWS, OfficialPlace, OfficialStanding


def seal_medals(
    conn: Connection,
    season_id: SeasonId,
    version: int,
    entrants: Sequence[Entrant],
    standing: OfficialStanding,
    rules: MedalRules,
    confidence: float,
    earlier: Sequence[Mapping[EntryId, OfficialPlace]],
) -> bool:
    """Seals what this version and the ``earlier`` standings agree on.

    Returns whether every medal is now sealed. Seals nothing during a rejudgement, because its
    results are not in the standing yet.
    """
    query = """select 1 from matches
        where season_id = %(season)s and kind = 'rated' and state in ('queued', 'running')
          and rejudges is not null
        union all select 1
        from rejudged d join rejudgements r on r.id = d.rejudgement_id
        where d.by_match_id is null and d.refusal is null and r.season_id = %(season)s
        union all select 1
        from acceptances
        where season_id = %(season)s and act = 'withdraw'
          and no > (
            select log_no from standings where season_id = %(season)s and version = %(version)s)
        limit 1"""
    rejudging = exists(conn, query, {"season": season_id, "version": version})
    if rejudging:
        return False
    kept = sealed_medals_of_season(conn, season_id)
    ranked = sorted(
        (
            (place.rank, place.score, entrant.team_id, place.chances, counted_as)
            for entrant, place, counted_as in zip(
                entrants, standing.places, standing.counted_as, strict=True
            )
            if place.rank is not None
        ),
        key=lambda row: row[0],
    )
    looks = [_chances_by_team(entrants, places) for places in earlier]
    for _, _, team, chances, _ in ranked:
        if not all(team in look for look in looks):
            continue
        medal = sealed_medal([chances, *(look[team] for look in looks)], rules, confidence)
        if medal is None or _is_already_sealed(medal, kept.get(team)):
            continue
        conn.execute(
            """insert into sealed_medals (season_id, team_id, version, medal, chance)
            values (%s, %s, %s, %s, %s)""",
            (season_id, team, version, medal.value, chances[BEST_FIRST.index(medal)]),
        )
        kept[team] = medal
    medals = rules.award(
        [(rank, score) for rank, score, *_ in ranked],
        standing.teams,
        [kept.get(team) for _, _, team, *_ in ranked],
        [counted_as for *_, counted_as in ranked],
    )
    held = {
        team: medal
        for (_, _, team, *_), medal in zip(ranked, medals, strict=True)
        if medal is not None
    }
    return bool(held) and all(kept.get(team) is medal for team, medal in held.items())


def _chances_by_team(
    entrants: Sequence[Entrant], places: Mapping[EntryId, OfficialPlace]
) -> dict[TeamId, Chances]:
    """Returns the chances of each team by its representing entry."""
    return {
        entrant.team_id: place.chances
        for entrant in entrants
        if (place := places.get(entrant.entry_id)) is not None and place.rank is not None
    }


def _is_already_sealed(medal: Medal, kept: Medal | None) -> bool:
    return kept is not None and BEST_FIRST.index(kept) <= BEST_FIRST.index(medal)


STANDINGS_THAT_MUST_AGREE: Final = 3
GROWTH: Final = 1.05
"""Least growth of the log between two standings: a twentieth."""

Chances = tuple[float, float, float]
"""Chances of gold, of silver or better, of any medal."""


def sealed_medal(looks: Sequence[Chances], rules: MedalRules, confidence: float) -> Medal | None:
    """Returns the class that all these standings support, or None.

    Chances of ranks come from draws, so the draws' error is subtracted.
    """
    for medal, chances in zip(BEST_FIRST, zip(*looks, strict=True), strict=False):
        if all(_chance_lower_bound(chance, rules) >= confidence for chance in chances):
            return medal
    return None


def _chance_lower_bound(chance: float, rules: MedalRules) -> float:
    """Returns a lower bound of the chance; for lines the chance is exact."""
    return chance if rules.lines is not None else wilson_interval(chance * DRAWS, DRAWS)[0]
