"""Games worth watching: finished rated matches by upset, lead changes, closeness and length.

A worker looks at the newest replays of each season and writes a row for each. A list then ranks the
rows of a day. Hosts pin matches to the top of their league.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Final

from ladder.database.db import Connection
from ladder.enums import MatchKind, MatchState
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import LeagueId, MatchId, SeasonId, UserId
from ladder.leagues import leagues
from ladder.leagues.records import League
from ladder.matches import history
from ladder.matches.match_titles import lineup_title
from ladder.matches.records import Match
from ladder.people import visibility
from ladder.people.audit_log import record_audit
from ladder.people.records import Viewer

MOST_AN_HOUR: Final = 30
"""Most replays of a season that are looked at in an hour."""
LOOKED_AT: Final = 30
"""Newest matches of a season that one look considers."""
KEPT_DAYS: Final = 31
MOST_PINS: Final = 12
BETA: Final = 150.0
"""Scatter of one performance in points, as in the live rating."""
WEIGHTS: Final = {"upset": 0.4, "lead": 0.25, "close": 0.2, "long": 0.15}


@dataclass(frozen=True, slots=True)
class Interest:
    """What makes a match worth watching."""

    upset: float
    lead_changes: int
    closeness: float
    """0 to 1."""
    steps: int
    score: float

    @property
    def reasons(self) -> tuple[str, ...]:
        """In words, without the result."""
        told = []
        if self.upset >= 0.6:
            told.append("an upset")
        if self.lead_changes >= 2:
            told.append(f"the lead changes {self.lead_changes} times")
        if self.closeness >= 0.8:
            told.append("close to the end")
        told.append(f"{self.steps:,} steps")
        return tuple(told)


@dataclass(frozen=True, slots=True)
class Highlight:
    """A match in a list of games worth watching."""

    match: Match
    league: League
    interest: Interest | None
    """None for a pinned match that no worker has looked at."""
    is_pinned: bool


class FeedKind(StrEnum):
    """The category of an entry of the feed."""

    HIGHLIGHT = "highlight"
    """A game worth watching."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A game worth watching as an entry of an Atom feed."""

    id: str
    kind: FeedKind
    title: str
    text: str
    path: str
    created_at: datetime


def judge(match: Match, values: Sequence[tuple[float, ...]], longest_steps: int) -> Interest:
    """How interesting a match is. ``values`` has what each seat had, for each frame. Pure."""
    upset = _upset(match)
    changes = _lead_changes(values)
    closeness = _closeness(values)
    steps = sum(one.steps for one in match.episodes)
    length = min(1.0, steps / max(1, longest_steps * len(match.episodes)))
    score = (
        WEIGHTS["upset"] * upset
        + WEIGHTS["lead"] * (1 - math.exp(-changes / 4))
        + WEIGHTS["close"] * closeness
        + WEIGHTS["long"] * length
    )
    return Interest(upset, changes, closeness, steps, score)


def _upset(match: Match) -> float:
    """Mean chance, by the ratings before, that each other seat would do better than the first."""
    first = [one for one in match.seats if one.placement == 1 and one.mu_before is not None]
    others = [one for one in match.seats if one.placement != 1 and one.mu_before is not None]
    chances = [
        1 / (1 + math.exp(((best.mu_before or 0) - (one.mu_before or 0)) / BETA))
        for best in first[:1]
        for one in others
    ]
    return sum(chances) / len(chances) if chances else 0.0


def _lead_changes(values: Sequence[tuple[float, ...]]) -> int:
    leads: list[int] = []
    for row in values:
        if len(row) > 1 and row.count(max(row)) == 1:
            leader = row.index(max(row))
            if not leads or leads[-1] != leader:
                leads.append(leader)
    return max(0, len(leads) - 1)


def _closeness(values: Sequence[tuple[float, ...]]) -> float:
    """How near the best two were after nine tenths of the game."""
    late = values[int(0.9 * (len(values) - 1))] if values else ()
    if len(late) < 2 or max(late) <= 0:
        return 0.0
    best, second = sorted(late, reverse=True)[:2]
    return max(0.0, 1 - (best - second) / best)


def matches_to_judge(conn: Connection) -> list[Match]:
    """The newest rated matches of each season that no worker has looked at."""
    rows = conn.execute(
        """
        select s.id, (select count(*) from match_interest i where i.season_id = s.id
        and i.finished_at > now() - interval '1 hour') from seasons s where s.accepted_no > 0
        and s.state <> 'finished'
        """
    ).fetchall()
    found = []
    for season_id, judged in rows:
        newest = history.list_matches(
            conn,
            season_id=SeasonId(season_id),
            kind=MatchKind.RATED,
            state=MatchState.FINISHED,
            limit=LOOKED_AT,
        )
        known = {
            row[0]
            for row in conn.execute(
                "select match_id from match_interest where match_id = any (%s)",
                ([match.id for match in newest],),
            )
        }
        fresh = [match for match in newest if match.id not in known and _is_rated(match)]
        found += fresh[: max(0, MOST_AN_HOUR - judged)]
    return found


def _is_rated(match: Match) -> bool:
    single = len(match.seats) == 1
    return bool(match.episodes) and (
        single or all(seat.mu_after is not None for seat in match.seats)
    )


