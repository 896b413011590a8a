"""The kinds of notices: the topic of each, and its words for every channel. Records events.

``kinds.sql`` says for each kind who is told and by which forms. To add a kind, add a line there, a
member to ``NoticeKind``, and its words to ``KINDS``. A test compares the three. Call
``record_event`` in the transaction of the act that it tells of.

The words hold names that people typed. Each channel escapes them in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Self

from psycopg.types.json import Jsonb
from pydantic import Field

from ladder.database.db import Connection, fetch
from ladder.fault_reasons import DISQUALIFIED, short_reason
from ladder.field_types import RECORD
from ladder.ids import AgentId, EntryId, LeagueId, MatchId, ScrimId, SeasonId, TeamId, UserId


class Topic(StrEnum):
    """What a person switches on and off."""

    AGENTS = "agents"
    """Validations, faults, scrims, comparisons and medals of the person's agents."""
    LEAGUES = "leagues"
    """Seasons, requests to join, and news for hosts."""
    TOURNAMENTS = "tournaments"
    TEAM = "team"
    """Invitations, new members, and requests of other teams for scrims."""
    INSTANCE = "instance"
    """The person's channels, and news for administrators."""


class NoticeKind(StrEnum):
    """What an event is."""

    HOST_DIGEST = "host_digest"
    """One notice of everything that hosts hear of in ten minutes. It has no events of its own."""
    MEMBER_JOINED = "member_joined"
    """Somebody joined a league by a code. ``user_id`` joined ``league_id``."""
    JOIN_REQUESTED = "join_requested"
    """Somebody asks to join a league. ``user_id`` asks for ``league_id``."""
    SEASON_ALARM = "season_alarm"
    """A season finishes no match in time, or its host is too slow. ``details``: cause."""
    VALIDATION_PASSED = "validation_passed"
    VALIDATION_FAILED = "validation_failed"
    AGENT_PAUSED = "agent_paused"
    """A remote agent has three strikes."""
    AGENT_RESUMED = "agent_resumed"
    AGENT_RETIRED = "agent_retired"
    """A paused agent was away too long."""
    AGENT_DISQUALIFIED = "agent_disqualified"
    """A host disqualified an entry, its agent or its team. ``entry_id`` is the agent's newest."""
    AGENT_REINSTATED = "agent_reinstated"
    """A host undid a disqualification."""
    FAULTS_IN_ROW = "faults_in_row"
    """An entry made a fault in each of several rated matches in a row. ``details``: faults."""
    SCRIM_FINISHED = "scrim_finished"
    """``details``: finished, games."""
    SCRIM_ASKED = "scrim_asked"
    """Another team asks ``team_id`` for a scrim. ``details`` of all requests: request, games."""
    SCRIM_ACCEPTED = "scrim_accepted"
    SCRIM_DECLINED = "scrim_declined"
    SCRIM_WITHDRAWN = "scrim_withdrawn"
    SCRIM_EXPIRED = "scrim_expired"
    """The other team did not answer in time."""
    BATCH_FINISHED = "batch_finished"
    """A batch of scrims is over. ``details``: batch, finished, games."""
    COMPARISON_FINISHED = "comparison_finished"
    """A comparison of two versions has its verdict. ``details``: comparison, verdict."""
    MEDAL_LIKELY = "medal_likely"
    """The standings give the team a medal now. ``details`` of all medals: medal."""
    MEDAL_SEALED = "medal_sealed"
    MEDAL_AWARDED = "medal_awarded"
    """The final standing awards a medal that was not sealed."""
    MEDAL_LOST = "medal_lost"
    """A likely, sealed or awarded medal is gone."""
    SEASON_OPENED = "season_opened"
    SEASON_LOCKED = "season_locked"
    """Uploads ended; matches go on."""
    SEASON_FINISHED = "season_finished"
    JOIN_APPROVED = "join_approved"
    """A host approved the request of ``user_id`` to join ``league_id``."""
    JOIN_DECLINED = "join_declined"
    JOIN_EXPIRED = "join_expired"
    """The request of ``user_id`` to join ``league_id`` expired. ``details``: why."""
    TOURNAMENT_OPENED = "tournament_opened"
    """Its registration is open. ``details`` of all tournaments: tournament."""
    TOURNAMENT_PAIRING = "tournament_pairing"
    """``details``: stage, round, its title, and the opponent's agent id or the number of
    entrants."""
    TOURNAMENT_RESULT = "tournament_result"
    """Its result is public. ``details``: as of a pairing, and end or place."""
    TOURNAMENT_PLACE = "tournament_place"
    """The end is public, or a place was corrected after it. ``details``: place, entrants; before:
    the place that was told first; left: withdrawn or disqualified; champion: none, if all left;
    drawn: how many have the best reward."""
    CHANNEL_OFF = "channel_off"
    """A channel of ``user_id`` was switched off. ``details``: form, why."""
    MACHINE_QUARANTINED = "machine_quarantined"
    """A machine is in quarantine; ``user_id`` is an administrator. ``details``: machine."""
    TEAM_INVITED = "team_invited"
    """``user_id`` is invited to ``team_id``."""
    TEAM_JOINED = "team_joined"
    """``user_id`` joined ``team_id``; the others of the team are told."""


