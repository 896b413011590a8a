"""The medal lines of a season that reference agents name, and their change by a host."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Final

from psycopg.types.json import Jsonb

from ladder.database.db import Connection, atomic_function
from ladder.entries import reference_agents
from ladder.entries.records import EntryState
from ladder.errors import Conflict, Invalid
from ladder.ids import EntryId, SeasonId
from ladder.leagues import medals, seasons
from ladder.leagues.medals import BEST_FIRST, MedalRuleKind, MedalRules
from ladder.leagues.records import Season
from ladder.leagues.settings import LineMedals
from ladder.people import audit_log
from ladder.people.records import Viewer

ACT: Final = "change-medals"
PLAYING: Final = (EntryState.PENDING, EntryState.ACTIVE, EntryState.PAUSED)


def anchor_names(
    conn: Connection, season_id: SeasonId, states: Sequence[EntryState] = (*EntryState,)
) -> dict[EntryId, str]:
    """Returns the name of each reference agent that has an entry in the season."""
    rows = conn.execute(
        """
        select e.id, a.slug, s.game from entries e join agents a on a.id = e.agent_id
        join teams t on t.id = e.team_id join seasons s on s.id = e.season_id
        where e.season_id = %s and e.is_anchor and t.created_by is null
        and starts_with(t.slug, %s) and e.state = any (%s) order by e.id
        """,
        (season_id, reference_agents.TEAM_SLUG, list(states)),
    ).fetchall()
    return {
        EntryId(entry): slug.removeprefix(f"{game.replace('_', '-')}-")
        for entry, slug, game in rows
    }


def refuse_unknown_agents(game: str, rules: MedalRules) -> None:
    """Raises Invalid for the first line that names no reference agent of the game."""
    _refuse_other_agents(rules, reference_agents.agent_names(game), "the game")


def refuse_to_lose_agent(
    conn: Connection, season_id: SeasonId, leaving: Collection[EntryId]
) -> None:
    """Raises Conflict if a medal line names the reference agent of one of these entries.

    The caller has locked the season.
    """
    rules = seasons.get_season(conn, season_id).medal_rules
    names = anchor_names(conn, season_id) if any(rules.agents) else {}
    lost = {names[entry] for entry in leaving if entry in names}
    for medal, name in zip(BEST_FIRST, rules.agents, strict=True):
        if name in lost:
            raise Conflict(
                f"the line of {medal} is measured from {name}, so it cannot leave; while uploads"
                " are open, the line can be moved first"
            )


def may_move_lines(conn: Connection, season: Season) -> bool:
    """Whether the season gives medals by lines and still takes uploads."""
    is_closed = season.closes_at is not None and season.closes_at <= datetime.now(UTC)
    return (
        season.medal_rules.kind is MedalRuleKind.LINES
        and season.state == "open"
        and not is_closed
        and not medals.sealed_medals_of_season(conn, season.id)
    )


@atomic_function
def change_medal_lines(
    conn: Connection, by: Viewer, season_id: SeasonId, lines: LineMedals
) -> Season:
    """Gives a season other medal lines; ``by`` manages its league. Writes an audit entry.

    Raises Conflict after uploads have closed, and if other rules than lines give the medals. Raises
    Invalid for a line that names an agent which is no anchor of the season.
    """
    conn.execute("select 1 from seasons where id = %s for no key update", (season_id,))
    season = seasons.get_season(conn, season_id)
    if not may_move_lines(conn, season):
        raise Conflict(
            "lines can move only in a season that gives medals by lines, until uploads close",
            field="medals",
        )
    try:
        rules = MedalRules.from_json(lines.model_dump())
        playing = anchor_names(conn, season_id, states=PLAYING)
        _refuse_other_agents(rules, [*playing.values()], "the season")
    except Invalid as error:
        raise error.within("medals") from None
    before = season.medal_rules
    if rules == before:
        return season
    conn.execute(
        """
        update seasons set medals = %s, official_is_stale = true, revision = revision + 1
        where id = %s
        """,
        (Jsonb(rules.to_json()), season_id),
    )
    audit_log.record_audit(
        conn,
        season.league_id,
        season_id=season_id,
        by=by.user_id,
        act=ACT,
        subject=season_id,
        reason=f"season {season.number}: medal lines {_text(before)} become {_text(rules)}",
    )
    return seasons.get_season(conn, season_id)


def _refuse_other_agents(rules: MedalRules, names: list[str], whose: str) -> None:
    for medal, name in zip(BEST_FIRST, rules.agents, strict=True):
        if name and name not in names:
            raise Invalid(
                medal.value,
                f"""
                {whose} has no reference agent {name!r}; choose from
                {", ".join(names) or "none"}, or give a score.
                """,
            )


def _text(rules: MedalRules) -> str:
    """The lines, best first: ``survivor+100, greedy, 500``."""
    stated = rules.to_json()
    return ", ".join(
        f"{line:.10g}" if isinstance(line := stated[medal.value], float) else str(line)
        for medal in BEST_FIRST
    )
