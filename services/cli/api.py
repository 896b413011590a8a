"""`peck api`: every operation of the site's API, with help from the document that the site serves.

peck api                                            all operations, by subject
peck api invitation                                 operations about a word
peck api create-team-invitation --help              values, bounds and defaults
peck api create-team-invitation geese max_uses=3
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from services.api_client import Client, Json, content_of
from services.cli.display import (
    AsJson,
    ProgressLine,
    available_columns,
    cell_text,
    print_json,
    printable,
    stderr,
    stdout,
    table,
    timestamp_text,
)
from services.cli.name_lookup import agent_id, match_id, user_id
from services.cli.operations import (
    Field,
    Operation,
    Request,
    plain,
    read_document,
    read_values,
)
from services.cli.saved_login import MissingInput, connect, missing_token
from services.environment_variables import Environment

AGENTS: Final = frozenset({"agent", "agents", "lineup", "opponents", "old", "new", "seats"})
"""Fields in which people type names of agents, where the API takes ids."""
ID_PATTERN: Final = "^[a-z0-9][a-z0-9_-]{0,63}$"
LONGEST_CELL: Final = 60

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without a question.")]


def api(
    context: typer.Context,
    operation: Annotated[
        str | None, typer.Argument(help="Name of an operation, or a word to search for.")
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Argument(help="Values of the path in their order, then NAME=VALUE."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Read all pages of a list.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Stay, and print each event of a stream.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="New file for the answer.")
    ] = None,
    shows_help: Annotated[
        bool, typer.Option("--help", "-h", help="Show what an operation takes.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Do any operation of the site's API. Without arguments, list them.

    VALUE is a text, a number, true, false, null, a list such as a,b,c, or JSON. NAME=@FILE reads a
    file. Agents, people and matches may have their names and numbers in place of ids.
    """
    if shows_help and operation is None:
        print(context.get_help())
        return
    with connect(needs_token=False) as ladder:
        document = read_document(ladder)
        if operation is None or operation.replace("_", "-") not in document.operations:
            matching = document.search(operation or "")
            if not matching or values:
                raise MissingInput(
                    f"{document.address} has no operation {operation}", "peck api WORD (searches)"
                )
            list_operations(matching, as_json)
            return
        chosen = document.operation(operation)
        if shows_help:
            print_help(chosen)
            return
        request = Request()
        try:
            read_values(chosen.fields(), given_values(chosen, values or []), request)
        except MissingInput as error:
            raise MissingInput(str(error), f"peck api {chosen.name} --help") from None
        if chosen.needs_token and not ladder.headers:
            raise missing_token(ladder.address)
        replace_names(ladder, chosen, request)
        if chosen.confirms:
            things = ", ".join(str(value) for value in request.path.values())
            act = f"{chosen.summary} ({things})" if things else chosen.summary
            confirm(act, chosen.confirms, yes, as_json)
        if follow:
            print_events(ladder, chosen, request)
        elif out is not None:
            save_answer(ladder, chosen, request, out)
        else:
            show_answer(answer_of(ladder, chosen, request, every), as_json)


def list_operations(operations: list[Operation], as_json: bool) -> None:
    """Prints names and summaries by subject."""
    if as_json:
        keys = ("name", "method", "path", "subject", "summary")
        print_json([{key: getattr(row, key) for key in keys} for row in operations])
        return
    width = max(len(row.name) for row in operations)
    for subject in sorted({row.subject for row in operations}):
        stdout.print(subject.capitalize())
        for row in operations:
            if row.subject == subject:
                stdout.print(f"  {row.name:{width}}  {row.summary}")
    stdout.print("\npeck api NAME --help shows what an operation takes")


def print_help(operation: Operation) -> None:
    """Prints what the operation does, and each value that it takes."""
    fields = operation.fields()
    places = [item.name.upper() for item in fields if item.place in ("path", "file")]
    rest = "[NAME=VALUE ...]" if len(places) < len(fields) else ""
    stdout.print(" ".join(filter(None, ["peck api", operation.name, *places, rest])))
    stdout.print(f"{operation.method} {operation.path}")
    if operation.needs_token:
        stdout.print(f"needs a token{''.join(f' with {scope}' for scope in operation.scopes)}")
    stdout.print(f"\n{operation.summary}.")
    if text := operation.details.get("description"):
        stdout.print(f"\n{text}")
    stdout.print()
    width = min(max((len(item.name) for item in fields), default=0), 32)
    for item in fields:
        if item.name != "cursor":
            print_field(item, width)
    for name, has in (
        ("--all reads all pages", operation.is_paged),
        ("--follow prints the events of a stream", operation.has_stream),
        (f"--yes does it without a question. {operation.confirms}", bool(operation.confirms)),
    ):
        if has:
            stdout.print(f"\n{name}")


