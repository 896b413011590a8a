"""The query of a team's feed. The feed is read from existing rows; nothing is written for it.

A select of ``ITEMS`` gives the items of one kind. All have the columns of ``RESULTS``. The query
takes ``teams`` and ``leagues``, whose items are shown, ``at``, ``about``, ``limit`` and
``settle_seconds``.
"""

from __future__ import annotations

from typing import Final

MOST_RESULTS_BEHIND: Final = 300
"""Most rated results per entry that a follower can catch up on; beyond that, read the pages."""
OWN_ENTRIES: Final = (
    "select e.id, e.season_id, e.agent_id, a.name, e.state, e.reason,"
    " e.activated_at, e.validation_match_id, s.league_id = any (%(leagues)s) as is_seen"
    " from agents a join entries e on e.agent_id = a.id join seasons s on s.id = e.season_id"
    " where a.team_id = any (%(teams)s)"
)
"""Entries of the teams."""
SEALS: Final = (
    "select z.season_id, z.team_id, t.name, z.version, z.medal, z.chance, z.sealed_at,"
    "   u.unsealed_at from sealed_medals z join seasons s on s.id = z.season_id"
    " join teams t on t.id = z.team_id left join unsealed_medals u"
    "   on (u.season_id, u.team_id, u.version) = (z.season_id, z.team_id, z.version)"
    " where z.team_id = any (%(teams)s) and s.league_id = any (%(leagues)s)"
)
"""Seals of the teams in the leagues."""
RESULTS: Final = (
    "select kind, at, about, season_id, entry_id, agent_id, name, match_id,"
    "   null as scrim_id, null as reason, mu_before, mu, null::integer as finished_games,"
    "   null::integer as games, null as team_name, null as medal,"
    "   null::double precision as chance from counted"
)
"""Rated results, and corrections."""
VALIDATIONS: Final = (
    "select case o.state when 'rejected' then 'failed' else 'passed' end, m.finished_at,"
    "   (o.id || '.' || m.id) collate \"C\", o.season_id, o.id, o.agent_id, o.name, m.id,"
    "   null, case o.state when 'rejected' then o.reason end, null, null, null, null,"
    "   null, null, null"
    " from own o join matches m on m.id = coalesce((select validation_match_id from pauses"
    " where entry_id = o.id order by paused_at limit 1), o.validation_match_id)"
    " where m.finished_at is not null"
    "   and (o.state = 'rejected' or o.activated_at is not null)"
)
"""Validations that passed or failed."""
PAUSES: Final = (
    "select k.kind, k.at, (o.id || '.' || k.kind) collate \"C\", o.season_id, o.id,"
    "   o.agent_id, o.name, null, null, k.reason, null, null, null, null, null, null, null"
    " from own o join pauses p on p.entry_id = o.id cross join lateral (values"
    "   ('paused', p.paused_at, p.reason), (case p.outcome when 'active' then 'resumed'"
    "   else 'given_up' end, p.ended_at, case p.outcome when 'retired' then o.reason end))"
    "   k(kind, at, reason) where k.at is not null"
)
"""Entries that were paused, that play again, or that were retired."""
SCRIMS: Final = (
    "select 'scrim', c.finished_at, c.id collate \"C\", c.season_id, null, null, null, null,"
    "   c.id, null, null, null, c.finished_games, c.games, null, null, null"
    " from scrims c where (c.team_id = any (%(teams)s) or c.result_audience <> 'asker'"
    "   and exists (select 1 from scrim_requests q where q.scrim_id = c.id"
    "     and q.asked_team_id = any (%(teams)s)))"
    "   and c.state = 'finished' and c.batch_id is null and c.comparison_id is null"
)
"""Finished scrims, without those of batches and comparisons."""
BATCHES: Final = (
    "select 'batch', b.ended_at, b.id, b.season_id, null, null, null, null, null, null,"
    "   null, null, sum(c.finished_games)::integer, sum(c.games)::integer, null, null, null"
    " from scrim_batches b join scrims c on c.batch_id = b.id"
    " where b.team_id = any (%(teams)s) and b.ended_at is not null group by b.id"
)
"""Batches of which all scrims are over."""
COMPARISONS: Final = (
    "select 'comparison', x.finished_at, x.id, x.season_id, null, null, null, null, null,"
    "   x.verdict, null, null, null, null, null, null, null from comparisons x"
    " where x.team_id = any (%(teams)s) and x.state = 'finished'"
)
"""Comparisons that ended by themselves; the column ``reason`` has the verdict."""
REQUESTS: Final = (
    "select k.kind, k.at, (r.id || '.' || k.kind) collate \"C\", r.season_id, null, null,"
    "   null, null, r.scrim_id, case when r.team_id = any (%(teams)s) or k.kind ="
    "   'scrim_declined' then nullif(r.answer, '') end, null, null, null, r.games,"
    "   case when r.team_id = any (%(teams)s) then o.name else t.name end, null, null"
    " from scrim_requests r join teams t on t.id = r.team_id"
    "   join teams o on o.id = r.asked_team_id cross join lateral (values"
    "   ('scrim_asked', r.created_at), (case when r.state <> 'asked' then 'scrim_' || r.state"
    "   end, r.answered_at)) k(kind, at) where k.at is not null"
    "   and (r.team_id = any (%(teams)s) or r.asked_team_id = any (%(teams)s))"
)
"""Requests for scrims, and their answers."""
SEALED: Final = (
    "select 'sealed', z.sealed_at, (z.team_id || '.' || z.version) collate \"C\","
    "   z.season_id, null, null, null, null, null, null, null, null, null, null, z.name,"
    "   z.medal, z.chance from seals z"
)
"""Medals that were sealed."""
UNSEALED: Final = (
    "select 'unsealed', z.unsealed_at, (z.team_id || '.' || z.version) collate \"C\","
    "   z.season_id, null, null, null, null, null, null, null, null, null, null, z.name,"
    "   z.medal, null from seals z where z.unsealed_at is not null"
)
"""Seals that were revoked."""
ITEMS: Final = (
    RESULTS,
    VALIDATIONS,
    PAUSES,
    SCRIMS,
    BATCHES,
    COMPARISONS,
    REQUESTS,
    SEALED,
    UNSEALED,
)
COLUMNS: Final = (
    " select i.kind, i.at, i.about, l.id as league_id, l.title as league, i.entry_id,"
    " i.agent_id, i.name as agent_name, i.match_id, i.scrim_id, t.placement,"
    " case when i.kind <> 'comparison' then i.reason end as reason,"
    " case when i.kind = 'rated' then s.seats end as seats,"
    " case when i.kind = 'comparison' then i.reason else t.verdict end as verdict,"
    " case when s.measures is null then i.mu_before end as mu_before,"
    " case when s.measures is null then i.mu end as mu_after, i.finished_games, i.games,"
    " i.team_name, i.medal, i.chance"
)
"""Columns of a shown item. Seasons of one seat have no ratings."""


