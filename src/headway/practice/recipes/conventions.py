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
    Convention(TEXTS["true_is_masked"], _masked(numpy.logical_not), undo=_masked(lambda mask: ~mask), role="mask"),
    Convention(TEXTS["one_is_visible"], _masked(lambda mask: mask.astype(numpy.int64)), undo=_masked(lambda mask: mask != 0), role="mask"),
    Convention(
        TEXTS["one_is_masked"], _masked(lambda mask: (~mask).astype(numpy.int64)), undo=_masked(lambda mask: mask == 0), role="mask"
    ),
    Convention(
        TEXTS["added_infinity"], _masked(lambda mask: numpy.where(mask, 0.0, -numpy.inf)), undo=_masked(lambda mask: mask > -1), role="mask"
    ),
    Convention(
        TEXTS["added_large_number"], _masked(lambda mask: numpy.where(mask, 0.0, -1e9)), undo=_masked(lambda mask: mask > -1), role="mask"
    ),
)
"""Meaning of mask values; probes contain boolean masks with True = may attend."""
