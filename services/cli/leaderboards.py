"""The command that shows the leaderboard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from estimates.intervals import half_width
from services.api_client import Client, Json
from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.name_lookup import find_season_id
from services.cli.saved_login import connect


def leaderboard(
    league: Annotated[str | None, typer.Argument(help="League slug, or season id.")] = None,
    show: Annotated[int, typer.Option("-n", "--show", min=1, help="Rows to show.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the leaderboard of a league's current season.

    Rank, score and medal are official: computed from all results of the season. "+-" is half of the
    score's 95 % interval. "live" moves with each match. A medal shows its state (likely, sealed or
    awarded) and the probability that this medal or a better one is deserved. If matches have one
    seat, the game's own measures decide rank and medal; each has its 95 % interval.
    """
    with connect(needs_token=False) as ladder:
        season = ladder.get(f"/v1/seasons/{_find_season_id(ladder, league, 'leaderboard')}")
        rows = list(
            ladder.list_items(
                f"/v1/seasons/{season['id']}/leaderboard", most=show, limit=min(show, 1000)
            )
        )
        finality = _finality(ladder, season)
        is_by_score = season["medals"]["kind"] == "lines"
        lines = (
            ladder.get(f"/v1/seasons/{season['id']}/leaderboard", limit=1)["medal_lines"]
            if is_by_score
            else None
        )
    if as_json:
        print_json(rows)
        return
    if finality:
        stdout.print(finality)
    if rows and rows[0]["estimates"]:
        _show_solo_board(rows)
        return
    table(
        ["rank", "95 %", "team", "agent", "score", "+-", "live", "games", "last match", "medal"],
        [
            (
                row["rank"],
                _rank_interval(row),
                row["team_name"],
                _agent_text(row),
                *_score_and_margin(row),
                row["games"],
                timestamp_text(row["last_match_at"]),
                _medal_text(row),
            )
            for row in rows
        ],
    )
    if lines is not None:
        for line in medal_line_texts(lines, is_finished=season["state"] == "finished"):
            stdout.print(line)


def medal_line_texts(lines: Json, *, is_finished: bool) -> Iterator[str]:
    """Where the medal lines are, and a warning if no team is near one."""
    shown = [
        f"{line['medal']} from {line['score']:.1f}{' = ' if line['agent'] else ''}{line['agent']}"
        for line in lines["lines"]
    ]
    yield f"medals by score: {', '.join(shown)}"
    if lines["is_out_of_reach"] and not is_finished:
        yield (
            f"no team is near a medal: the best score is {lines['best_score']:.1f}; until uploads"
            " close a host can move the lines (peck season set LEAGUE medals=lines:...)"
        )


def _score_and_margin(row: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Score, half of its 95 % interval, and live score; None without a game."""
    if row["official"] is None and not row["games"]:
        return None, None, None
    shown = row["official"] or row
    return shown["score"], half_width(shown["sigma"]), row["score"]


def _finality(ladder: Client, season: Json) -> str | None:
    """Whether the standing of a finished season is final, or that the league is closed; None while
    the season plays.
    """
    if season["state"] != "finished":
        league = ladder.get(f"/v1/leagues/{season['league_id']}")
        is_closed = league["state"] == "closed"
        return f"{league['slug']} is closed: it plays no rated matches" if is_closed else None
    board = ladder.get(f"/v1/seasons/{season['id']}/leaderboard", limit=1)
    fitted, done = board["fitted"], f"season {season['number']} is finished"
    results = 0 if board["measures"] else board["accepted_no"]
    if results and (fitted is None or fitted["log_no"] < results):
        return f"{done}; the service still computes its final standing"
    return f"{done}; this standing is final"


def _find_season_id(ladder: Client, league: str | None, verb: str) -> str:
    return find_season_id(ladder, league, f"(peck {verb} LEAGUE)")


def _agent_text(row: Mapping[str, Any]) -> str:
    """The agent's name, with a mark if it is remote or paused."""
    told = ["remote"] * row["remote"] + ["paused"] * row["paused"]
    return f"{row['agent_name']} ({', '.join(told)})" if told else str(row["agent_name"])


def _show_solo_board(rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints the leaderboard of a season with one seat."""
    titles = [one["title"].lower() for one in rows[0]["estimates"]]
    table(
        ["rank", "team", "agent", *titles, "games", "last match", "medal"],
        [
            (
                row["rank"],
                row["team_name"],
                row["agent_name"],
                *(estimate_text(one) for one in row["estimates"]),
                row["games"],
                timestamp_text(row["last_match_at"]),
                _medal_text(row),
            )
            for row in rows
        ],
    )


def _rank_interval(row: Mapping[str, Any]) -> str | None:
    """The interval of the rank, if it has one."""
    if row["rank"] is None or row["official"] is None:
        return None
    low, high = row["official"]["rank_low"], row["official"]["rank_high"]
    return str(low) if low == high else f"{low}-{high}"


def estimate_text(one: Mapping[str, Any]) -> str | None:
    """A measure and its interval: ``87.5% (79.1-92.9)``."""
    if one["value"] is None:
        return None
    by, unit = (100, "%") if one["kind"] == "share" else (1, "")
    shown = f"{by * one['value']:.1f}{unit}"
    if one["low"] is None:
        return shown
    return f"{shown} ({by * one['low']:.1f}-{by * one['high']:.1f})"


def _medal_text(row: Mapping[str, Any]) -> str | None:
    if row["medal"] is None:
        return "anchor" if row["is_anchor"] else None
    if row["status"] == "sealed":
        return f"{row['medal']} (sealed)"
    odds = "" if row["chance"] is None else f" {row['chance']:.0%}"
    return f"{row['medal']} ({row['status']}{odds})"


def register(app: typer.Typer) -> None:
    app.command()(leaderboard)
