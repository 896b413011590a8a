"""The language check: sentences, paragraphs and replaced words."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def language() -> ModuleType:
    """The script as a module; the folder of scripts is not a package."""
    spec = importlib.util.spec_from_file_location("language", ROOT / "scripts/prose_check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def faults(language: ModuleType, file: Path) -> list[str]:
    found = list(language.READERS[file.suffix](file))
    return list(language.find_broken_limits(found, file.name, 0))


@pytest.fixture
def page(tmp_path: Path, language: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(language, "ROOT", tmp_path)
    return tmp_path / "page.md"


def test_short_sentences_break_no_limit(language: ModuleType, page: Path) -> None:
    page.write_text("# Title\n\nThe worker claims a match. It plays it.\n")
    assert faults(language, page) == []


def test_a_long_mean_is_reported(language: ModuleType, page: Path) -> None:
    page.write_text("The worker " + "claims a match and " * 5 + "plays.\n")
    assert faults(language, page) == ["page.md: 23.0 words a sentence; at most 17 are allowed"]


def test_long_sentences_are_reported_with_the_worst(language: ModuleType, page: Path) -> None:
    short = "The worker plays it. " * 8
    long = "The worker " + "claims a match and " * 8 + "plays."
    page.write_text(f"{short}\n\n- {long}\n- {long}\n")
    assert faults(language, page) == ["page.md: 2 of 10 sentences are long; page.md:3 has 35 words"]


def test_a_long_paragraph_is_reported(language: ModuleType, page: Path) -> None:
    page.write_text("A match has one lineup. " * 20)
    assert faults(language, page) == ["page.md:1: a paragraph of 100 words; 90 are allowed"]


def test_code_blocks_and_table_rules_are_not_prose(language: ModuleType, page: Path) -> None:
    page.write_text("```\n" + "a b of c d " * 50 + "\n```\n\n| a | b |\n|---|---|\n")
    assert list(language.markdown(page)) == []


def test_list_items_and_table_cells_are_separate_paragraphs(
    language: ModuleType, page: Path
) -> None:
    page.write_text("- One of the items\n- Two of the items\n\n| left of it | right of it |\n")
    texts = [part.text for part in language.markdown(page)]
    assert texts == ["One of the items", "Two of the items", "left of it", "right of it"]


def test_docstrings_comments_and_messages_are_checked(language: ModuleType, page: Path) -> None:
    module = page.with_suffix(".py")
    module.write_text(
        '"""The first line."""\n\n# A comment is here.\nname = 1\n\n\ndef play():\n'
        '    """Plays one match of it."""\n'
        '    raise ValueError(f"the league {name} is not open for uploads")\n'
    )
    assert [(part.kind, part.line, part.text) for part in language.python(module)] == [
        ("docstrings", 1, "The first line."),
        ("docstrings", 8, "Plays one match of it."),
        ("messages", 9, "the league x is not open for uploads"),
        ("docstrings", 3, "A comment is here."),
    ]


def test_sql_text_is_not_a_message(language: ModuleType, page: Path) -> None:
    module = page.with_suffix(".py")
    module.write_text('conn.execute("select a, b from the_table where a is not null and c")\n')
    assert list(language.python(module)) == []


def test_texts_of_templates_are_messages(language: ModuleType, page: Path) -> None:
    template = page.with_suffix(".html")
    template.write_text("<p>The league {{ name }} is open.</p>\n<script>let a of b c</script>\n")
    assert [part.text for part in language.template(template)] == ["The league x is open."]


@pytest.mark.parametrize("line", ["the_doorbell = 1", "class DoorBell:", "# A door bell rings."])
def test_a_replaced_word_is_found_in_names_and_prose(
    language: ModuleType, page: Path, line: str
) -> None:
    page.write_text(line)
    old = {"door bell": "wake-up message", "doorbell": "wake-up message"}
    assert len(list(language.find_replaced_words(page, old))) == 1


def test_a_replaced_word_inside_another_is_not_found(language: ModuleType, page: Path) -> None:
    page.write_text("watching the years and ears of corn")
    assert (
        list(language.find_replaced_words(page, {"ear": "engine events", "watch": "liveness"}))
        == []
    )


def test_a_changed_file_is_read_again(
    language: ModuleType, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language, "CACHE", page.with_name("cache.json"))
    for text in ("The first of them.", "The first of them.", "The second of them."):
        page.write_text(text)
        ((paragraphs, _),) = language.read_files([page])
        assert [part.text for part in paragraphs] == [text]
