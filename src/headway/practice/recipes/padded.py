"""Outputs at padded positions, which nothing reads: a mask may also set them to zero, or hide every key from their queries."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs, optional
from headway.practice.texts import Texts

TEXTS = Texts("shared/attention")

OF_QUERIES = (
    r"mask\w*(\[[^\]\n]*, *(None|(np|numpy|jnp|mx)\.newaxis)\]|\.unsqueeze\((dim=)?(-1|2)\))|expand_dims\(\w*mask\w*, *(axis=)?(-1|2)\)"
)
"""Pattern of a source in which a mask gets a last axis, so that it applies to queries."""


def without_padded(output: Any, mask: Any) -> Any:
    """Return an output with zeros at the positions that a padding mask, of one row for all queries, hides."""
    if getattr(mask, "ndim", 0) < 3 or mask.shape[-2] != 1 or numpy.ndim(output) != 3:
        return output
    real = mask.reshape(len(mask), -1)
    return numpy.where(real[..., None], output, 0) if real.shape == output.shape[:2] else output


def _decoded(answer: Any, inputs: Inputs) -> Any:
    return without_padded(answer, inputs.get("mask")) if isinstance(answer, numpy.ndarray) else answer


PADDED_OUTPUTS = optional(
    Convention(
        TEXTS["padded_outputs"], decode=_decoded, steps={"leave": without_padded}, role="mask", used_source=OF_QUERIES, leaves_out=True
    )
)
"""Outputs at padded positions, compared or left out."""
