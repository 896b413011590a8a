"""Checks the language of documentation, docstrings, comments and messages.

Counts words in each sentence, long sentences and long paragraphs, and finds replaced words.
``scripts/check`` runs it on all tracked files. With arguments it reads only those files. It keeps
what it found in each file, and reads a file again when it changed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MEAN_WORDS: Final = 17.0
LONG_SENTENCE: Final = 30
LONG_SHARE: Final = 0.01
LONG_PARAGRAPH: Final = 90
ROOT: Final = Path(__file__).resolve().parents[1]
REPLACED: Final = Path(__file__).with_name("replaced_words.txt")
CACHE: Final = ROOT / ".prose_cache.json"

FENCE: Final = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
MARKUP: Final = re.compile(r"<!--.*?-->|<[^>]+>|^[|:\- ]+$|[*_]{2}", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
BLOCK: Final = re.compile(r"\f|\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.|#+|>)\s)|(?<=\|)\s*\n|\|")
LEAD: Final = re.compile(r"^\s*(?:[-*+]|\d+\.|#+|>)\s+")
CODE: Final = re.compile(r"``.+?``|`[^`]+`")
END: Final = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z0-9`])")
WORD: Final = re.compile(r"[A-Za-z0-9][\w'’./:%-]*")
PROSE: Final = re.compile(r"\b(the|an?|is|are|of|to|and|in|not|for|no|that|it)\b", re.IGNORECASE)
PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
CODE_LINE: Final = re.compile(
    r"^\s*(select|insert|update|delete|create|grant|raise|with|import|def|from|return|and|where)\b"
    r"|[\w\])] (=|==|>=|<=|->|::) \S|\w\(\w*\)|[{}]"
)
STRING_OR_COMMENT: Final = re.compile(
    r"""(?P<quote>"{3}|\'{3})(?:\\.|[^\\])*?(?P=quote)"""
    r"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(?P<comment>#[^\n]*)""",
    re.DOTALL,
)
"""A string, which may hold a ``#``, or a comment."""
TEMPLATE: Final = re.compile(r"{%.*?%}|{#.*?#}|<(script|style)\b.*?</\1>|</?[a-z][^>]*>", re.DOTALL)


@dataclass(frozen=True)
class Paragraph:
    """A piece of prose and its position."""

    kind: str
    file: Path
    line: int
    text: str

    def sentences(self) -> list[str]:
        """The sentences; a piece of code counts as one word."""
        flat = " ".join(CODE.sub("`code`", self.text).split())
        return [sentence for sentence in END.split(flat) if len(WORD.findall(sentence)) > 2]


def words(text: str) -> int:
    """The number of words."""
    return len(WORD.findall(text))


def split_paragraphs(kind: str, file: Path, line: int, text: str) -> Iterator[Paragraph]:
    """Splits a text into paragraphs at blank lines, list items, headings and table cells."""
    at = 0
    for part in BLOCK.split(text):
        start = text.index(part, at)
        at = start + len(part)
        clean = LEAD.sub("", part).strip()
        if words(clean) > 2 and PROSE.search(clean) and not part.lstrip().startswith("#"):
            offset = text[:start].count("\n") + len(part) - len(part.lstrip("\n"))
            yield Paragraph(kind, file, line + offset, clean)


def keep_line_ends(match: re.Match[str]) -> str:
    """As many line ends as the match has, so that line numbers stay right."""
    return "\n" * match[0].count("\n")


def markdown(file: Path) -> Iterator[Paragraph]:
    """The prose of a Markdown page, without code blocks."""
    text = MARKUP.sub(keep_line_ends, FENCE.sub(keep_line_ends, file.read_text()))
    yield from split_paragraphs("documentation", file, 1, LINK.sub(r"\1", text))


def template(file: Path) -> Iterator[Paragraph]:
    """The texts of an HTML template. Each tag ends a paragraph."""
    text = re.sub(r"{{.*?}}", "x", file.read_text(), flags=re.DOTALL)
    text = TEMPLATE.sub(lambda match: "\f" + keep_line_ends(match), text)
    yield from split_paragraphs("messages", file, 1, text)


