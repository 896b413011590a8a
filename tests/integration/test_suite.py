from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import suite
from tests.suite import Totals

REPORT = """<testsuites><testsuite name="pytest">
<testcase classname="tests.unit.test_a" name="test_one" time="0.5"/>
<testcase classname="tests.unit.test_a" name="test_two" time="61.25"><failure/></testcase>
<testcase classname="tests.unit.test_b" name="test_three" time="0"><skipped/></testcase>
<testcase classname="tests.unit.test_b" name="test_four" time="2"><error/></testcase>
</testsuite></testsuites>"""


def totals(folder: Path) -> Totals:
    report = folder / "report.xml"
    report.write_text(REPORT)
    made = Totals()
    made.add(report)
    made.add(report)
    return made


def test_totals_of_all_stages_form_one_pytest_style_line(tmp_path: Path) -> None:
    line = totals(tmp_path).line(3661.5)
    assert line.strip("=") == " 2 failed, 2 passed, 2 skipped, 2 errors in 3661.50s (1:01:01) "
    assert Totals().line(1).strip("=") == " no tests ran in 1.00s (0:00:01) "


def test_slowest_tests_come_first(tmp_path: Path) -> None:
    first, *_ = totals(tmp_path).slowest()
    assert first.split() == ["61.25s", "tests.unit.test_a::test_two"]


@pytest.mark.parametrize("is_flaky", [True, False])
def test_failed_tests_are_repeated_once_and_named_as_flaky(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_flaky: bool,
) -> None:
    """The test of the example fails until a file exists; a flaky one leaves that file behind."""
    made = Path(*suite.FOLDERS[-1:], "test_example.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # pytest starts in half the time
    for folder in suite.FOLDERS:
        Path(folder).mkdir(parents=True)
    made.write_text(f"""
from pathlib import Path
def test_passes(): pass
def test_fails_once():
    found = Path("seen").exists()
    if {is_flaky}:
        Path("seen").touch()
    assert found
""")
    totals, remember = Totals(), f"--override-ini=cache_dir={tmp_path / 'cache'}"
    assert suite.tests(totals, "first", remember, str(made)) == 1
    assert suite.pass_when_repeated(totals, [[remember, *suite.FOLDERS]]) is is_flaky
    line = totals.line(1).strip("= ")
    if is_flaky:
        assert line.startswith("1 passed, 1 flaky in")
        assert "test_example::test_fails_once failed and passed" in capsys.readouterr().out
    else:
        assert line.startswith("1 failed, 1 passed in")


def test_a_run_fails_if_the_unit_tests_end_early(tmp_path: Path) -> None:
    for folder in (*suite.FOLDERS, suite.UNIT, "scripts"):
        (tmp_path / folder).mkdir(parents=True)
    check = tmp_path / "scripts/check"
    check.write_text("#!/bin/sh\n")
    check.chmod(0o755)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  alone: runs last\n")
    mark = "import pytest\n@pytest.mark.alone\n"
    (tmp_path / suite.FOLDERS[0] / "test_alone.py").write_text(f"{mark}def test_last(): pass\n")
    (tmp_path / suite.FOLDERS[0] / "test_other.py").write_text("def test_other(): pass\n")
    (tmp_path / suite.UNIT / "test_unit.py").write_text("import os\ndef test_unit(): os._exit(0)\n")
    command = [sys.executable, suite.__file__]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "tests/unit failed; its output is above" in done.stdout
    assert "2 passed" in done.stdout.splitlines()[-1]
