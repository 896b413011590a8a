from __future__ import annotations

import pytest

from benchmarks.rating.__main__ import main


def test_an_unknown_ladder_is_named_with_those_that_exist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["rating", "--world", "geese", "--ladder", "ours"])
    with pytest.raises(SystemExit) as refused:
        main()
    assert refused.value.code == 2
    assert "there is no 'ours'; there are: ours, ladder; random" in capsys.readouterr().err