def print_field(item: Field, width: int) -> None:
    """Prints one value: its bounds, its default, its text."""
    required = "required; " if item.is_required else ""
    default = f"; default: {item.default()}" if item.default() else ""
    text = item.schema.get("description") or ""
    name = item.name.upper() if item.place in ("path", "file") else item.name
    help_text = (
        f"{required}{item.bounds()}{default}{'. ' if text else ''}{text[:1].upper()}{text[1:]}"
    )
    lines = textwrap.wrap(" ".join(help_text.split()), max(available_columns(100) - width - 4, 20))
    first, *more = lines or [""]
    stdout.print(f"  {name:{width}}  {first}")
    for line in more:
        stdout.print(f"  {'':{width}}  {line}")


def given_values(operation: Operation, texts: list[str]) -> list[str]:
    """The texts, and a password that nobody should type into a command."""
    is_asked = any(item.name == "password" for item in operation.fields())
    if is_asked and not any(text.startswith("password=") for text in texts):
        password = Environment.read().password
        if not password and sys.stdin.isatty():
            password = str(
                typer.prompt("Password", hide_input=True, default="", show_default=False)
            )
        if password:
            return [*texts, f"password={'@' if password.startswith('@') else ''}{password}"]
    return texts


def replace_names(ladder: Client, operation: Operation, request: Request) -> None:
    """Replaces names of agents and people, and numbers of episodes, where the API takes ids."""
    where = request.path | request.query | request.body
    for item in operation.fields():
        values = {"path": request.path, "query": request.query}.get(item.place, request.body)
        value = values.get(item.name)
        if not value or not takes_ids(item):
            continue
        if item.name in AGENTS:
            values[item.name] = each(value, lambda name: agent_id(ladder, name, where))
        elif item.name == "subject" and not value.startswith(("ent_", "tea_")):
            values[item.name] = agent_id(ladder, value, where)
        elif item.name == "user":
            values[item.name] = user_id(ladder, value, where)
        elif item.name == "match":
            values[item.name] = match_id(ladder, value)


def takes_ids(item: Field) -> bool:
    """Whether the API takes ids here. Where it takes names itself, the pattern is another."""
    schema = plain(item.schema.get("items", {}), {})[0] if item.kind == "array" else item.schema
    return schema.get("pattern") == ID_PATTERN


