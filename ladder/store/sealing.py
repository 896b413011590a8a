"""Sealed medals: what a team keeps whatever the games still to come say, until an audited act.

A class is sealed for a team once uploads are locked and several looks at the season give it that
class or a better one with the season's confidence (``ladder.seals``). A better class may be sealed
over it; a lower one never is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from ladder import seals
from ladder.ids import EntryId, SeasonId, TeamId
from ladder.medals import BEST_FIRST, Medal, Rules
from ladder.official.standing import Entrant, Place, Standing
from ladder.store.db import Connection, whole


@dataclass(frozen=True, slots=True)
class Seal:
    """One row of the record."""

    team_id: TeamId
    team_name: str
    medal: Medal
    chance: float
    version: int
    sealed_at: datetime
    unsealed_at: datetime | None
    audit_id: str | None
    """Of the act that took it back."""


def of_season(conn: Connection, season_id: SeasonId) -> dict[TeamId, Medal]:
    """The best class that stands sealed for each team that has one."""
    rows = conn.execute(
        "select s.team_id, s.medal from sealed_medals s where s.season_id = %s and not exists ("
        "   select 1 from unsealed_medals u where u.season_id = s.season_id"
        "   and u.team_id = s.team_id and u.version = s.version)",
        (season_id,),
    ).fetchall()
    by_rank = sorted(rows, key=lambda row: BEST_FIRST.index(Medal(row[1])), reverse=True)
    return {TeamId(team): Medal(medal) for team, medal in by_rank}


def list_seals(conn: Connection, season_id: SeasonId) -> list[Seal]:
    """All that was ever sealed in a season, newest first."""
    with conn.cursor(row_factory=class_row(Seal)) as cur:
        return cur.execute(
            "select s.team_id, t.name as team_name, s.medal, s.chance, s.version, s.sealed_at,"
            " u.unsealed_at, u.audit_id from sealed_medals s join teams t on t.id = s.team_id"
            " left join unsealed_medals u on u.season_id = s.season_id and u.team_id = s.team_id"
            " and u.version = s.version where s.season_id = %s"
            " order by s.version desc, s.chance desc, s.team_id",
            (season_id,),
        ).fetchall()


def seal(
    conn: Connection,
    season_id: SeasonId,
    version: int,
    entrants: Sequence[Entrant],
    standing: Standing,
    rules: Rules,
    confidence: float,
    earlier: Sequence[Mapping[EntryId, Place]],
) -> bool:
    """Seals what this version and the ``earlier`` looks at the season are sure of; whether every
    medal there is, is sealed now.

    Nothing while games are judged again: what they will say is not in the standing.
    """
    rejudging = conn.execute(
        "select 1 from matches where season_id = %(season)s and kind = 'rated'"
        " and state in ('queued', 'running') and rejudges is not null"
        " union all select 1 from rejudged d join rejudgements r on r.id = d.rejudgement_id"
        " where d.by_match_id is null and d.refusal is null and r.season_id = %(season)s"
        " union all select 1 from acceptances where season_id = %(season)s and act = 'withdraw'"
        " and no > (select log_no from standings where season_id = %(season)s"
        "   and version = %(version)s) limit 1",
        {"season": season_id, "version": version},
    ).fetchone()
    if rejudging is not None:
        return False
    kept = of_season(conn, season_id)
    ranked = sorted(
        (
            (place.rank, place.score, each.team_id, place.chances)
            for each, place in zip(entrants, standing.places, strict=True)
            if place.rank is not None
        ),
        key=lambda row: row[0],
    )
    looks = [_by_team(entrants, places) for places in earlier]
    for _, _, team, chances in ranked:
        if not all(team in look for look in looks):
            continue
        medal = seals.sure([chances, *(look[team] for look in looks)], rules, confidence)
        if medal is None or _is_kept(medal, kept.get(team)):
            continue
        conn.execute(
            "insert into sealed_medals (season_id, team_id, version, medal, chance)"
            " values (%s, %s, %s, %s, %s)",
            (season_id, team, version, medal.value, chances[BEST_FIRST.index(medal)]),
        )
        kept[team] = medal
    given = rules.award(
        [(rank, score) for rank, score, _, _ in ranked],
        standing.teams,
        [kept.get(team) for _, _, team, _ in ranked],
    )
    held = {
        team: medal
        for (_, _, team, _), medal in zip(ranked, given, strict=True)
        if medal is not None
    }
    return bool(held) and all(kept.get(team) is medal for team, medal in held.items())


@whole
def unseal(conn: Connection, season_id: SeasonId, team_id: TeamId, audit_id: str) -> int:
    """Takes back what is sealed for a team, by an act of the audit log; returns how many seals.

    The next standing seals anew what it is sure of; of a finished season it is made at once.
    """
    taken = conn.execute(
        "insert into unsealed_medals (season_id, team_id, version, audit_id)"
        " select season_id, team_id, version, %s from sealed_medals"
        " where season_id = %s and team_id = %s on conflict do nothing",
        (audit_id, season_id, team_id),
    ).rowcount
    if taken:
        conn.execute(
            "update seasons set official_is_stale = true, is_sealed = false, final_version = null,"
            " revision = revision + 1 where id = %s",
            (season_id,),
        )
    return taken


def _by_team(
    entrants: Sequence[Entrant], places: Mapping[EntryId, Place]
) -> dict[TeamId, seals.Chances]:
    """The chances that each team had by what it stood by."""
    return {
        each.team_id: place.chances
        for each in entrants
        if (place := places.get(each.entry_id)) is not None and place.rank is not None
    }


def _is_kept(medal: Medal, kept: Medal | None) -> bool:
    return kept is not None and BEST_FIRST.index(kept) <= BEST_FIRST.index(medal)
