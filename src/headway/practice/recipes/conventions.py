"""Accepted conventions for masks, shared by several exercises."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.message import Message


def _masked(change: Any) -> Any:
    """Return an encoding that changes the mask, for arrays of any library if the change is arithmetic."""

    def encode(inputs: Inputs) -> Inputs:
        return inputs | {"mask": change(inputs["mask"])} if inputs.get("mask") is not None else inputs

    return encode


MASKS = (
    Convention(),
    Convention(
        Message("expects True for masked positions", "掩码用 True 表示不可见"),
        _masked(numpy.logical_not),
        undo=_masked(lambda mask: ~mask),
        role="mask",
    ),
    Convention(
        Message("expects an integer mask: 1 to attend, 0 to mask", "掩码是整数：1 表示可见，0 表示不可见"),
        _masked(lambda mask: mask.astype(numpy.int64)),
        undo=_masked(lambda mask: mask != 0),
        role="mask",
    ),
    Convention(
        Message("expects an integer mask: 1 to mask, 0 to attend", "掩码是整数：1 表示不可见，0 表示可见"),
        _masked(lambda mask: (~mask).astype(numpy.int64)),
        undo=_masked(lambda mask: mask == 0),
        role="mask",
    ),
    Convention(
        Message("expects a mask that is added to the scores: 0 to attend, -inf to mask", "掩码加到分数上：0 表示可见，-inf 表示不可见"),
        _masked(lambda mask: numpy.where(mask, 0.0, -numpy.inf)),
        undo=_masked(lambda mask: mask > -1),
        role="mask",
    ),
    Convention(
        Message(
            "expects a mask that is added to the scores: 0 to attend, a large negative number to mask",
            "掩码加到分数上：0 表示可见，很大的负数表示不可见",
        ),
        _masked(lambda mask: numpy.where(mask, 0.0, -1e9)),
        undo=_masked(lambda mask: mask > -1),
        role="mask",
    ),
)
"""Meaning of mask values; probes contain boolean masks with True = may attend."""
