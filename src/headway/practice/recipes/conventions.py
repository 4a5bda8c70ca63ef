"""Accepted conventions for masks, shared by several exercises."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.texts import Texts

TEXTS = Texts("shared/conventions")


def _masked(change: Any) -> Any:
    """Return an encoding that changes the mask, for arrays of any library if the change is arithmetic."""

    def encode(inputs: Inputs) -> Inputs:
        return inputs | {"mask": change(inputs["mask"])} if inputs.get("mask") is not None else inputs

    return encode


MASKS = (
    Convention(),
    Convention(
        TEXTS["expects_true_for_masked_positions"],
        _masked(numpy.logical_not),
        undo=_masked(lambda mask: ~mask),
        role="mask",
    ),
    Convention(
        TEXTS["expects_integer_mask_1_attend"],
        _masked(lambda mask: mask.astype(numpy.int64)),
        undo=_masked(lambda mask: mask != 0),
        role="mask",
    ),
    Convention(
        TEXTS["expects_integer_mask_1_mask"],
        _masked(lambda mask: (~mask).astype(numpy.int64)),
        undo=_masked(lambda mask: mask == 0),
        role="mask",
    ),
    Convention(
        TEXTS["expects_mask_that_added_scores"],
        _masked(lambda mask: numpy.where(mask, 0.0, -numpy.inf)),
        undo=_masked(lambda mask: mask > -1),
        role="mask",
    ),
    Convention(
        TEXTS["expects_mask_that_added_scores_2"],
        _masked(lambda mask: numpy.where(mask, 0.0, -1e9)),
        undo=_masked(lambda mask: mask > -1),
        role="mask",
    ),
)
"""Meaning of mask values; probes contain boolean masks with True = may attend."""
