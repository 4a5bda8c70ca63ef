"""Progress where stderr is no terminal."""

import pytest

from headway.cli import progress


def test_a_line_names_the_unit_and_how_many_are_done(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "SECONDS_PER_LINE", -1.0)
    with progress.Shown().bar(2000, "step") as advance:
        advance(10)
        advance(11, "loss 7.5")
    assert "step 11 of 2,000: loss 7.5" in capsys.readouterr().err
