"""Lines of mistakes in schedules of the learning rate."""

from __future__ import annotations

import math

import headway


def get_lr(it, max_lr, min_lr, warmup_iters, lr_decay_iters):
    if it < warmup_iters:
        return max_lr * it / warmup_iters
    if it > lr_decay_iters:
        return min_lr
    progress = it / lr_decay_iters
    return min_lr + 0.5 * (1 + math.cos(math.pi * progress)) * (max_lr - min_lr)


def test_a_wrong_progress_is_in_the_line_that_computes_it():
    (cause,) = headway.check(get_lr).causes
    assert cause.name == "warmup_not_subtracted"
    assert cause.line == get_lr.__code__.co_firstlineno + 5