def store_interest(conn: Connection, match: Match, interest: Interest) -> None:
    """Writes how interesting a match is."""
    conn.execute(
        """
        insert into match_interest (match_id, season_id, league_id, finished_at, upset,
        lead_changes, closeness, steps, score) values (%s, %s, %s, %s, %s, %s, %s, %s, %s)
        on conflict do nothing
        """,
        (
            *(match.id, match.season_id, match.league_id, match.finished_at, interest.upset),
            *(interest.lead_changes, interest.closeness, interest.steps, interest.score),
        ),
    )


def delete_old_interest(conn: Connection) -> None:
    """Deletes rows of matches that finished long ago, unless they are pinned."""
    conn.execute(
        """
        delete from match_interest i where finished_at < now() - make_interval(days => %s)
        and not exists (select 1 from pinned_matches p where p.match_id = i.match_id)
        """,
        (KEPT_DAYS,),
    )


def list_highlights(
    conn: Connection,
    viewer: Viewer,
    *,
    league: League | None = None,
    day: date | None = None,
    limit: int = 20,
) -> list[Highlight]:
    """The matches of a day (in UTC; default: the last 24 hours) whose replay the viewer may see.

    With a league, its pinned matches come first. The caller checks that the viewer may see it.
    Without a league, leagues take turns: first the best match of each, then the second best.
    """
    pinned = pinned_matches(conn, league.id) if league else []
    begin = datetime.combine(day, time(), UTC) if day else datetime.now(UTC) - timedelta(days=1)
    seen, values = visibility.visible_replays(viewer)
    rows = conn.execute(
        f"""
        select i.match_id, i.upset, i.lead_changes, i.closeness, i.steps, i.score
        from match_interest i join matches m on m.id = i.match_id
          join seasons s on s.id = m.season_id join leagues l on l.id = s.league_id
          left join scrims c on c.id = m.scrim_id
        where i.finished_at >= %s and i.finished_at < %s
          and (%s::text is null or i.league_id = %s) and {seen} and i.match_id <> all (%s)
        order by row_number() over (
            partition by i.league_id order by i.score desc, i.match_id desc
          ), i.score desc, i.match_id desc
        limit %s
        """,
        (
            *(begin, begin + timedelta(days=1), league.id if league else None),
            *(league.id if league else None, *values, pinned, limit),
        ),
    ).fetchall()
    rows += conn.execute(
        """
        select match_id, upset, lead_changes, closeness, steps, score from match_interest
        where match_id = any (%s)
        """,
        (pinned,),
    ).fetchall()
    interests = {match_id: Interest(*values) for match_id, *values in rows}
    order = [*pinned, *(match_id for match_id in interests if match_id not in pinned)]
    matches = {match.id: match for match in history.get_matches(conn, order, viewer)}
    shown = [matches[key] for key in order if key in matches and matches[key].access.has_replay]
    homes = {key: leagues.get_league(conn, key) for key in {match.league_id for match in shown}}
    return [
        Highlight(match, homes[match.league_id], interests.get(match.id), match.id in pinned)
        for match in shown
    ]


def pinned_matches(conn: Connection, league_id: LeagueId) -> list[MatchId]:
    """The pinned matches of a league, the last pinned first."""
    rows = conn.execute(
        "select match_id from pinned_matches where league_id = %s order by pinned_at desc",
        (league_id,),
    )
    return [MatchId(row[0]) for row in rows]


def pin_match(conn: Connection, league_id: LeagueId, match_id: MatchId, by: UserId | None) -> None:
    """Pins a finished rated match of the league. The caller checks that ``by`` hosts it.

    Pinning it again changes nothing. Raises NotFound, Invalid and Conflict.
    """
    match = history.get_match(conn, match_id)
    if match.league_id != league_id:
        raise NotFound.of("match")
    if match.kind is not MatchKind.RATED or match.state is not MatchState.FINISHED:
        raise Invalid("match", "pin a finished rated match")
    leagues.get_league(conn, league_id)
    conn.execute("select 1 from leagues where id = %s for update", (league_id,))
    pinned = pinned_matches(conn, league_id)
    if match_id in pinned:
        return
    if len(pinned) >= MOST_PINS:
        raise Conflict(f"unpin a match first: a league has at most {MOST_PINS} pinned matches")
    conn.execute(
        "insert into pinned_matches (league_id, match_id, pinned_by) values (%s, %s, %s)",
        (league_id, match_id, by),
    )
    record_audit(conn, league_id, by=by, act="pin", subject=match_id, reason="")


def unpin_match(
    conn: Connection, league_id: LeagueId, match_id: MatchId, by: UserId | None
) -> None:
    """Takes a match from the top of the league. A match that is not pinned stays as it is."""
    gone = conn.execute(
        "delete from pinned_matches where league_id = %s and match_id = %s",
        (league_id, match_id),
    ).rowcount
    if gone:
        record_audit(conn, league_id, by=by, act="unpin", subject=match_id, reason="")


def feed_entries(found: Sequence[Highlight]) -> list[FeedEntry]:
    """The entries of an Atom feed, without results."""
    return [
        FeedEntry(
            one.match.id,
            FeedKind.HIGHLIGHT,
            lineup_title(one.match),
            ", ".join([one.league.title, *(one.interest.reasons if one.interest else ())]),
            f"/matches/{one.match.id}",
            one.match.finished_at or one.match.created_at,
        )
        for one in found
    ]
