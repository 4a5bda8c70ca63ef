from __future__ import annotations

import sys

import pytest

from benchmarks import soak


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_server_under_mixed_load_leaves_nothing_open(capfd, monkeypatch):
    monkeypatch.setattr(soak, "TOLERANCE", 0.5)  # within seconds, memory still grows to its final size
    assert soak.main(20, 8) == 0, capfd.readouterr().out
    assert "| problems | none |" in capfd.readouterr().out
