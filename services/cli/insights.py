"""Commands that show data: watch, insights, feed."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from typing import Annotated, Final

import typer

from estimates.intervals import half_width
from services.api_client import NO_SITE, ApiError, Client, Json, Unreachable
from services.cli.display import (
    AsJson,
    duration_text,
    print_json,
    print_nothing,
    stdout,
    table,
    timestamp_text,
)
from services.cli.leaderboards import estimate_text
from services.cli.name_lookup import (
    find_season_id,
    named_agents,
    next_after,
    own_agent,
    own_agents,
)
from services.cli.saved_login import MissingInput, connect

AGAIN_SECONDS: Final = 3.0
"""Pause before the feed's stream is read again."""


def watch(
    league: Annotated[str | None, typer.Argument(help="League slug, or season id.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show whether matches of a league finish as often as expected, and if not, why.

    Says first if the season is finished, or the league is paused or closed.

    Exits with 1 during an alarm, or if too few agents take part to fill a match.
    """
    with connect(needs_token=False) as ladder:
        season = ladder.get(f"/v1/seasons/{find_season_id(ladder, league, '(peck watch LEAGUE)')}")
        watched = ladder.get(f"/v1/leagues/{season['league_id']}")
        pulse = ladder.get(f"/v1/seasons/{season['id']}/health")
    alarm, lacking = pulse["alarm"], pulse["lacking"]
    if as_json:
        print_json({**pulse, "season_state": season["state"], "league_state": watched["state"]})
    else:
        _print_pace(season, watched, pulse)
        if alarm is not None:
            stdout.print(f"alarm ({alarm['cause']}): {alarm['reason']}")
        if alarm is not None and alarm["detail"]:
            stdout.print(f"to do: {alarm['detail']}")
        if lacking is not None:
            stdout.print(f"cannot play: {lacking}")
    if alarm is not None or lacking is not None:
        raise typer.Exit(1)


def _print_pace(season: Json, league: Json, pulse: Json) -> None:
    """Prints whether the season plays, and when its last match was."""
    last = "no match yet"
    if pulse["last_match_at"]:
        ago = duration_text(pulse["silent_seconds"])
        last = f"last match {timestamp_text(pulse['last_match_at'])}, {ago} ago"
    if season["state"] == "finished":
        stdout.print(f"season {season['number']} of {league['slug']} is finished; {last}")
        stdout.print(f"standing: peck leaderboard {season['id']}")
    elif league["state"] == "closed":
        stdout.print(f"{league['slug']} is closed: it plays no rated matches; {last}")
        stdout.print(f"a new season opens it again: peck season create {league['slug']}")
    elif league["state"] != "open":
        stdout.print(f"{league['slug']} is {league['state']}: it pairs no new rated matches")
        stdout.print(f"{last}; a host continues with: peck league set {league['slug']} state=open")
    else:
        stdout.print(f"{last}; expected: one every {duration_text(pulse['expected_seconds'])}")


def insights(
    agent: Annotated[
        str | None,
        typer.Argument(help="Entry id, or one of your agents; default: your only agent."),
    ] = None,
    within: Annotated[
        float, typer.Option(min=1, max=1000, help="Wanted precision of the score, in points.")
    ] = 25.0,
    as_json: AsJson = False,
) -> None:
    """Show an entry's statistics: standing, prospects, opponents, seats, upsets, times.

    For an agent, shows its newest entry that plays. Expected shares use the present scores.
    """
    with connect(needs_token=agent is None or not agent.startswith("ent_")) as ladder:
        entry = ladder.get(f"/v1/entries/{_find_entry_id(ladder, agent)}")
        found = ladder.get(f"/v1/entries/{entry['id']}/insights", within=within)
    if as_json:
        print_json(found)
        return
    stdout.print(f"{entry['agent_name']}, version {entry['version']}, {entry['state']}")
    for line in _prospect_sentences(found):
        stdout.print(line)
    if not found["games"] or found["estimates"]:
        return  # a match with one seat has no opponents
    stdout.print()
    table(
        ["against", "duels", "left out", "expected", "actual"],
        map(_share_row, found["strengths"].items()),
    )
    stdout.print()
    table(
        ["seat", "games", "mean place", "duels", "left out", "expected", "actual"],
        [
            (
                *(row["seat"] + 1, row["games"], row["mean_placement"]),
                *_share_row(("", row["share"]))[1:],
            )
            for row in found["seats"]
        ],
    )
    if left_out := sum(share["with_fault"] for share in found["strengths"].values()):
        stdout.print(
            f"duels with a fault of either agent: {left_out}; expected and actual leave them out;"
            " games, mean place and opponents count them"
        )
    stdout.print()
    table(
        ["opponent", "team", "games", "better", "tied", "worse", "reward"],
        [
            (
                *(row["agent_name"], row["team_name"], row["games"]),
                *(row["better"], row["tied"], row["worse"], row["reward_difference"]),
            )
            for row in found["opponents"]
        ],
    )
    upsets = [("won", row) for row in found["upsets_won"]]
    upsets += [("lost", row) for row in found["upsets_lost"]]
    if upsets:
        stdout.print()
        table(
            ["upset", "against", "chance", "match"],
            [
                (which, row["agent_name"], _percent(row["expected"]), row["match_id"])
                for which, row in upsets
            ],
        )


def _find_entry_id(ladder: Client, name: str | None) -> str:
    """The given entry id, else the newest entry of the agent that plays."""
    if name is not None and name.startswith("ent_"):
        return name
    agents = own_agents(ladder)
    if name is None and len(agents) != 1:
        raise MissingInput(named_agents(agents), next_after(agents))
    agent = agents[0] if name is None else own_agent(ladder, name)
    rows = list(ladder.list_items("/v1/entries", agent=agent["id"]))
    if not rows:
        raise MissingInput(
            f"submit {agent['name']} with `peck submit` first: it is in no league yet"
        )
    order = ("active", "paused", "pending", "retired", "rejected")
    return str(min(rows, key=lambda row: order.index(row["state"]))["id"])


def _games_left_text(found: Json) -> str:
    """How many games the score still needs for the wanted precision."""
    left, within = found["games_left"], f"{found['within']:g}"
    if left is None:
        return f"more games will not bring the score to +-{within}"
    if not left:
        return f"the score is precise to +-{within}"
    hours = "" if found["hours_left"] is None else f", about {found['hours_left']:.1f} h"
    return f"{left} games until the score is precise to +-{within}{hours}"


def _prospect_sentences(found: Json) -> list[str]:
    """Standing, chances, games left, pace and times, each as one sentence."""
    lines = []
    place = found["official"]
    if place is not None:
        gold, silver, bronze = (_percent(chance) for chance in place["chances"])
        lines.append(
            f"official score {place['score']:.0f} +- {half_width(place['sigma']):.0f}, rank "
            f"{place['rank_low']} to {place['rank_high']} (95 %); gold {gold}, silver or better "
            f"{silver}, any medal {bronze}"
        )
    if found["first_match_seconds"] is not None:
        lines.append(
            f"first rated match ends in about {duration_text(found['first_match_seconds'])}"
        )
    lines += [
        f"{one['title'].lower()}: {estimate_text(one) or 'not yet'}" for one in found["estimates"]
    ]
    if not found["estimates"]:
        lines.append(_games_left_text(found))
    pace = found["pace"]
    each = "" if pace["games_an_hour"] is None else f", {pace['games_an_hour']:.1f} for each agent"
    span = duration_text(pace["measured_seconds"])
    lines.append(f"pace: {pace['matches_an_hour']:.0f} matches an hour{each}, by the last {span}")
    verdicts = ", ".join(f"{count} {name}" for name, count in sorted(found["verdicts"].items()))
    lines.append(f"last {found['games']} games: {verdicts or 'none'}")
    times = found["times"]
    if times is not None:
        slowest = times["slowest_move_max_seconds"]
        lines.append(
            f"charged a match: median {times['match_median_seconds']:.2f} s, 99 in 100 below "
            f"{times['match_p99_seconds']:.2f} s; slowest move: median "
            f"{times['slowest_move_median_seconds']:.3f} s, 99 in 100 below "
            f"{times['slowest_move_p99_seconds']:.3f} s, ever "
            f"{slowest:.3f} s of {times['act_seconds']:g} s"
        )
    return lines


def _share_row(row: tuple[str, Json]) -> tuple[str, int, int, str | None, str | None]:
    name, share = row
    counts = name, share["duels"], share["with_fault"]
    if not share["duels"]:
        return *counts, None, None
    return *counts, _percent(share["expected"]), _percent(share["actual"])


def _percent(share: float) -> str:
    return f"{share:.0%}"


def feed(
    show: Annotated[int, typer.Option("-n", "--show", min=1, help="Items to show.")] = 20,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep running and show new items.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show your feed: your notices, and rated results and corrections of your teams.

    Newest last. With --follow and --json each item is one line.
    """
    with connect() as ladder:
        items = list(ladder.list_items("/v1/me/feed", most=show, limit=min(show, 200)))
        items.reverse()
        if as_json and not follow:
            print_json(items)
            return
        for item in items:
            _print_item(item, as_json)
        if not items and not follow:
            print_nothing(next_after(own_agents(ladder)))
        if follow:
            try:
                for item in follow_feed(ladder, items[-1]["key"] if items else None):
                    _print_item(item, as_json)
            except KeyboardInterrupt:
                pass


def follow_feed(ladder: Client, after: str | None = None) -> Iterator[Json]:
    """Yields new items of the feed, or the items after this key, without end. Reconnects after the
    stream ends or breaks, or while the site does not answer, without losing items."""
    while True:
        pause = AGAIN_SECONDS
        try:
            for key, data in ladder.events("/v1/me/feed/stream", after=after):
                after = key
                yield json.loads(data)
        except ApiError as error:
            if error.status not in NO_SITE:
                begin_at = error.problem.get("begin_at")
                if after is None or begin_at is None:
                    raise
                yield from _items_between(ladder, after, begin_at)
                after = begin_at
                continue
        except Unreachable:
            pass
        time.sleep(pause)


def _items_between(ladder: Client, after: str, until: str) -> list[Json]:
    """Items of the feed after ``after`` up to ``until``, oldest first."""
    items = itertools.takewhile(
        lambda item: item["key"] > after, ladder.list_items("/v1/me/feed", limit=200)
    )
    return [item for item in items if item["key"] <= until][::-1]


def _print_item(item: Json, as_json: bool) -> None:
    if as_json:
        print(json.dumps(item), flush=True)
    else:
        words = f"{item['title']}. {item['text']}".strip()
        stdout.print(f"{timestamp_text(item['at'])}  {item['league'] or ''}  {words}")


def register(app: typer.Typer) -> None:
    app.command()(watch)
    app.command()(insights)
    app.command()(feed)
