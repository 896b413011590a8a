"""Commands on uploads: submit, submissions, entries (and status)."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from ladder.fault_reasons import short_reason
from services.api_client import ApiError, Client, Json
from services.cli.bundles import pack
from services.cli.display import (
    AsJson,
    duration_text,
    print_json,
    printable,
    stderr,
    stdout,
    table,
    timestamp_text,
)
from services.cli.name_lookup import FIRST_UPLOAD, find_agent, find_season_id, own_agent, own_agents
from services.cli.saved_login import MissingInput, connect

POLL_SECONDS = 0.5
LINE_SECONDS = 5.0


def submit(
    bundle: Annotated[
        Path | None, typer.Argument(help="main.py, a .tar.gz, .tar or .zip, or a folder.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            help="Submit this address instead of a bundle: the agent answers Battlesnake's "
            "requests there. Put a secret into the path."
        ),
    ] = None,
    api: Annotated[str, typer.Option(help="With --url: Battlesnake's API, 1 or 2017.")] = "1",
    agent: Annotated[str | None, typer.Option(help="Your agent; created if new.")] = None,
    league: Annotated[
        str | None, typer.Option("--league", "--season", help="Slug, or season id.")
    ] = None,
    team: Annotated[
        str | None, typer.Option(help="Slug; required if you are in several teams.")
    ] = None,
    message: Annotated[str, typer.Option("-m", "--message", help="A note for your team.")] = "",
    profile: Annotated[
        str | None,
        typer.Option(
            help="Libraries in the sandbox; see `peck profiles`. Default: as before, else numpy."
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the validation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Submit an agent to a league's current season: upload a bundle, or name the agent's
    address."""
    if (bundle is None) is (url is None):
        raise MissingInput("give a bundle, or the address of a remote agent with --url")
    with contextlib.ExitStack() as stack:
        # Checks the bundle before the first request.
        upload = stack.enter_context(pack(bundle)) if bundle is not None else None
        ladder = stack.enter_context(connect())
        season = find_season_id(ladder, league)
        chosen, is_new = choose_agent(ladder, agent, team, bundle)
        try:
            if upload is not None:
                name, content = upload
                made = ladder.upload(
                    chosen["id"],
                    content,
                    filename=name,
                    season=season,
                    message=message,
                    profile=profile,
                )
            else:
                made = ladder.submit_remote(
                    chosen["id"], url or "", api=api, season=season, message=message
                )
        except ApiError:
            if is_new:
                with contextlib.suppress(ApiError):  # the first error is more important
                    ladder.delete_agent(chosen["id"])
                stderr.print(f"removed the new agent {chosen['name']}: its submission was refused")
            raise
        if wait:
            made["entry"] = wait_for_validation(ladder, made["entry"])
            # A refused upload does not count against the daily limit.
            made["limits"] = ladder.limits(season, made["submission"]["team_id"])
    if as_json:
        print_json(made)
    else:
        print_upload(made, chosen)
        if made["entry"]["state"] == "rejected" and made["entry"]["validation_match_id"]:
            page = f"{ladder.address}/matches/{made['entry']['validation_match_id']}"
            stdout.print(f"reason and logs: {page}")
    if made["entry"]["state"] == "rejected":
        raise typer.Exit(1)


def choose_agent(
    ladder: Client, name: str | None, team: str | None, bundle: Path | None
) -> tuple[Json, bool]:
    """The named agent, else the caller's only one, and whether it was created now."""
    agents = own_agents(ladder)
    if name is None and len(agents) == 1:
        return agents[0], False
    if name is None and agents:
        raise MissingInput(
            f"name one of your agents with --agent: {', '.join(row['slug'] for row in agents)}"
        )
    if name is None and bundle is None:
        raise MissingInput("name a new agent with --agent")
    if name is None:
        assert bundle is not None
        name = bundle.resolve().name if bundle.is_dir() else bundle.resolve().parent.name
    found = find_agent(agents, name)
    if found is not None:
        return found, False
    made = ladder.create_agent(name, team=team)
    stderr.print(f"created agent {made['name']} ({made['id']})")
    return made, True


