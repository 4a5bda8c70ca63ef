from __future__ import annotations

import ast
import sys

import pytest

from benchmarks import soak
from tests.conftest import ROOT


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_server_under_mixed_load_leaves_nothing_open(capfd, monkeypatch):
    monkeypatch.setattr(soak, "TOLERANCE", 0.5)  # within seconds, memory still grows to its final size
    assert soak.main(10, 8) == 0, capfd.readouterr().out
    assert "| problems | none |" in capfd.readouterr().out


def test_a_benchmark_that_is_a_program_starts_after_its_last_definition():
    programs = [ast.parse(path.read_text(encoding="utf-8")).body for path in sorted((ROOT / "benchmarks").rglob("*.py"))]
    starts = [[isinstance(each, ast.If) and "__main__" in ast.unparse(each.test) for each in body] for body in programs]
    assert sum(map(any, starts)) > 10
    assert not any(any(body[:-1]) for body in starts)
