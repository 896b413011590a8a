"""Commands on agents and uploads: submit, submissions, entries, agent."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ladder.fault_reasons import short_reason
from sandbox.box.bundle_manifest import MANIFEST_FILE, ContractError, read_manifest
from sandbox.match.bundle_packing import BundleError, bundle_file_names, prepare_bundle
from services.api_client import ApiError, Client, Json
from services.cli.display import (
    AsJson,
    ProgressLine,
    duration_text,
    print_json,
    show_list,
    stderr,
    stdout,
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
            help="Libraries in the sandbox, from `peck api list-profiles`; default: as before, else"
            " numpy."
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
                    f"/v1/agents/{chosen['id']}/submissions",
                    content,
                    filename=name,
                    season=season,
                    message=message,
                    profile=profile,
                )
            else:
                made = ladder.post(
                    f"/v1/agents/{chosen['id']}/remotes?season={season}",
                    {"url": url or "", "api": api, "message": message},
                )
        except ApiError:
            if is_new:
                with contextlib.suppress(ApiError):  # the first error is more important
                    ladder.delete(f"/v1/agents/{chosen['id']}")
                stderr.print(f"removed the new agent {chosen['name']}: its submission was refused")
            raise
        if wait:
            made["entry"] = wait_for_validation(ladder, made["entry"])
            # A refused upload does not count against the daily limit.
            made["limits"] = ladder.get(
                f"/v1/seasons/{season}/limits", team=made["submission"]["team_id"]
            )
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
    own = own_agents(ladder)
    if name is None and len(own) == 1:
        return own[0], False
    if name is None and own:
        raise MissingInput(
            f"name one of your agents with --agent: {', '.join(row['slug'] for row in own)}"
        )
    if name is None and bundle is None:
        raise MissingInput("name a new agent with --agent")
    if name is None:
        assert bundle is not None
        name = bundle.resolve().name if bundle.is_dir() else bundle.resolve().parent.name
    agent = find_agent(own, name)
    if agent is not None:
        return agent, False
    agent = ladder.post("/v1/agents", {"name": name, "team": team})
    stderr.print(f"created agent {agent['name']} ({agent['id']})")
    return agent, True


def wait_for_validation(ladder: Client, entry: Json) -> Json:
    """Waits for the end of the validation. Returns the entry.

    Shows progress on stderr: in place on a terminal. Else it prints a line if the text changed, at
    most one in LINE_SECONDS.
    """
    printed_at, printed = time.monotonic(), ""
    with ProgressLine("waiting for validation") as line:
        while entry["state"] == "pending" or is_being_retried(entry):
            queue, text = entry.get("queue"), ""
            if entry["state"] == "pending" and entry["reason"]:
                text = f"validation: {entry['reason']}"
            elif queue is not None:
                text = f"validation: {queue_text(queue)}"
            line.show(text)
            is_due = time.monotonic() - printed_at >= LINE_SECONDS
            if text not in ("", printed) and is_due and not sys.stderr.isatty():
                stderr.print(text)
                printed_at, printed = time.monotonic(), text
            time.sleep(POLL_SECONDS)
            entry = ladder.get(f"/v1/entries/{entry['id']}")
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


def _is_unreachable(entry: Mapping[str, Any]) -> bool:
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


def state_text(entry: Mapping[str, Any]) -> str:
    """State with the reason, the place in the queue, or the time of the next try.

    Shortens the reason of a failed validation only: other reasons can be words of a host.
    """
    if _is_unreachable(entry) and entry["reason"]:
        when = "a new try is under way"
        if entry["next_try_at"]:
            when = (
                f"next try at {timestamp_text(entry['next_try_at'])} UTC, or with"
                f" `peck api resume-entry {entry['id']}`"
            )
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
    of: Annotated[
        str | None, typer.Option("--agent", help="List only this agent's submissions.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List your submissions, newest first."""
    with connect() as ladder:
        chosen = [own_agent(ladder, of)] if of else own_agents(ladder)
        rows = [
            (row, agent)
            for agent in chosen
            for row in ladder.list_items(f"/v1/agents/{agent['id']}/submissions", limit=200)
        ]
        entered = {
            entry["submission_id"]: entry
            for agent in reversed(chosen)
            for entry in entries_of(ladder, agent)
        }
    rows.sort(key=lambda pair: pair[0]["id"], reverse=True)
    shown = [
        {**row, "agent": agent["name"], "entry": entered.get(row["id"])} for row, agent in rows
    ]
    show_list(
        [{key: row[key] for key in row if key != "agent"} for row in shown] if as_json else shown,
        {
            **{"number": "number", "id": "id", "agent": "agent", "version": "version"},
            "file": lambda row: row["url"] or row["filename"],
            **{"date": "created_at", "message": "message"},
            "status": lambda row: state_text(row["entry"]) if row["entry"] else "not entered",
            "score": lambda row: row["entry"]["mu"] if row["entry"] else None,
        },
        as_json,
        FIRST_UPLOAD,
    )
    if not as_json:
        hint_at_whole_reasons(row["entry"] for row in shown if row["entry"])


