"""Rules about tournaments and matches."""

from __future__ import annotations

from typing import Final

from ladder.privacy.rules.rule import AGENTS, OWN_SEATS, Rule

PICTURES: Final = f"""split_part(x.subject, '/', 2) = any (%(leagues)s)
    or string_to_array(split_part(x.subject, '/', 2), '+') && array ({AGENTS})
    or split_part(x.subject, '/', 2) in ({AGENTS} union
      select match_id from seats where agent_id in ({AGENTS}) or {OWN_SEATS} union
      select s.league_id from entries e join seasons s on s.id = e.season_id
      where e.team_id = any (%(teams)s))"""
"""SQL: pictures of the person's agents, their matches and leagues."""
ATTEMPTS_USED_UP: Final = "x.attempt || ' attempts used up'"
"""SQL: the reason of such a void match without the message of a machine."""
COURSE: Final = (
    *("state", "published", "position", "problem", "champion", "finished_at", "is_due"),
)
"""Columns of a tournament that tell how far it is, also while results are hidden."""

RULES: Final = (
    Rule(
        "tournaments",
        "Tournaments that you made as a host: titles and descriptions",
        "as long as the league",
        mine="x.created_by = %(user)s",
        erased={"title": "'Tournament ' || right(x.id, 4)", "description": "''"},
        named=("title", "description", "end_reason"),
        named_where="x.league_id = any (%(near)s)",
        impersonal="id league_id season_id plan entry_rule embargo draw_digest created_by",
        secret=("draw_seed", *COURSE),
    ),
    Rule(
        "tournament_entrants",
        "Tournaments that your agents entered",
        "as long as the league",
        mine="x.team_id = any (%(teams)s)",
        named=("reason",),
        named_where="x.tournament_id in (select id from tournaments"
        " where league_id = any (%(near)s))",
        impersonal="tournament_id agent_id team_id state entry_id submission_id profile"
        " told_pairing told_result",
        secret=("last_position",),
    ),
    Rule(
        "tournament_acts",
        "What you did in tournaments, and your reasons",
        "as long as the league",
        mine="x.by_user = %(user)s",
        erased={"details": "'{}'"},
        secret=("number",),  # it counts the acts before, and so tells of a hidden end
        impersonal="tournament_id act agent_id by_user",
    ),
    Rule("tournament_rounds", impersonal="tournament_id position"),
    Rule(
        "tournament_shows",
        "Pages for screens that you made of tournaments. Their addresses are never stored",
        "until their addresses end",
        mine="x.created_by = %(user)s",
        deleted=True,
        secret=("hash",),
        impersonal="id tournament_id created_by",
    ),
    Rule("tournament_games", impersonal="match_id tournament_id pairing entrants embargo outcome"),
    # -- matches --------------------------------------------------------------------------------
    Rule(
        "seats",
        "Results of your agents; the reasons of their faults; their logs",
        "as long as the league",
        mine=OWN_SEATS,
        exported=f"{OWN_SEATS} and not exists (select 1 from matches m join scrims c"
        " on c.id = m.scrim_id where m.id = x.match_id and c.result_audience = 'asker'"
        " and c.team_id <> all (%(teams)s))"
        " and not exists (select 1 from tournament_games g where g.match_id = x.match_id"
        " and g.embargo = 'hidden')",
        erased={"reason": "null", "log_digest": "null"},
        impersonal="match_id entry_id submission_id agent_id team_id profile verdict statistics"
        " bundle_refused",
        is_large=True,
    ),
    Rule("meetings", impersonal="match_id pair"),
    Rule(
        "attempts",
        "Our messages about attempts that failed in matches of your agents",
        "as long as the league",
        mine=f"x.detail <> '' and x.match_id in (select match_id from seats where {OWN_SEATS})",
        exported="",
        erased={"detail": "''"},
        impersonal="match_id worker machine_id node image_digest rules_digest ended"
        " fault fault_cause",
        is_large=True,
    ),
    Rule(
        "matches",
        "Matches of your agents",
        "as long as the league",
        mine="x.void_cause = 'attempts_used_up'"
        f" and x.void_reason <> {ATTEMPTS_USED_UP}"
        f" and x.id in (select match_id from seats where {OWN_SEATS})",
        exported="",
        erased={"void_reason": ATTEMPTS_USED_UP},
        impersonal="id kind season_id scrim_id rejudges state queue profiles speed_class"
        " refused_worker worker machine_id node woken_on void_cause",
        secret=("seed",),
        is_large=True,
    ),
    Rule(
        "pictures",
        "Pictures of your agents, their matches and leagues, with names",
        "as long as people ask for them",
        mine=PICTURES,
        exported="",
        deleted=True,
        is_large=True,
    ),
)