def wait_for_validation(ladder: Client, entry: Json) -> Json:
    """Waits for the end of the validation. Returns the entry.

    Shows progress on stderr: in place on a terminal. Else it prints a line if the text changed, at
    most one in LINE_SECONDS.
    """
    told_at, told = time.monotonic(), ""
    with stderr.status("waiting for validation") as status:
        while entry["state"] == "pending" or is_being_retried(entry):
            queue, text = entry.get("queue"), ""
            if entry["state"] == "pending" and entry["reason"]:
                text = f"validation: {entry['reason']}"
            elif queue is not None:
                text = f"validation: {queue_text(queue)}"
            if text:
                status.update(printable(text))
            is_due = time.monotonic() - told_at >= LINE_SECONDS
            if text not in ("", told) and is_due and not stderr.is_terminal:
                stderr.print(text)
                told_at, told = time.monotonic(), text
            time.sleep(POLL_SECONDS)
            entry = ladder.entry(entry["id"])
    return entry


def queue_text(queue: Json) -> str:
    """Place in the queue or time since the match began, and the wait if it is known."""
    is_estimated = queue["eta_seconds"] is not None
    wait = f", about {duration_text(queue['eta_seconds'])} to go" if is_estimated else ""
    if queue["playing_seconds"] is not None:
        is_known = queue.get("step") is not None
        step = f" step {queue['step']} of at most {queue['most_steps']}" if is_known else ""
        return f"playing{step} for {duration_text(queue['playing_seconds'])}{wait}"
    before = queue["position"]  # matches that are played earlier
    place = f"place {before + 1} in the queue" if before else "next in the queue"
    return f"{place}{wait}"


def is_being_retried(entry: Json) -> bool:
    """Whether a paused entry is being validated, or waits for it: then no next try is set."""
    return _is_unreachable(entry) and entry["next_try_at"] is None


def _is_unreachable(entry: Json) -> bool:
    """Whether it is paused until its agent answers. An older site names no cause."""
    return entry["state"] == "paused" and entry.get("pause_cause") != "team_blocked"


def print_upload(made: Json, agent: Json) -> None:
    submission, entry, limits = made["submission"], made["entry"], made["limits"]
    stdout.print(
        f"version {submission['version']} of {agent['name']}: submission {submission['number']},"
        f" {submission['id']}"
    )
    stdout.print(f"entry {entry['id']}: {state_text(entry)}")
    stdout.print(
        f"uploads today: {limits['used']} used, {limits['left']} left, "
        f"reset at {timestamp_text(limits['resets_at'])} UTC"
    )


def state_text(entry: Json) -> str:
    """State with the reason, the place in the queue, or the time of the next try.

    Shortens the reason of a failed validation only: other reasons can be words of a host.
    """
    if _is_unreachable(entry) and entry["reason"]:
        when = "a new try is under way"
        if entry["next_try_at"]:
            when = f"next try at {timestamp_text(entry['next_try_at'])} UTC, or with `peck resume`"
        return f"paused: {entry['reason']}; {when}"
    if entry["reason"]:
        is_short = entry["state"] == "rejected"
        return f"{entry['state']}: {short_reason(entry['reason']) if is_short else entry['reason']}"
    queue = entry.get("queue")
    if queue is not None:
        return f"{entry['state']}, {queue_text(queue)}"
    return str(entry["state"])


def hint_at_whole_reasons(entries: Iterable[Json]) -> None:
    """Says which command prints the whole reason if the text of an entry has less."""
    rejected = [row for row in entries if row["state"] == "rejected" and row["reason"]]
    if any(short_reason(row["reason"]) != row["reason"] for row in rejected):
        stderr.print("`peck entries ENTRY --json` prints the whole reason of a rejection")


