"""Second plays of matches of machines that are not trusted, and canaries for these machines.

A *control* is a pair of plays of one lineup and seed by trusted machines. Nobody sees them. A
*sample* is a play of a machine beside its control: a rated match that was chosen by chance, or a
canary. A canary is a copy of a control with a seed of its own. The order that its machine gets is
that of a rated match.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from psycopg.rows import class_row

from ladder import ids
from ladder.database.db import Connection, atomic_function
from ladder.enums import MatchKind
from ladder.errors import Conflict
from ladder.ids import MachineId, MatchId, SeasonId
from ladder.leagues import seasons
from ladder.leagues.records import Season
from ladder.matches import matches
from ladder.matches.records import LineupSeat

REPEAT_SHARE: Final = 0.1
"""Share of a machine's rated matches that are played again."""
SUSPECTED_SHARE: Final = 0.5
"""The same for a machine with a different sample."""
CANARY_SHARE: Final = 0.05
"""Canaries for each of a machine's rated matches."""
CANARY_USES: Final = 20
"""Machines that get one canary."""
WAITING_CONTROLS: Final = 3
"""Most controls of canaries of a season that wait to be played."""
AT_ONCE: Final = 100
WAITING_HOURS: Final = 24
"""A sample whose plays have not ended by then is given up."""


@dataclass(frozen=True, slots=True)
class WaitingSample:
    """A sample whose three plays have ended, or a control alone."""

    control_id: str
    match_id: MatchId | None
    """The play of the machine. None: the control was not compared yet."""
    first_match_id: MatchId
    second_match_id: MatchId


@atomic_function
def choose_samples(conn: Connection, match_id: MatchId, chance: Random) -> None:
    """Decides by chance whether an accepted match of a machine is played again, and whether a
    canary is queued. Matches other than rated ones decide nothing."""
    row = conn.execute(
        "select m.season_id, t.machine_id, exists (select 1 from machine_samples s"
        "   where s.machine_id = t.machine_id and s.is_different and s.created_at > c.judged_from)"
        " from matches m join attempts t on t.match_id = m.id and t.ended = 'finished'"
        " join machines c on c.id = t.machine_id where m.id = %s and m.kind = 'rated'",
        (match_id,),
    ).fetchone()
    if row is None:
        return
    season = seasons.get_season(conn, SeasonId(row[0]))
    lineup = matches.lineup_of(conn, match_id)
    if chance.random() < (SUSPECTED_SHARE if row[2] else REPEAT_SHARE):
        control = make_control(conn, season, lineup, _seed_of(conn, match_id), is_canary=False)
        if control is not None:
            _add_sample(conn, match_id, control, MachineId(row[1]))
    if chance.random() < CANARY_SHARE and not queue_canary(conn, season, chance):
        waiting = conn.execute(
            "select count(*) from machine_controls where season_id = %s and is_canary"
            " and is_repeatable is null",
            (season.id,),
        ).fetchone()
        if waiting is not None and waiting[0] < WAITING_CONTROLS:
            make_control(conn, season, lineup, secrets.token_bytes(16), is_canary=True)


def make_control(
    conn: Connection, season: Season, lineup: Sequence[LineupSeat], seed: bytes, *, is_canary: bool
) -> str | None:
    """Queues two plays on trusted machines. Returns None if an agent's owner deleted it."""
    control = ids.new_id("mct")
    try:
        plays = [_queue(conn, season, lineup, seed, "scrim") for _ in range(2)]
    except Conflict:
        return None
    conn.execute(
        "insert into machine_controls (id, season_id, first_match_id, second_match_id, is_canary)"
        " values (%s, %s, %s, %s, %s)",
        (control, season.id, *plays, is_canary),
    )
    return control


