"""Moderation commands of hosts: disqualify, reinstate, rejudge, audits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from ladder.slugs import is_named
from services.api_client import Client, Json
from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.leaderboards import estimate_text
from services.cli.name_lookup import find_season_id
from services.cli.saved_login import MissingInput, connect

ENDS: Final = {
    "void": "; no match could be played, all old results count",
    "cancelled": "; cancelled, the other matches keep their old results",
}
Subject = Annotated[
    str, typer.Argument(help="Name of an agent, or id of an entry, an agent or a team.")
]
Reason = Annotated[str, typer.Option(help="One sentence for the audit log.")]
League = Annotated[str | None, typer.Option(help="League slug, or season id.")]


def disqualify(
    subject: Subject, reason: Reason, league: League = None, as_json: AsJson = False
) -> None:
    """Take an entry, or all of an agent or a team, out of a season.

    The official standing ignores its results. Matches and the live ratings of others do not change.
    A disqualified agent or team can enter nothing more in the season.
    """
    with connect() as ladder:
        season = find_season_id(ladder, league)
        done = ladder.disqualify(season, subject_id(ladder, season, subject), reason)
    print_disqualification(done, "disqualified", as_json)


def reinstate(
    subject: Subject, reason: Reason, league: League = None, as_json: AsJson = False
) -> None:
    """Undo a disqualification: the results count again, and active entries play again.

    Entries under another disqualification of the entry, its agent or its team stay out.
    """
    with connect() as ladder:
        season = find_season_id(ladder, league)
        done = ladder.reinstate(season, subject_id(ladder, season, subject), reason)
    print_disqualification(done, "reinstated", as_json)


def rejudge(
    league: League = None,
    worker: Annotated[str | None, typer.Option(help="Worker that reported the result.")] = None,
    node: Annotated[str | None, typer.Option(help="Node that played the match.")] = None,
    machine: Annotated[
        str | None, typer.Option(help="Machine that joined and played the match: name or id.")
    ] = None,
    image: Annotated[str | None, typer.Option(help="Digest of the sandbox image.")] = None,
    rules: Annotated[str | None, typer.Option(help="Digest of the game's rules.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Finished at this time or later, with a time zone.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Finished before this time.")] = None,
    agent: Annotated[str | None, typer.Option(help="Agent in the match: name or id.")] = None,
    verdict: Annotated[str | None, typer.Option(help="DONE, ERROR, INVALID or TIMEOUT.")] = None,
    fault: Annotated[str | None, typer.Option(help="agent, worker, host or game.")] = None,
    reason: Annotated[
        str | None, typer.Option(help="With --apply: one sentence for the audit log.")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Judge the matches again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge matches again that have something in common. Without --apply, show a preview.

    The preview lists the matches. It shows how official scores, ranks and medals would differ
    without their results. With --apply the matches are played again with their lineups and seeds, a
    few at a time. Each new result replaces the old one.
    """
    if apply and reason is None:
        raise MissingInput("give a --reason for the audit log")
    with connect() as ladder:
        season = find_season_id(ladder, league)
        predicate = {
            "worker": worker,
            "node": node,
            "machine": machine,
            "image_digest": image,
            "rules_digest": rules,
            "since": since,
            "until": until,
            "agent": None if agent is None else subject_id(ladder, season, agent),
            "verdict": verdict,
            "fault": fault,
        }
        if reason is not None and apply:
            made = ladder.rejudge(season, reason, **predicate)
        else:
            made = ladder.preview_rejudgement(season, **predicate)
    if as_json:
        print_json(made)
    elif apply:
        print_progress(made)
    else:
        print_preview(made)


