"""Commands on the leaderboard: leaderboard, seals, declare; and the text form of medal rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from estimates.intervals import half_width
from services.api_client import Client, Json
from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.name_lookup import find_season_id
from services.cli.saved_login import MissingInput, connect

MEDALS_HELP: Final = (
    "Who earns a medal: table (Kaggle's), lines:survivor+100,survivor,500 (least scores of gold, "
    "silver, bronze; a reference agent can name a line), counts:1,2,3 (numbers of teams) or "
    "shares:0.1,0.1,0.2 (shares of the teams)."
)


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
        season = ladder.season(_find_season_id(ladder, league, "leaderboard"))
        rows = list(ladder.leaderboard(season["id"], most=show))
        finality = _finality(ladder, season)
        is_by_score = season["medals"]["kind"] == "lines"
        lines = ladder.leaderboard_head(season["id"])["medal_lines"] if is_by_score else None
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
            " close a host can move the lines (peck league edit LEAGUE --medals)"
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
        league = ladder.league(season["league_id"])
        is_closed = league["state"] == "closed"
        return f"{league['slug']} is closed: it plays no rated matches" if is_closed else None
    board = ladder.leaderboard_head(season["id"])
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


def seals(
    league: Annotated[str | None, typer.Argument(help="League slug, or season id.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the sealed medals of a league's current season, newest first."""
    with connect(needs_token=False) as ladder:
        rows = ladder.seals(_find_season_id(ladder, league, "seals"))
    if as_json:
        print_json(rows)
        return
    table(
        ["team", "medal", "probability", "standing", "sealed", "taken back", "by act"],
        [
            (
                row["team_name"],
                row["medal"],
                f"{row['chance']:.1%}",
                row["version"],
                timestamp_text(row["sealed_at"]),
                timestamp_text(row["unsealed_at"]),
                row["audit_id"],
            )
            for row in rows
        ],
    )


def declare(
    entry: Annotated[
        str | None, typer.Argument(help="Entry id (ent_...), as `peck entries` lists it.")
    ] = None,
    best: Annotated[
        bool, typer.Option("--undeclare", "--best", help="Withdraw it: the rules choose.")
    ] = False,
    league: Annotated[
        str | None, typer.Option("--league", "--season", help="With --undeclare: slug, season id.")
    ] = None,
    team: Annotated[
        str | None, typer.Option(help="With --undeclare: slug, if you are in several teams.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep the entry that represents your team now, until uploads lock."""
    if (entry is None) is not best:
        raise MissingInput("name one entry (see `peck entries`), or use --undeclare")
    with connect() as ladder:
        if entry is not None:
            found = ladder.entry(entry)
            season, whose = found["season_id"], found["team_id"]
        else:
            season, whose = find_season_id(ladder, league), team or _own_team(ladder)
        said = ladder.declare(season, whose, entry)
    if as_json:
        print_json(said)
    else:
        stdout.print(f"your team is ranked by {said['entry_id'] or 'what the service chooses'}")


def _own_team(ladder: Client) -> str:
    """The caller's only team. Raises MissingInput with the names if there are several."""
    teams = ladder.me()["teams"]
    if len(teams) != 1:
        raise MissingInput(f"--team: name one of yours: {', '.join(row['slug'] for row in teams)}")
    only: str = teams[0]["id"]
    return only


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


def parse_medal_rules(text: str) -> Json:
    """The API's form of medal rules. Raises MissingInput if the text has another form."""
    kind, _, numbers = text.partition(":")
    if text == "table":
        return {"kind": kind}
    try:
        gold, silver, bronze = (
            number.strip() if kind == "lines" and number.strip()[:1].isalpha() else float(number)
            for number in numbers.split(",")
        )
    except ValueError:
        raise MissingInput(
            f"--medals {text!r}: write table, or lines, counts or shares with three "
            "numbers, for example lines:survivor+100,survivor,500"
        ) from None
    return {"kind": kind, "gold": gold, "silver": silver, "bronze": bronze}


def medal_rules_text(rules: Mapping[str, Any]) -> str:
    """The text form of medal rules, which ``parse_medal_rules`` reads."""
    if rules["kind"] == "table":
        return "table"
    numbers = ",".join(
        f"{number:g}" if isinstance(number := rules[name], float | int) else number
        for name in ("gold", "silver", "bronze")
    )
    return f"{rules['kind']}:{numbers}"


def register(app: typer.Typer) -> None:
    app.command()(leaderboard)
    app.command()(seals)
    app.command()(declare)
