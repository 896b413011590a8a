from __future__ import annotations

import pytest

from benchmarks.rating.__main__ import main


def test_an_unknown_question_is_named_with_those_that_exist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["rating", "medals"])
    with pytest.raises(SystemExit) as refused:
        main()
    assert refused.value.code == 2
    assert "there is no question medals; there are: medal-teams, gains" in capsys.readouterr().err