def each(value: Any, act: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [act(name) if isinstance(name, str) else name for name in value]
    return act(value)


def answer_of(ladder: Client, operation: Operation, request: Request, every: bool) -> Any:
    """Sends the request. Returns the JSON of the answer, or its text."""
    path = request.address(operation)
    if every and operation.is_paged:
        query = {"limit": page_size(operation)} | request.query
        return {"items": list(ladder.list_items(path, **query)), "next": None}
    if operation.takes_file:
        if request.file is None:
            raise MissingInput("name the file to send: file=PATH")
        with progress("sent", request.file.stat().st_size) as add:
            return ladder.upload(
                path, request.file, method=operation.method, progress=add, **request.query
            )
    if operation.method == "GET":
        answer = ladder.retry_once(lambda: ladder.send("GET", path, params=request.query))
    else:
        body = request.body if operation.takes_body else None
        answer = ladder.change(operation.method, path, body, params=request.query)
    kind = answer.headers.get("Content-Type", "").partition(";")[0]
    if kind.startswith("text/") and kind != "text/html":
        return answer.text
    if answer.content and kind.startswith("application/") and not kind.endswith("json"):
        raise MissingInput("add --out FILE: the answer is a file")
    return content_of(answer)


def page_size(operation: Operation) -> int:
    """The most rows of one page."""
    sizes = [item.schema.get("maximum", 50) for item in operation.fields() if item.name == "limit"]
    return int(next(iter(sizes), 50))


def save_answer(ladder: Client, operation: Operation, request: Request, out: Path) -> None:
    """Writes the answer to a new file."""
    if operation.method != "GET":
        raise MissingInput("leave out --out: only an operation that reads can write a file")
    if out.exists():
        raise MissingInput(f"--out: {out} exists; name another file")
    with progress("received") as add:
        size = ladder.download(request.address(operation), out, add, **request.query)
    stdout.print(f"wrote {out}, {size} bytes")


@contextmanager
def progress(word: str, total: int = 0) -> Iterator[Callable[[int], None]]:
    """Counts bytes on a terminal."""
    done, end = 0, f" of {total / (1 << 20):.1f} MB" if total else " MB"
    with ProgressLine() as line:

        def add(size: int) -> None:
            nonlocal done
            done += size
            line.show(f"{word} {done / (1 << 20):.1f}{end}")

        yield add


def print_events(ladder: Client, operation: Operation, request: Request) -> None:
    """Prints the data of each event on a line, until the stream ends."""
    if not operation.has_stream:
        raise MissingInput(f"leave out --follow: {operation.name} has no stream")
    try:
        for _, data in ladder.events(request.address(operation), **request.query):
            print(printable(data), flush=True)
    except KeyboardInterrupt:
        pass


def show_answer(answer: Any, as_json: bool) -> None:
    """Prints an answer of any shape: a table of a list, or the fields of a record."""
    if isinstance(answer, str):
        stdout.print(answer, end="" if answer.endswith("\n") else "\n")
    elif as_json or not isinstance(answer, dict | list | None):
        print_json(answer)
    elif not answer:
        stdout.print("done" if answer is None else "(nothing)")
    elif isinstance(answer, dict) and isinstance(answer.get("items"), list):
        rest = {key: value for key, value in answer.items() if key not in ("items", "next")}
        if rest:
            show_record(rest)
        show_rows(answer["items"])
        if answer.get("next"):
            stderr.print("there are more: --all reads all pages")
    elif isinstance(answer, dict):
        show_record(answer)
    else:
        show_rows(answer)


def show_record(record: Json) -> None:
    """Prints the fields of a record, then its lists."""
    lists = {}
    rows = []
    for name, value in flat(record):
        if is_rows(value):
            lists[name] = value
        else:
            rows.append((name, cell(name, value)))
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        stdout.print(f"{cell_text(name):{width}}  {'' if value is None else value}".rstrip())
    for name, value in lists.items():
        stdout.print(f"\n{name}")
        show_rows(value)


def show_rows(rows: list[Any]) -> None:
    """Prints a table with the columns that fit. Ids of other things come last."""
    if not all(isinstance(row, dict) for row in rows):
        print_json(rows)
        return
    flat_rows = [dict(flat(row)) for row in rows]
    names = list(dict.fromkeys(name for row in flat_rows for name in row))
    texts = {
        name: [short_cell(name, row.get(name)) for row in flat_rows]
        for name in names
        if any(row.get(name) not in (None, "", []) and not is_rows(row[name]) for row in flat_rows)
    }
    left = available_columns()
    shown: list[str] = []
    for name, column in sorted(texts.items(), key=lambda item: item[0].endswith("_id")):
        left -= max(len(name), *(len(cell_text(value)) for value in column)) + 2
        if left < 0 and shown:
            break
        shown.append(name)
    table(shown, list(zip(*(texts[name] for name in shown), strict=True)))
    nested = [name for name in names if any(is_rows(row.get(name)) for row in flat_rows)]
    if hidden := [name for name in [*texts, *nested] if name not in shown]:
        stderr.print(f"--json also shows: {', '.join(hidden)}")


def flat(record: Json, above: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values of a record; of a record inside it with a dot."""
    for name, value in record.items():
        if isinstance(value, dict) and value and above.count(".") < 3:
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def is_rows(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(row, dict) for row in value)


def cell(name: str, value: Any) -> object:
    """A value for people: times in UTC, yes and no, numbers with three digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return Decimal(str(round(value, 3)))
    if isinstance(value, list) and not is_rows(value):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict | list):
        return f"{len(value)}" if value else None
    return timestamp_text(value) if isinstance(value, str) and name.endswith("_at") else value


def short_cell(name: str, value: Any) -> object:
    """The same for a table: a long text is cut."""
    shown = cell(name, value)
    is_long = isinstance(shown, str) and len(shown) > LONGEST_CELL
    return f"{str(shown)[: LONGEST_CELL - 1]}…" if is_long else shown


def confirm(act: str, consequence: str, yes: bool, as_json: bool) -> None:
    """Asks before the act, such as ``End season 1``, with its consequence as a sentence. Raises
    MissingInput without a terminal, and Abort if the answer is no."""
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise MissingInput(f"add --yes to {act[:1].lower()}{act[1:]}: {consequence}")
    typer.confirm(printable(f"{act}? {consequence}"), abort=True)


def register(app: typer.Typer) -> None:
    app.command(add_help_option=False)(api)
