"""The conventions that all attentions with projections share, in the order in which they are applied."""

from __future__ import annotations

from headway.practice.recipes.attention import MASK_SHAPES, UNSCALED_WITH_BIAS
from headway.practice.recipes.conventions import MASKS
from headway.practice.recipes.padded import PADDED_OUTPUTS
from headway.practice.recipes.projection_forms import FORMS, HEADS, WEIGHT_FORMS, WITHOUT_OUTPUT
from headway.practice.recipes.query_norms import NORMED
from headway.practice.recipes.rotation import ROTATED
from headway.practice.recipes.wrapping import POSITIONS_FIRST, WRAPPED

CONVENTIONS = (
    FORMS,
    WEIGHT_FORMS,
    HEADS,
    WITHOUT_OUTPUT,
    MASKS,
    MASK_SHAPES,
    UNSCALED_WITH_BIAS,
    PADDED_OUTPUTS,
    WRAPPED,
    POSITIONS_FIRST,
    ROTATED,
    NORMED,
)