class Form(StrEnum):
    """How a notice reaches a person."""

    PAGE = "page"
    """The page of notices, which counts unread ones in the header."""
    MAIL = "mail"
    """Several notices in one mail."""
    WEBHOOK = "webhook"
    """A signed request to the person's address."""
    DISCORD = "discord"
    SLACK = "slack"


Facts = Mapping[str, Any]
"""A row of ``notices_event_view``, and ``counts`` of a notice that gathers events."""

FIELDS: Final = ("league_id", "team_id", "agent_id", "entry_id", "match_id", "scrim_id")


@dataclass(frozen=True, slots=True)
class Words:
    """What a notice says."""

    title: str
    text: str
    path: str
    """Page of the site that shows more."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice or a public event, with the present names."""

    __pydantic_config__ = RECORD
    id: Annotated[str, Field(examples=["not_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    kind: NoticeKind
    title: Annotated[str, Field(examples=["Flood passed its validation"])]
    text: str
    path: Annotated[str, Field(examples=["/agents/age_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    """Page of this site that shows more."""
    league: str | None
    """Title of its league."""
    subject: dict[str, str]
    """Ids of what it is about, such as ``agent_id``."""
    created_at: datetime
    read_at: datetime | None

    @classmethod
    def of_row(cls, row: Facts) -> Self:
        """Reads a row of ``notices_view``, or of ``notices_event_view`` with id and time."""
        kind = NoticeKind(row["kind"])
        words = words_of(kind, row)
        read_at = row.get("read_at")
        return cls(
            row["id"],
            kind,
            words.title,
            words.text,
            words.path,
            row["league_title"],
            {name: row[name] for name in FIELDS if row[name] is not None},
            datetime.fromisoformat(row["created_at"]),
            None if read_at is None else datetime.fromisoformat(read_at),
        )


def words_of(kind: NoticeKind, facts: Facts) -> Words:
    """Returns the words of a notice of this kind."""
    return WORDS[kind](facts)


def _agent(title: str, text: str, *, has_reason: bool = False) -> Callable[[Facts], Words]:
    def make(facts: Facts) -> Words:
        values = {**facts, **facts["details"], "agent_name": facts["agent_name"] or "an agent"}
        why = short_reason(facts["reason"] or "").rstrip(".")
        reason = f" The reason: {why}." if why else ""
        path = f"/agents/{facts['agent_id']}"
        return Words(
            title.format_map(values),
            text.format_map(values) + (reason if has_reason else ""),
            f"{path}?entry={facts['entry_id']}" if facts["entry_id"] else path,
        )

    return make


def _disqualified(facts: Facts) -> Words:
    before, _, why = (facts["reason"] or "").partition(DISQUALIFIED)  # else of another state
    text = "A host of {league_title} disqualified this agent. It plays no matches there, and its"
    return _agent("{agent_name} is disqualified", f"{text} results do not count.", has_reason=True)(
        {**facts, "reason": "" if before else why}
    )


def _league(title: str, text: str, page: str = "") -> Callable[[Facts], Words]:
    def make(facts: Facts) -> Words:
        values = {**facts, **facts["details"], "league_title": facts["league_title"] or "a league"}
        path = f"/leagues/{facts['league_slug']}{page}" if facts["league_slug"] else "/"
        return Words(title.format_map(values), text.format_map(values), path)

    return make


JOIN_EXPIRED: Final = {
    "terms": "The league's terms have changed since you asked",
    "time": "No host answered it in time",
}


def _join_expired(facts: Facts) -> Words:
    why = JOIN_EXPIRED[facts["details"]["why"]]
    text = f"{why}. Read the terms and ask again."
    return _league("Your request to join {league_title} expired", text, "/request")(facts)


def _team(title: str, text: str) -> Callable[[Facts], Words]:
    def make(facts: Facts) -> Words:
        values = {**facts, "person_name": facts["person_name"] or "Somebody"}
        return Words(title.format_map(values), text.format_map(values), "/me")

    return make


def _scrim(facts: Facts) -> Words:
    played = "{finished} of {games} games were played".format_map(facts["details"])
    return Words("A scrim is over", f"{played}.", f"/scrims/{facts['scrim_id']}")


def _batch(facts: Facts) -> Words:
    played = "{finished} of {games} games were played".format_map(facts["details"])
    path = "/scrim-batches/{batch}".format_map(facts["details"])
    return Words("A batch of scrims is over", f"{played}.", path)


VERDICTS: Final = {
    "better": "The new version is better.",
    "not_better": "The new version is not better.",
    "cannot_tell": "It cannot tell whether the new version is better.",
}


def _comparison(facts: Facts) -> Words:
    league = facts["league_title"] or "a league"
    path = "/comparisons/{comparison}".format_map(facts["details"])
    return Words(f"A comparison in {league} is over", VERDICTS[facts["details"]["verdict"]], path)


def _request(title: str, text: str) -> Callable[[Facts], Words]:
    def make(facts: Facts) -> Words:
        values = {name: facts.get(name) or "another team" for name in ("asker_name", "asked_name")}
        values |= {
            "games": facts["details"]["games"],
            "league": facts["league_title"] or "a league",
        }
        path = "/scrim-requests/{request}".format_map(facts["details"])
        return Words(title.format_map(values), text.format_map(values), path)

    return make


def _tournament(make: Callable[[Facts], tuple[str, str]]) -> Callable[[Facts], Words]:
    """Words with the present names; ``make`` returns the patterns of title and text."""

    def make_words(facts: Facts) -> Words:
        values = {
            **facts,
            **facts["details"],
            "agent_name": facts["agent_name"] or "an agent",
            "opponent_name": facts.get("opponent_name") or "an agent",
            "tournament_title": facts.get("tournament_title") or "a tournament",
            "league_title": facts["league_title"] or "a league",
        }
        title, text = make(facts["details"])
        path = "/tournaments/{tournament}".format_map(values)
        return Words(title.format_map(values), text.format_map(values), path)

    return make_words


def _pairing(details: Facts) -> tuple[str, str]:
    if "opponent" in details:
        return "{agent_name} meets {opponent_name}", f"{_round(details)} has begun."
    return "{agent_name} plays a heat of {entrants}", f"{_round(details)} has begun."


def _result(details: Facts) -> tuple[str, str]:
    text = f"{_round(details)}: its page shows the games."
    if "place" in details:
        return "{agent_name} took place {place} of {entrants} in its heat", text
    ends = {"won": "won", "lost": "lost", "drawn": "drew"}
    return f"{{agent_name}} {ends[details['end']]} against {{opponent_name}}", text


def _place(details: Facts) -> tuple[str, str]:
    text = "{tournament_title} in {league_title} is over."
    if "before" in details:
        text += " The places were corrected: this agent had place {before}."
    if "left" in details:
        text += " Agents that were {left} stand behind all that stayed."
    if "champion" in details:
        text += " There is no champion, as all agents left."
    if "drawn" in details:
        text += " {drawn} agents have the best reward. The draw decided their places."
    return "{agent_name} took place {place} of {entrants}", text


def _round(details: Facts) -> str:
    """The round as its page names it."""
    number = f"Round {details['round']}"
    title = details.get("title", number)
    stage = f" of stage {details['stage']}" if details["stage"] > 1 and title == number else ""
    return f"{title}{stage} in {{tournament_title}}"


CHANNEL_OFF: Final = {
    "failures": "ten calls in a row failed",
    "gone": "its address answered that it is gone",
}


def _channel_off(facts: Facts) -> Words:
    form, why = facts["details"]["form"], CHANNEL_OFF[facts["details"]["why"]]
    text = f"Your channel of the form {form} gets no more notices: {why}. Switch it on again there."
    return Words(f"A {form} channel is switched off", text, "/me/notices/settings")


def _machine_quarantined(facts: Facts) -> Words:
    text = (
        f"The machine {facts['details']['machine']} claims no more matches: its plays differ from"
        " those of trusted machines. The page of machines says how, and how to judge its results"
        " again."
    )
    return Words("A machine is in quarantine", text, "/admin/machines")


DIGEST: Final = {
    NoticeKind.JOIN_REQUESTED: ("{} person asks to join", "{} people ask to join"),
    NoticeKind.MEMBER_JOINED: ("{} person joined", "{} people joined"),
    NoticeKind.SEASON_ALARM: (
        "a season finishes no matches as expected",
        "{} alarms say that a season finishes no matches as expected",
    ),
}
"""Parts of the sentence of a digest, for one event and for several."""


def _digest(facts: Facts) -> Words:
    parts = [
        DIGEST[kind][facts["counts"][kind] > 1].format(facts["counts"][kind])
        for kind in DIGEST
        if kind in facts["counts"]
    ]
    text = "; ".join(parts)
    return Words(
        f"News for hosts of {facts['league_title']}",
        f"{text[:1].upper()}{text[1:]}.",
        f"/leagues/{facts['league_slug']}",
    )


KINDS: Final[Mapping[Topic, Mapping[NoticeKind, Callable[[Facts], Words]]]] = {
    Topic.AGENTS: {
        NoticeKind.VALIDATION_PASSED: _agent(
            "{agent_name} passed its validation", "It plays rated matches in {league_title} now."
        ),
        NoticeKind.VALIDATION_FAILED: _agent(
            "{agent_name} failed its validation",
            "It does not play in {league_title}.",
            has_reason=True,
        ),
        NoticeKind.AGENT_PAUSED: _agent(
            "{agent_name} is paused",
            "It plays no matches in {league_title} until its address answers again.",
            has_reason=True,
        ),
        NoticeKind.AGENT_RESUMED: _agent(
            "{agent_name} plays again", "Its address answers. It plays in {league_title} again."
        ),
        NoticeKind.AGENT_RETIRED: _agent(
            "{agent_name} is retired", "It no longer plays in {league_title}.", has_reason=True
        ),
        NoticeKind.AGENT_DISQUALIFIED: _disqualified,
        NoticeKind.AGENT_REINSTATED: _agent(
            "{agent_name} is no longer disqualified",
            "A host of {league_title} undid the disqualification: its results count again.",
        ),
        NoticeKind.FAULTS_IN_ROW: _agent(
            "{agent_name} failed in {faults} matches in a row",
            "It made a fault in each of its last {faults} rated matches in {league_title}. Its logs"
            " tell more.",
        ),
        NoticeKind.SCRIM_FINISHED: _scrim,
        NoticeKind.BATCH_FINISHED: _batch,
        NoticeKind.COMPARISON_FINISHED: _comparison,
        NoticeKind.MEDAL_LIKELY: _league(
            "A {medal} medal is likely",
            "{team_name} would win a {medal} medal in {league_title} now. Later games may change"
            " it.",
        ),
        NoticeKind.MEDAL_SEALED: _league(
            "A {medal} medal is sealed",
            "No game takes the {medal} medal of {team_name} in {league_title} away any more.",
        ),
        NoticeKind.MEDAL_AWARDED: _league(
            "A {medal} medal is won",
            "The final standing of {league_title} awards {team_name} a {medal} medal.",
        ),
        NoticeKind.MEDAL_LOST: _league(
            "A {medal} medal is lost",
            "{team_name} has no {medal} medal in {league_title} any more.",
        ),
    },
    Topic.LEAGUES: {
        NoticeKind.HOST_DIGEST: _digest,
        NoticeKind.SEASON_OPENED: _league(
            "{league_title} is open", "Season {season_number} of {league_title} takes uploads now."
        ),
        NoticeKind.SEASON_LOCKED: _league(
            "Uploads to {league_title} are closed",
            "Season {season_number} of {league_title} takes no more uploads. Its matches go on.",
        ),
        NoticeKind.SEASON_FINISHED: _league(
            "{league_title} is over",
            "Season {season_number} of {league_title} is finished. The leaderboard shows the"
            " result.",
        ),
        NoticeKind.JOIN_APPROVED: _league(
            "You are in {league_title}", "A host of {league_title} approved your request to join."
        ),
        NoticeKind.JOIN_DECLINED: _league(
            "Your request to join {league_title} ended",
            "A host of {league_title} did not approve it. The page shows the answer.",
            "/request",
        ),
        NoticeKind.JOIN_EXPIRED: _join_expired,
    },
    Topic.TOURNAMENTS: {
        NoticeKind.TOURNAMENT_OPENED: _tournament(
            lambda _: (
                "{tournament_title} takes entries",
                "The registration of {tournament_title} in {league_title} is open.",
            )
        ),
        NoticeKind.TOURNAMENT_PAIRING: _tournament(_pairing),
        NoticeKind.TOURNAMENT_RESULT: _tournament(_result),
        NoticeKind.TOURNAMENT_PLACE: _tournament(_place),
    },
    Topic.TEAM: {
        NoticeKind.SCRIM_ASKED: _request(
            "{asker_name} asks for a scrim",
            "{asker_name} wants to play {games} unrated games with your team in {league}. Accept or"
            " decline.",
        ),
        NoticeKind.SCRIM_ACCEPTED: _request(
            "{asked_name} accepted your scrim", "{games} games in {league} are queued."
        ),
        NoticeKind.SCRIM_DECLINED: _request(
            "{asked_name} declined your scrim",
            "The page of the request in {league} shows the answer.",
        ),
        NoticeKind.SCRIM_WITHDRAWN: _request(
            "{asker_name} withdrew a scrim", "You need not answer the request in {league} any more."
        ),
        NoticeKind.SCRIM_EXPIRED: _request(
            "Your request for a scrim expired", "{asked_name} did not answer in {league}."
        ),
        NoticeKind.TEAM_INVITED: _team(
            "{team_name} invites you", "You can join the team {team_name}."
        ),
        NoticeKind.TEAM_JOINED: _team(
            "{person_name} joined {team_name}", "Your team {team_name} has a new member."
        ),
    },
    Topic.INSTANCE: {
        NoticeKind.CHANNEL_OFF: _channel_off,
        NoticeKind.MACHINE_QUARANTINED: _machine_quarantined,
    },
}
"""The words of each kind, by topic. Kinds that a digest gathers have none."""
WORDS: Final = {kind: words for kinds in KINDS.values() for kind, words in kinds.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSubject:
    """What an event is about, by ids. Names are looked up when a notice is shown.

    An entry gives its agent, team and season; a season gives its league. So name only the nearest.
    """

    league_id: LeagueId | None = None
    season_id: SeasonId | None = None
    team_id: TeamId | None = None
    agent_id: AgentId | None = None
    entry_id: EntryId | None = None
    match_id: MatchId | None = None
    scrim_id: ScrimId | None = None
    user_id: UserId | None = None
    """Who acted, or the person whom the event is about. That person is not told, unless the kind is
    for that person alone.
    """
    details: Mapping[str, int | str] | None = None
    """Numbers and keys of enums for the notice's words; never a text that a person typed."""


def record_event(conn: Connection, kind: NoticeKind, about: EventSubject) -> str:
    """Writes an event and the notices of its people; returns the event's id.

    A rolled-back act tells nobody. Never call it once for each match: people get one notice for
    several faults in a row, and one for a scrim.
    """
    return record_events(conn, [(kind, about)])[0]


def record_events(conn: Connection, events: Iterable[tuple[NoticeKind, EventSubject]]) -> list[str]:
    """Writes several events of one act, as ``record_event`` does; returns their ids in order."""
    return fetch(
        conn,
        str,
        """select notices_record(event ->> 'kind', event -> 'about')
        from jsonb_array_elements(%s) with ordinality as events (event, place) order by place""",
        (Jsonb([{"kind": kind.value, "about": _columns(about)} for kind, about in events]),),
    )


def _columns(about: EventSubject) -> dict[str, object]:
    columns = {field.name: getattr(about, field.name) for field in fields(about)}
    return {name: value for name, value in columns.items() if value is not None}