def rejudgement(
    key: Annotated[str, typer.Argument(help="Id (rej_...) that `peck rejudge` printed.")],
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel the rejudgement.")] = False,
    reason: Annotated[
        str | None, typer.Option(help="With --cancel: one sentence for the audit log.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the progress of a rejudgement, or cancel it with --cancel.

    After a cancellation, matches not played again keep their old results. Medals can be sealed
    again.
    """
    if cancel and reason is None:
        raise MissingInput("give a --reason for the audit log")
    with connect() as ladder:
        if reason is not None and cancel:
            found = ladder.cancel_rejudgement(key, reason)
        else:
            found = ladder.rejudgement(key)
    if as_json:
        print_json(found)
    else:
        print_progress(found)


def audits(
    league: Annotated[str, typer.Argument(help="League slug or id.")],
    show: Annotated[int, typer.Option("-n", "--show", min=1, help="Rows to show.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List moderation acts of a league's hosts with their reasons, newest first."""
    with connect() as ladder:
        rows = list(ladder.audits(league, most=show))
    if as_json:
        print_json(rows)
        return
    table(
        ["when", "who", "act", "subject", "reason"],
        [
            (
                timestamp_text(row["created_at"]),
                row["by_name"] or "operator",
                row["act"],
                row["subject"],
                row["reason"],
            )
            for row in rows
        ],
    )


def subject_id(ladder: Client, season: str, name: str) -> str:
    """The given id, or the id of the agent with this name in the season. Raises MissingInput."""
    if name.startswith(("ent_", "age_", "tea_")):
        return name
    found = {
        row["agent_id"]
        for row in ladder.entries(season=season)
        if is_named(row["agent_name"], name)
    }
    if len(found) == 1:
        return str(found.pop())
    several = "several teams have" if found else "the season has no"
    raise MissingInput(f"give an id (ent_, age_ or tea_): {several} agent {name!r}")


def print_preview(seen: Json) -> None:
    table(
        ["match", "finished", "node", "worker"],
        [
            (row["match_id"], timestamp_text(row["finished_at"]), row["node"], row["worker"])
            for row in seen["matches"]
        ],
    )
    stdout.print(f"{seen['total']} would be judged again")
    titles = [one["title"].lower() for one in seen["measures"]]
    if not titles and seen["version"] is None:
        stdout.print("There is no official standing yet to compare with.")
        return
    standing = (
        "the leaderboard" if titles else f"version {seen['version']} of the official standing"
    )
    stdout.print(f"Without their results, compared with {standing}:")
    compared = [name for title in titles or ["score"] for name in (title, "without")]
    table(
        ["team", "agent", "rank", "without", *compared, "medal", "without"],
        [comparison_row(row, len(titles)) for row in seen["changes"]],
    )
    stdout.print("Nothing was changed. Add --apply and --reason to judge the matches again.")


def comparison_row(row: Mapping[str, Any], measures: int) -> tuple[object, ...]:
    """One line of the comparison."""
    sides = row["before"] or {}, row["after"] or {}
    name = (row["after"] or row["before"])["agent_name"]

    def said(side: Mapping[str, Any]) -> list[object]:
        if not measures:
            return [side.get("score")]
        return [estimate_text(one) for one in side["estimates"]] if side else [None] * measures

    told = [[side.get("rank"), *said(side), side.get("medal")] for side in sides]
    return (row["team_name"], name, *(value for pair in zip(*told, strict=True) for value in pair))


def print_progress(found: Json) -> None:
    counts = ", ".join(
        f"{found[what]} {word}"
        for what, word in (
            ("under_way", "under way"),
            ("waiting", "waiting"),
            ("void", "void"),
            ("refused", "not queued"),
        )
        if found[what]
    )
    rest = f" ({counts})" if counts else ""
    end = ENDS.get(found["state"], "")
    stdout.print(f"{found['id']}: {found['done']} of {found['total']} judged again{rest}{end}")


def print_disqualification(done: Json, what: str, as_json: bool) -> None:
    if as_json:
        print_json(done)
        return
    count = len(done["entries"])
    stdout.print(f"{what}: {done['subject']}, {count} {'entry' if count == 1 else 'entries'}")
    stdout.print("The official standing changes within seconds.")


def register(app: typer.Typer) -> None:
    for verb in (disqualify, reinstate, rejudge, rejudgement, audits):
        app.command()(verb)
