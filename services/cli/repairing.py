"""Verbs of hosts when a season went wrong: disqualify, reinstate, audits."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.choosing import season_key, slug_of
from services.cli.display import AsJson, moment, out, print_json, table
from services.cli.places import Unset, connect
from services.client import Client, Json

Subject = Annotated[
    str, typer.Argument(help="Agent by name; or the id of an entry, an agent or a team.")
]
Reason = Annotated[str, typer.Option(help="One sentence, kept in the audit log.")]
League = Annotated[str | None, typer.Option(help="League slug, or season id.")]


def disqualify(
    subject: Subject, reason: Reason, league: League = None, as_json: AsJson = False
) -> None:
    """Take an entry, or all of an agent or a team, out of a season.

    The official standing is fitted as if it had never played; matches stay, and so do the live
    ratings of others. An agent or team enters nothing more in the season.
    """
    with connect() as ladder:
        season = season_key(ladder, league)
        done = ladder.disqualify(season, subject_id(ladder, season, subject), reason)
    told(done, "disqualified", as_json)


def reinstate(
    subject: Subject, reason: Reason, league: League = None, as_json: AsJson = False
) -> None:
    """Undo a disqualification: the results count again, and what was active plays again."""
    with connect() as ladder:
        season = season_key(ladder, league)
        done = ladder.reinstate(season, subject_id(ladder, season, subject), reason)
    told(done, "reinstated", as_json)


def audits(
    league: Annotated[str, typer.Argument(help="League slug or id.")],
    show: Annotated[int, typer.Option("-n", "--show", min=1, help="Rows to show.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show what hosts did to a league beyond the course of play, and why; newest first."""
    with connect() as ladder:
        rows = list(ladder.audits(league, most=show))
    if as_json:
        print_json(rows)
        return
    table(
        ["when", "who", "act", "subject", "reason"],
        [
            (
                moment(row["created_at"]),
                row["by_name"] or "operator",
                row["act"],
                row["subject"],
                row["reason"],
            )
            for row in rows
        ],
    )


def subject_id(ladder: Client, season: str, name: str) -> str:
    """The id as given, or of the agent of this name in the season. Raises Unset."""
    if name.startswith(("ent_", "age_", "tea_")):
        return name
    wanted = slug_of(name)
    found = {
        row["agent_id"]
        for row in ladder.entries(season=season)
        if slug_of(row["agent_name"]) == wanted
    }
    if len(found) == 1:
        return str(found.pop())
    several = "several teams have" if found else "the season has no"
    raise Unset(f"{several} agent {name!r}; give an id (ent_, age_ or tea_)")


def told(done: Json, what: str, as_json: bool) -> None:
    if as_json:
        print_json(done)
        return
    count = len(done["entries"])
    out.print(f"{what}: {done['subject']}, {count} {'entry' if count == 1 else 'entries'}")
    out.print("The official standing is fitted anew within seconds.")


def register(app: typer.Typer) -> None:
    for verb in (disqualify, reinstate, audits):
        app.command()(verb)