def literal(node: ast.expr) -> str:
    """The text of a string or f-string, with x for each expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            literal(part) if isinstance(part, ast.Constant) else "x" for part in node.values
        )
    return ""


def python(file: Path) -> Iterator[Paragraph]:
    """The docstrings, comments and messages of a module."""
    source = file.read_text()
    is_test = "tests" in file.parts
    documented: set[int] = set()
    inner: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and literal(node.value):
            documented.add(id(node.value))
            yield from split_paragraphs("docstrings", file, node.lineno, literal(node.value))
        elif isinstance(node, ast.JoinedStr):
            inner.update(id(part) for part in node.values)
        elif is_test:
            continue  # strings of tests are mostly data
        if isinstance(node, ast.JoinedStr | ast.Constant) and not (
            id(node) in documented or id(node) in inner
        ):
            text = literal(node)
            if words(text) > 4 and " " in text and not CODE_LINE.search(text):
                yield from split_paragraphs("messages", file, node.lineno, text)
    yield from comments(file, source)


def comments(file: Path, source: str) -> Iterator[Paragraph]:
    """Each run of comment lines of a module."""
    run: list[str] = []
    last = line = at = 0
    for found in STRING_OR_COMMENT.finditer(source):
        text = found["comment"] or ""
        if not text or "noqa" in text or "type: ignore" in text:
            continue
        line += source.count("\n", at, found.start())
        at = found.start()
        if line != last and run:
            yield from split_paragraphs("docstrings", file, last - len(run) + 1, "\n".join(run))
            run = []
        run.append(text.lstrip("#!").strip())
        last = line + 1
    yield from split_paragraphs("docstrings", file, last - len(run) + 1, "\n".join(run))


READERS: Final = {".md": markdown, ".html": template, ".py": python}
WORDS_IN: Final = (*READERS, ".sql", ".toml", ".yml", ".sh", ".js", ".css")


def find_replaced_words(file: Path, words_of: dict[str, str]) -> Iterator[str]:
    """A line for each use of a replaced word, with the word to use instead."""
    text = file.read_text()
    used = {part.lower() for part in PART.findall(text)}
    longest_first = sorted(
        (old for old in words_of if used.issuperset(old.split())), key=len, reverse=True
    )
    if not longest_first:
        return
    replaced = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")
    for number, line in enumerate(text.splitlines(), start=1):
        for old in replaced.findall(" ".join(PART.findall(line)).lower()):
            new = words_of[old]
            yield f"{file.relative_to(ROOT)}:{number}: {old!r} was replaced; use {new}"


def find_broken_limits(paragraphs: list[Paragraph], name: str, longest: int) -> Iterator[str]:
    """Prints the measures of these paragraphs and yields a line for each broken limit."""
    found = [(words(text), part, text) for part in paragraphs for text in part.sentences()]
    if not found:
        return
    mean = sum(count for count, _, _ in found) / len(found)
    long = sorted(
        (entry for entry in found if entry[0] > LONG_SENTENCE), key=lambda entry: -entry[0]
    )
    share = len(long) / len(found)
    if longest:
        print(f"{name:40} {len(found):6} sentences, mean {mean:5.1f} words, {share:6.2%} long")
        for count, part, text in long[:longest]:
            print(f"  {part.file.relative_to(ROOT)}:{part.line}: {count} words: {text}")
    if mean > MEAN_WORDS:
        yield f"{name}: {mean:.1f} words a sentence; at most {MEAN_WORDS:.0f} are allowed"
    if len(long) > max(1, LONG_SHARE * len(found)):
        count, part, _ = long[0]
        where = f"{part.file.relative_to(ROOT)}:{part.line}"
        yield f"{name}: {len(long)} of {len(found)} sentences are long; {where} has {count} words"
    for part in paragraphs:
        if words(part.text) > LONG_PARAGRAPH:
            where = f"{part.file.relative_to(ROOT)}:{part.line}"
            yield f"{where}: a paragraph of {words(part.text)} words; {LONG_PARAGRAPH} are allowed"


def tracked() -> list[Path]:
    """All files of the repository that hold prose."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def digest(*parts: Path) -> str:
    """The digest of the files' contents."""
    return hashlib.sha256(b"\0".join(part.read_bytes() for part in parts)).hexdigest()


def read_files(files: list[Path]) -> Iterator[tuple[list[Paragraph], list[str]]]:
    """Paragraphs and replaced words of each file. Those of unchanged files come from the cache."""
    old = dict(line.split("\t") for line in REPLACED.read_text().splitlines())
    rules = digest(Path(__file__), REPLACED)
    try:
        known = json.loads(CACHE.read_text())
    except (OSError, ValueError):
        known = {}
    known = known if known.get("rules") == rules else {"rules": rules}
    for file in files:
        if file.suffix not in WORDS_IN:
            continue
        name = str(file.relative_to(ROOT))
        if known.get(name, [None])[0] != (content := digest(file)):
            read = READERS.get(file.suffix, lambda _: ())(file)
            parts = [(part.kind, part.line, part.text) for part in read]
            known[name] = content, parts, list(find_replaced_words(file, old))
        _, parts, found = known[name]
        yield [Paragraph(kind, file, line, text) for kind, line, text in parts], found
    CACHE.write_text(json.dumps(known))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="files to read; default: all")
    parser.add_argument(
        "--longest", type=int, default=0, help="print so many long sentences a group"
    )
    options = parser.parse_args()
    files = [file.resolve() for file in options.files] or tracked()
    groups: dict[str, list[Paragraph]] = {}
    found: list[str] = []
    for paragraphs, replaced in read_files(files):
        found += replaced
        for part in paragraphs:
            page = part.kind == "documentation" or options.files
            groups.setdefault(str(part.file.relative_to(ROOT)) if page else part.kind, []).append(
                part
            )
    for name, paragraphs in sorted(groups.items()):
        found += find_broken_limits(paragraphs, name, options.longest)
    print("\n".join(found) or f"language: {len(files)} files read, nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
