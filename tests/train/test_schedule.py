"""Learning rate schedule."""

from __future__ import annotations

import pytest
import torch

from headway.train.options import TrainingOptions
from headway.train.schedule import adamw, faster_dtype, scheduled_learning_rate


def test_the_learning_rate_warms_up_and_falls_along_a_cosine():
    options = TrainingOptions(learning_rate=1.0, min_learning_rate=0.1, warmup_steps=10, num_steps=110)
    rates = [scheduled_learning_rate(step, options) for step in range(111)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == pytest.approx(1.0)
    assert rates[60] == pytest.approx(0.55)
    assert rates[110] == pytest.approx(0.1)
    assert rates[10:] == sorted(rates[10:], reverse=True)


def test_only_matrices_decay():
    matrix, vector = torch.ones(3, 2, requires_grad=True), torch.ones(3, requires_grad=True)
    optimizer = adamw([matrix, vector], TrainingOptions(learning_rate=1e-2, weight_decay=0.5))
    matrix.grad, vector.grad = torch.zeros_like(matrix), torch.zeros_like(vector)
    optimizer.step()
    assert (matrix == 1 - 1e-2 * 0.5).all()
    assert (vector == 1).all()


def test_the_faster_dtype_is_one_that_training_takes():
    assert TrainingOptions(dtype=faster_dtype("cpu")).dtype in ("float32", "bfloat16")