def entries(
    entry: Annotated[
        str | None, typer.Argument(help="Entry id; default: all your entries.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show your entries: state, reason, place in the queue, games."""
    with connect() as ladder:
        if entry is not None:
            rows = [ladder.get(f"/v1/entries/{entry}")]
        else:
            rows = [row for agent in own_agents(ladder) for row in entries_of(ladder, agent)]
        where = {} if as_json else league_names_by_season(ladder, rows)
    show_list(
        rows,
        {
            "entry": "id",
            "league": lambda row: where[row["season_id"]],
            "agent": lambda row: row["agent_name"] + " (remote)" * row["remote"],
            "version": "version",
            "state": state_text,
            **{"rating": "mu", "games": "games", "last match": "last_match_at"},
        },
        as_json,
        FIRST_UPLOAD,
    )
    if not as_json:
        hint_at_whole_reasons(rows)


def entries_of(ladder: Client, agent: Json) -> Iterator[Json]:
    return ladder.list_items("/v1/entries", agent=agent["id"], limit=200)


def league_names_by_season(ladder: Client, rows: list[Json]) -> dict[str, str]:
    """The league's slug by season id, with the season's number if rows have several of a league."""
    leagues = ladder.list_items("/v1/leagues", limit=200) if rows else ()
    slugs = {row["id"]: row["slug"] for row in leagues}
    league_of = {row["season_id"]: row["league_id"] for row in rows}
    seasons = Counter(league_of.values())
    names = {}
    for season, league in league_of.items():
        names[season] = slugs.get(league, league)
        if seasons[league] > 1:
            names[season] += f", season {ladder.get(f'/v1/seasons/{season}')['number']}"
    return names


agents = typer.Typer(help="List your agents.", no_args_is_help=True)


@agents.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List the agents of your teams."""
    with connect() as ladder:
        rows = own_agents(ladder)
    columns = {"slug": "slug", "name": "name", "team": "team_name", "id": "id"}
    show_list(rows, columns, as_json, FIRST_UPLOAD)


@agents.callback()
def group() -> None:
    """Keeps `list` a word of its own."""


MOST_NAMES: Final = 5
"""Most hidden files named in one message."""


@contextmanager
def pack(path: Path) -> Iterator[tuple[str, Path]]:
    """Yields name and path of the upload: a file as it is, a folder as ``.tar.gz``.

    Removes the archive of a folder at the end. Raises MissingInput if the path cannot be an agent.
    """
    with tempfile.TemporaryDirectory(prefix="peck-") as scratch:
        try:
            file = prepare_bundle(path, Path(scratch))
            hidden = (
                [name for name in bundle_file_names(path) if "/." in f"/{name}"]
                if path != file
                else []
            )
        except BundleError as error:
            raise MissingInput(str(error)) from None
        if path != file:
            _check_program(path)
        if hidden:
            more = f" and {len(hidden) - MOST_NAMES} more" if len(hidden) > MOST_NAMES else ""
            stderr.print(
                "Check the upload for secrets: it holds hidden files: "
                f"{', '.join(hidden[:MOST_NAMES])}{more}"
            )
        yield (path.name if file == path else f"{path.resolve().name}.tar.gz"), file


def _check_program(folder: Path) -> None:
    """Raises MissingInput if the folder's peck.json is wrong, or starts a file that is missing.

    A validation would refuse it too, but later.
    """
    try:
        manifest = read_manifest(str(folder))
    except ContractError as error:
        raise MissingInput(f"{folder / MANIFEST_FILE}: {error}") from None
    if not (folder / manifest.program).is_file():
        raise MissingInput(
            f"{folder}: there is no file {manifest.program}, which {MANIFEST_FILE} starts;"
            f" add it, or correct {MANIFEST_FILE}"
        )


def register(app: typer.Typer) -> None:
    app.command()(submit)
    app.command()(submissions)
    app.command()(entries)
    app.add_typer(agents, name="agent")