def queue_canary(conn: Connection, season: Season, chance: Random) -> MatchId | None:
    """Queues a copy of a repeatable control that few machines have had, for a machine that is not
    trusted and has not had it. Returns None without one, or while another canary of the season
    waits."""
    found = conn.execute(
        "select c.id, c.first_match_id from machine_controls c where c.season_id = %(season)s"
        " and c.is_canary and c.is_repeatable and (select count(*) from machine_samples s"
        "   where s.control_id = c.id) < %(uses)s"
        " and exists (select 1 from machines x where x.revoked_at is null"
        "   and x.quarantined_at is null and x.drained_at is null and x.tier <> 'trusted'"
        "   and not exists (select 1 from machine_samples s"
        "     where s.control_id = c.id and s.machine_id = x.id))"
        " and not exists (select 1 from matches m where m.season_id = %(season)s"
        "   and m.queue = 'open' and m.state = 'queued') order by c.id desc limit 10",
        {"season": season.id, "uses": CANARY_USES},
    ).fetchall()
    if not found:
        return None
    control, original = chance.choice(found)
    lineup = matches.lineup_of(conn, MatchId(original))
    try:
        made = _queue(conn, season, lineup, _seed_of(conn, MatchId(original)), "open")
    except Conflict:
        return None
    _add_sample(conn, made, control, None)
    return made


def waiting_samples(conn: Connection) -> list[WaitingSample]:
    """Samples and controls that can be compared now, oldest first, at most AT_ONCE of each."""
    with conn.cursor(row_factory=class_row(WaitingSample)) as cur:
        return cur.execute(
            "(select c.id as control_id, null as match_id, c.first_match_id, c.second_match_id"
            "  from machine_controls c join matches a on a.id = c.first_match_id"
            "  join matches b on b.id = c.second_match_id where c.is_repeatable is null"
            "  and a.state = 'finished' and b.state = 'finished' order by c.id limit %(most)s)"
            " union all"
            " (select c.id, s.match_id, c.first_match_id, c.second_match_id"
            "  from machine_samples s join machine_controls c on c.id = s.control_id"
            "  join matches m on m.id = s.match_id and m.state = 'finished'"
            "  where s.compared_at is null and s.machine_id is not null"
            "  and c.is_repeatable is not null order by s.match_id limit %(most)s)",
            {"most": AT_ONCE},
        ).fetchall()


def store_control(conn: Connection, control_id: str, *, is_repeatable: bool) -> None:
    """Records whether both plays of a control made the same moves."""
    conn.execute(
        "update machine_controls set is_repeatable = %s where id = %s", (is_repeatable, control_id)
    )


def store_sample(
    conn: Connection, match_id: MatchId, *, is_different: bool | None, log_time_ratio: float | None
) -> None:
    """Records the comparison of a sample."""
    conn.execute(
        "update machine_samples set is_different = %s, log_time_ratio = %s, compared_at = now()"
        " where match_id = %s",
        (is_different, log_time_ratio, match_id),
    )


def give_up_samples(conn: Connection) -> int:
    """Ends samples and controls whose plays did not end in time. Returns how many."""
    late = "created_at < now() - make_interval(hours => %s)"
    samples = conn.execute(
        f"update machine_samples set compared_at = now() where compared_at is null and {late}",  # noqa: S608
        (WAITING_HOURS,),
    )
    controls = conn.execute(
        f"update machine_controls set is_repeatable = false where is_repeatable is null and {late}",  # noqa: S608
        (WAITING_HOURS,),
    )
    return samples.rowcount + controls.rowcount


def _queue(
    conn: Connection, season: Season, lineup: Sequence[LineupSeat], seed: bytes, queue: str
) -> MatchId:
    return matches.create_match(
        conn, season=season, kind=MatchKind.SCRIM, lineup=lineup, seed=seed, queue=queue
    )


def _seed_of(conn: Connection, match_id: MatchId) -> bytes:
    row = conn.execute("select seed from matches where id = %s", (match_id,)).fetchone()
    assert row is not None
    return bytes(row[0])


def _add_sample(
    conn: Connection, match_id: MatchId, control: str, machine: MachineId | None
) -> None:
    conn.execute(
        "insert into machine_samples (match_id, control_id, machine_id) values (%s, %s, %s)",
        (match_id, control, machine),
    )
