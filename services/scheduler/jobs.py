"""The leader's jobs, one function each. They read current state, never history.

Every job may run at any time, twice, or late. The data stays correct in each case.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import SystemRandom

from redis import Redis
from redis.exceptions import RedisError

from ladder.database import db, idempotency, migrate
from ladder.database.blobs import Blobs
from ladder.entries import blocked_accounts, entries, remote_agents
from ladder.ids import SeasonId
from ladder.leagues import join_requests
from ladder.leagues import seasons as leagues_seasons
from ladder.machines import checks, lease_blobs, machines
from ladder.matches import lease, matches, workers
from ladder.moderation import rejudgements
from ladder.notices import deliveries
from ladder.people import one_time_links, passkeys
from ladder.privacy import erasing
from ladder.ratings import standing_versions
from ladder.reports import alarm_notices, season_health
from ladder.scheduling.pairing_round import make_rated_matches
from ladder.scheduling.season_cache import SeasonCache
from ladder.scrims import comparison_progress
from ladder.scrims import requests as scrim_requests
from ladder.standings import medal_notices
from ladder.telemetry import log_event
from ladder.tournaments import advance, shows
from services.scheduler.leader import Job
from services.scheduler.wake_messages import Wake, WakeMessages
from services.server_faults import FaultLog
from workers import redis_clients

REDIS_SECONDS = 2.0
"""Timeout of each call to Redis."""
MONTHS_AHEAD = 2
"""For how many months after the current one the partitions exist."""


def all_jobs(wake: Wake, blobs: Blobs, redis_url: str = "") -> list[Job]:
    """All jobs in the order of a round: jobs that free matches come before jobs that send them
    out. Without ``redis_url`` no job keeps users of Redis."""
    wakes = WakeMessages(wake)
    chance = SystemRandom()
    fields = SeasonCache()
    return [
        Job("reap", 0.0, reap_leases),
        Job("expire", 1.0, expire_overdue),
        Job("rejudge", 1.0, queue_rejudged_matches),
        Job("refuse rejudges", 60.0, refuse_unserved_matches),
        Job("compare", 1.0, advance_comparisons),
        Job("tournaments", 0.0, lambda conn: advance_tournaments(conn, fields)),
        Job("pair", 0.0, lambda conn: make_rated_matches(conn, chance, fields)),
        Job("wake", 0.0, wakes.send_play_messages),
        Job("rate", 0.0, wakes.send_rate_messages),
        Job("draw", 0.0, wakes.send_draw_messages),
        Job("close", 5.0, close_due_seasons),
        Job("erase", 1.0, lambda conn: erase_accounts(conn, blobs)),
        Job("watch", 5.0, AlarmLog().log_alarm_changes),
        Job("medals", 2.0, record_medal_changes),
        Job("notify", 0.0, wakes.send_notice_messages),
        Job("expire notices", 60.0, expire_deliveries),
        Job("partitions", 3600.0, create_partitions),
        Job("forget", 3600.0, delete_old_rows),
        Job("unfinished", 3600.0, lambda conn: delete_unfinished_uploads(blobs)),
        Job("machine sessions", 5.0, end_machine_sessions),
        Job("servers", 5.0, FaultLog(redis_url, blobs).log_changes),
        *([Job("machines", 5.0, RedisUsers(redis_url).renew)] if redis_url else []),
    ]


def reap_leases(conn: db.Connection) -> dict[str, int]:
    """Queues matches with expired leases again, or makes them void after their last attempt."""
    with conn.transaction():
        counts = lease.reap_lapsed_leases(conn)
    return {"requeued": counts.requeued, "voided": counts.voided}


def expire_overdue(conn: db.Connection) -> dict[str, int]:
    """Expires matches, pending entries and requests past their deadline: to join, and for scrims.
    Starts due tries of paused entries. Pauses entries of blocked people."""
    with conn.transaction():
        expired = matches.expire_queued(conn)
    with conn.transaction():
        renewed = len(entries.expire_pending(conn))
    with conn.transaction():
        tried = len(remote_agents.retry_due_entries(conn))
    with conn.transaction():
        requests = join_requests.expire_requests(conn)
    with conn.transaction():
        scrims_asked = scrim_requests.expire_requests(conn)
    with conn.transaction():
        blocked = len(blocked_accounts.pause_and_resume_entries(conn))
    return {
        "expired": expired,
        "validations_renewed": renewed,
        "paused_tried": tried,
        "requests_expired": requests,
        "scrim_requests_expired": scrims_asked,
        "blocks_applied": blocked,
    }


def queue_rejudged_matches(conn: db.Connection) -> dict[str, int]:
    """Queues the next matches of rejudgements before new matches take their place. Ends finished
    rejudgements."""
    with conn.transaction():
        over = rejudgements.end_finished_rejudgements(conn)
    for rejudgement in over:
        log_event(
            "rejudgement_ended",
            rejudgement=rejudgement.id,
            season=rejudgement.season_id,
            state=rejudgement.state,
        )
    return {"rejudges_queued": rejudgements.queue_next(conn)}


def refuse_unserved_matches(conn: db.Connection) -> dict[str, int]:
    """Refuses rejudged matches that waited too long for a node with their profiles."""
    with conn.transaction():
        return {"rejudges_refused": rejudgements.refuse_unserved_matches(conn)}


def advance_comparisons(conn: db.Connection) -> dict[str, int]:
    """Counts ended pairs of comparisons, decides, and issues further pairs."""
    ended = 0
    for comparison in comparison_progress.comparisons_to_advance(conn):
        with conn.transaction():
            verdict = comparison_progress.advance(conn, comparison)
        if verdict is not None:
            log_event("comparison_ended", comparison=comparison, verdict=verdict)
            ended += 1
    return {"comparisons_ended": ended}


def advance_tournaments(conn: db.Connection, fields: SeasonCache) -> dict[str, int]:
    """Advances tournaments. Each has the same share of the play queue as a maker of leagues."""
    fields.turns.set_least_turn(matches.first_turn_of_queue(conn, "play.cpu"))
    return advance.advance_tournaments(conn, fields.turns.next_turn)


def close_due_seasons(conn: db.Connection) -> dict[str, int]:
    """Tells of seasons that opened. Locks or finishes seasons at their dates. A season may also end
    once all its medals are sealed."""
    with conn.transaction():
        leagues_seasons.record_openings(conn)
        sealed = leagues_seasons.finish_sealed_seasons(conn)
        turned = [
            leagues_seasons.get_season(conn, season)
            for season in leagues_seasons.lock_and_finish_due_seasons(conn)
        ]
    for season_id in sealed:
        log_event("season_stops", season=season_id, reason="every medal is sealed")
    for season in turned:
        log_event("season_state_changed", season=season.id, state=season.state)
    return {"seasons_turned": len(turned)}


def erase_accounts(conn: db.Connection, blobs: Blobs) -> dict[str, int]:
    """Erases what deleted accounts left: reasons, logs and bundles."""
    erased = erasing.finish_erasures(conn, blobs)
    for user_id in erased:
        log_event("account_erased", user=user_id)
    return {"accounts_erased": len(erased)}


def record_medal_changes(conn: db.Connection) -> dict[str, int]:
    """Tells teams whose medal changed with a new official standing."""
    notices = 0
    for season in medal_notices.seasons_with_news(conn):
        with conn.transaction():
            notices += medal_notices.record_medal_changes(conn, season)
    return {"medal_changes": notices}


def expire_deliveries(conn: db.Connection) -> dict[str, int]:
    """Ends deliveries of notices past their deadline."""
    with conn.transaction():
        return {"deliveries_expired": deliveries.expire_deliveries(conn)}


def delete_old_rows(conn: db.Connection) -> dict[str, int]:
    """Deletes old idempotency answers, workers gone for long, and most rows of old official
    standings, old notices, sign-ins that nobody can finish, and shows that have ended."""
    with conn.transaction():
        answers = idempotency.delete_old_answers(conn)
    with conn.transaction():
        silent = workers.delete_old_workers(conn)
        stored = lease_blobs.delete_old_uploads(conn)
        given_up = checks.give_up_second_plays(conn)
    with conn.transaction():
        standings = standing_versions.drop_old_rows(conn)
    with conn.transaction():
        old_notices = deliveries.delete_old(conn)
    with conn.transaction():
        steps = passkeys.delete_expired_steps(conn)
        links = one_time_links.delete_old_links(conn)
    with conn.transaction():
        ended_shows = shows.delete_expired_shows(conn)
    return {
        "sign_in_steps_forgotten": steps,
        "links_forgotten": links,
        "shows_forgotten": ended_shows,
        "answers_forgotten": answers,
        "workers_forgotten": silent,
        "machine_uploads_forgotten": stored,
        "second_plays_given_up": given_up,
        "standings_dropped": standings,
        "notices_forgotten": old_notices,
    }


def delete_unfinished_uploads(blobs: Blobs) -> dict[str, int]:
    """Deletes bytes of uploads that broke with their process a day ago."""
    before = datetime.now(UTC) - timedelta(days=1)
    return {"unfinished_uploads": blobs.delete_unfinished(before)}


def end_machine_sessions(conn: db.Connection) -> dict[str, int]:
    """Ends sessions of machines that keep a transaction or a lock. Logs each."""
    with conn.transaction():
        ended = machines.end_held_sessions(conn)
    for login in ended:
        log_event("machine_session_ended", level="warning", login=login)
    return {"machine_sessions_ended": len(ended)}


def create_partitions(conn: db.Connection) -> dict[str, int]:
    """Creates the partitions of the coming months."""
    with conn.transaction():
        return {"partitions_made": len(migrate.ensure_partitions(conn, MONTHS_AHEAD))}


class AlarmLog:
    """Logs each alarm of a season once and notifies the people who host the league.

    An alarm means that no match finished in time, or that a machine is too slow.
    """

    def __init__(self) -> None:
        self._told: dict[SeasonId, str] = {}

    def log_alarm_changes(self, conn: db.Connection) -> dict[str, int]:
        """Logs each new, changed or ended alarm, and notifies the hosts of new and changed ones.

        Returns no counts.
        """
        alarms = {alarm.season_id: alarm for alarm in season_health.season_alarms(conn)}
        for season, alarm in alarms.items():
            if self._told.get(season) != alarm.reason:
                slow = alarm.cause is season_health.AlarmCause.SLOW_HOST
                log_event(
                    "host_too_slow" if slow else "season_silent",
                    level="warning",
                    season=season,
                    league=alarm.league,
                    reason=alarm.reason,
                    silent_seconds=round(alarm.silent_seconds),
                    expected_seconds=alarm.expected_seconds,
                )
                self._told[season] = alarm.reason
                with conn.transaction():
                    alarm_notices.record_alarm(conn, alarm)
        for season in set(self._told) - set(alarms):
            log_event("season_alarm_cleared", season=season)
            del self._told[season]
        return {}


class RedisUsers:
    """Keeps the users of Redis equal to the machines that joined: Redis may lose its users."""

    def __init__(self, redis_url: str) -> None:
        self._client = Redis.from_url(
            redis_url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
        )
        self._trouble = ""

    def renew(self, conn: db.Connection) -> dict[str, int]:
        """Makes lost users again and deletes those of revoked machines. Logs each new failure."""

        def read_expected() -> dict[str, tuple[str, bool]]:
            with conn.transaction():
                return machines.redis_logins(conn)

        try:
            changed = redis_clients.renew_users(self._client, read_expected)
        except (RedisError, OSError) as error:
            trouble = f"{type(error).__name__}: {error}"
            if trouble != self._trouble:
                log_event("redis_users_failed", level="warning", error=trouble)
            self._trouble = trouble
            return {}
        self._trouble = ""
        return changed
