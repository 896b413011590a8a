from __future__ import annotations

from pathlib import Path

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
