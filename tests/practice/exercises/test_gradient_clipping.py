"""Gradient clipping of a dict."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file

OF_A_DICT = """
import math
import numpy as np

def clip_gradients(grads: dict, max_norm: float) -> dict:
    def squares(held):
        if isinstance(held, dict):
            total = 0.0
            for each in held.values():
                total += squares(each)
            return total
        if isinstance(held, list):
            return sum(map(squares, held))
        return float((held * held).sum())

    norm = math.sqrt(squares(grads))
    return {name: each * max_norm / (norm + 1e-6) for name, each in grads.items()} if norm > max_norm else grads
"""


@pytest.mark.parametrize(("adds", "status"), [("+=", "correct"), ("=", "wrong")])
def test_gradients_whose_annotation_is_a_dict_are_passed_as_one(tmp_path, adds, status):
    path = tmp_path / "mine.py"
    path.write_text(OF_A_DICT.replace("+=", adds))
    (verdict,) = check_file(path)
    assert verdict.status == status