def submissions(
    agent: Annotated[str | None, typer.Option(help="List only this agent's submissions.")] = None,
    as_json: AsJson = False,
) -> None:
    """List your submissions, newest first."""
    with connect() as ladder:
        chosen = [own_agent(ladder, agent)] if agent else own_agents(ladder)
        rows = [(row, one) for one in chosen for row in ladder.submissions(one["id"])]
        entries = {
            entry["submission_id"]: entry
            for one in reversed(chosen)
            for entry in ladder.entries(agent=one["id"])
        }
    rows.sort(key=lambda pair: pair[0]["id"], reverse=True)
    if as_json:
        print_json([{**row, "entry": entries.get(row["id"])} for row, _ in rows])
        return
    table(
        ["number", "id", "agent", "version", "file", "date", "message", "status", "score"],
        [
            (
                row["number"],
                row["id"],
                one["name"],
                row["version"],
                row["url"] or row["filename"],
                timestamp_text(row["created_at"]),
                row["message"],
                state_text(entries[row["id"]]) if row["id"] in entries else "not entered",
                entries[row["id"]]["mu"] if row["id"] in entries else None,
            )
            for row, one in rows
        ],
        FIRST_UPLOAD,
    )
    hint_at_whole_reasons(entries[row["id"]] for row, _ in rows if row["id"] in entries)


def entries(
    entry: Annotated[
        str | None, typer.Argument(help="Entry id; default: all your entries.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show your entries: state, reason, place in the queue, games."""
    with connect() as ladder:
        if entry is not None:
            rows = [ladder.entry(entry)]
        else:
            rows = [row for one in own_agents(ladder) for row in ladder.entries(agent=one["id"])]
        where = {} if as_json else league_names_by_season(ladder, rows)
    if as_json:
        print_json(rows)
        return
    table(
        ["entry", "league", "agent", "version", "state", "rating", "games", "last match"],
        [
            (
                row["id"],
                where[row["season_id"]],
                row["agent_name"] + " (remote)" * row["remote"],
                row["version"],
                state_text(row),
                row["mu"],
                row["games"],
                timestamp_text(row["last_match_at"]),
            )
            for row in rows
        ],
        FIRST_UPLOAD,
    )
    hint_at_whole_reasons(rows)


def league_names_by_season(ladder: Client, rows: list[Json]) -> dict[str, str]:
    """The league's slug by season id, with the season's number if rows have several of a league."""
    slugs = {row["id"]: row["slug"] for row in ladder.leagues()} if rows else {}
    leagues = {row["season_id"]: row["league_id"] for row in rows}
    of_league = Counter(leagues.values())
    found = {}
    for season, league in leagues.items():
        number = f", season {ladder.season(season)['number']}" if of_league[league] > 1 else ""
        found[season] = slugs.get(league, league) + number
    return found


def resume(
    entry: Annotated[
        str | None, typer.Argument(help="Entry id (ent_...); default: your only paused entry.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end of the try.")] = False,
    as_json: AsJson = False,
) -> None:
    """Try a paused entry now: a remote agent that did not answer and answers again."""
    with connect() as ladder:
        if entry is None:
            own = [row for one in own_agents(ladder) for row in ladder.entries(agent=one["id"])]
            paused = [row["id"] for row in own if row["state"] == "paused"]
            if len(paused) != 1:
                raise MissingInput(
                    f"name the entry to resume; paused entries: {', '.join(paused) or 'none'}"
                )
            (entry,) = paused
        found = ladder.resume(entry)
        if wait:
            found = wait_for_validation(ladder, found)
    if as_json:
        print_json(found)
    else:
        stdout.print(f"entry {found['id']}: {state_text(found)}")
    if wait and found["state"] == "paused":
        raise typer.Exit(1)


def profiles(as_json: AsJson = False) -> None:
    """List runtime profiles: libraries, versions, and whether a node serves them now."""
    with connect(needs_token=False) as ladder:
        rows = ladder.profiles()
    if as_json:
        print_json(rows)
        return
    table(
        ["profile", "for", "python", "gpu", "served now", "libraries"],
        [
            (
                row["name"],
                row["purpose"],
                row["python"],
                "yes" if row["gpu"] else "no",
                "yes" if row["served"] else "no",
                ", ".join(f"{name} {version}" for name, version in row["libraries"].items()),
            )
            for row in rows
        ],
    )


def register(app: typer.Typer) -> None:
    app.command()(submit)
    app.command()(resume)
    app.command()(profiles)
    app.command()(submissions)
    app.command("entries")(entries)
    app.command("status", hidden=True)(entries)
