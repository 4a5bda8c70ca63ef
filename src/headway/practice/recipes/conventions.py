"""Ways to be called that are as right as ours, shared by several exercises."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.message import Message


def _masked(change: Any) -> Any:
    """A change of the mask; of one in any array library where the change is arithmetic."""

    def encode(inputs: Inputs) -> Inputs:
        return inputs | {"mask": change(inputs["mask"])} if inputs.get("mask") is not None else inputs

    return encode


MASKS = (
    Convention(),
    Convention(
        Message("your mask says True for what is hidden", "你的掩码用 True 表示不可见"),
        _masked(numpy.logical_not),
        undo=_masked(lambda mask: ~mask),
        role="mask",
    ),
    Convention(
        Message("your mask is of whole numbers: 1 may be attended to, 0 may not", "你的掩码是整数：1 表示可见，0 表示不可见"),
        _masked(lambda mask: mask.astype(numpy.int64)),
        undo=_masked(lambda mask: mask != 0),
        role="mask",
    ),
    Convention(
        Message("your mask is of whole numbers: 1 is hidden, 0 may be attended to", "你的掩码是整数：1 表示不可见，0 表示可见"),
        _masked(lambda mask: (~mask).astype(numpy.int64)),
        undo=_masked(lambda mask: mask == 0),
        role="mask",
    ),
    Convention(
        Message(
            "your mask is added to the scores: 0 may be attended to, -inf may not", "你的掩码是加到分数上的：0 表示可见，-inf 表示不可见"
        ),
        _masked(lambda mask: numpy.where(mask, 0.0, -numpy.inf)),
        undo=_masked(lambda mask: mask > -1),
        role="mask",
    ),
    Convention(
        Message(
            "your mask is added to the scores: 0 may be attended to, a large negative number may not",
            "你的掩码是加到分数上的：0 表示可见，很大的负数表示不可见",
        ),
        _masked(lambda mask: numpy.where(mask, 0.0, -1e9)),
        undo=_masked(lambda mask: mask > -1),
        role="mask",
    ),
)
"""How a mask says what may be attended to; probes hold it as a boolean, True = may attend."""