def feed_query(*, is_forward: bool) -> str:
    """The query for the items next to ``at`` and ``about``: settled newer ones, or older ones."""
    side, order, settled, newest = "<", "desc", "true", ""
    if is_forward:
        side, order = ">", "asc"
        settled = "at <= clock_timestamp() - make_interval(secs => %(settle_seconds)s)"
        newest = f"order by no desc limit {MOST_RESULTS_BEHIND}"
    beyond = f'{side} (%(at)s, %(about)s collate "C")'
    counted = (
        "select r.* from own o cross join lateral ("  # noqa: S608
        "     select case c.act when 'accept' then 'rated' else 'corrected' end as kind,"
        "       r.created_at as at, (r.entry_id || '.' || r.match_id) collate \"C\" as about,"
        "       o.season_id, o.id as entry_id, o.agent_id, o.name, r.match_id, r.mu_before, r.mu"
        f"     from (select * from ratings where entry_id = o.id {newest}) r"
        "     join acceptances c on c.season_id = r.season_id and c.no = r.no where"
        "       (r.created_at, (r.entry_id || '.' || r.match_id) collate \"C\")"
        f"      {beyond}"
        f"    order by r.no {order} limit %(limit)s) r where o.is_seen"
    )
    return (
        f"with own as ({OWN_ENTRIES}), counted as ({counted}), seals as ({SEALS}),"  # noqa: S608
        f" items as ({' union all '.join(ITEMS)}){COLUMNS}"
        f" from (select * from items where (at, about) {beyond} and {settled}"
        f"   order by at {order}, about {order} limit %(limit)s) i"
        " join seasons s on s.id = i.season_id join leagues l on l.id = s.league_id"
        " left join lateral (select placement, verdict from seats where match_id = i.match_id"
        "   and entry_id = i.entry_id and i.kind = 'rated' order by placement limit 1) t on true"
        f" order by i.at {order}, i.about {order}"
    )
