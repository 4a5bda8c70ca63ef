"""The benchmark of the PyTorch path runs; its figures need a GPU."""

from __future__ import annotations

import pytest

from benchmarks import torch_path


@pytest.mark.slow
def test_the_torch_path_is_measured_on_any_device(monkeypatch, capsys):
    for name, number in (("STEPS", 2), ("ROUNDS", 1), ("NEW_TOKENS", 3)):
        monkeypatch.setattr(torch_path, name, number)
    torch_path.main("tiny")
    printed = capsys.readouterr().out
    for table, num_rows in (("decode", 6), ("prompt", 2), ("requests of", 8)):
        assert len(printed.partition(f"| {table}")[2].partition("\n\n")[0].strip().splitlines()) == 2 + num_rows
