"""LoRA adapters: updates of low rank for the matrices of a weight tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from headway.arrays import array_library, as_dtype, cast, dtype_name, from_numpy
from headway.functions import LowRank
from headway.trees import replace_leaves


@dataclass(frozen=True)
class Update:
    """The update of one matrix: scale · up @ down.

    Shapes
        down  (rank, in_features)
        up    (out_features, rank)
    """

    down: numpy.ndarray
    up: numpy.ndarray
    scale: float

    def product(self) -> numpy.ndarray:
        """Return the update (out_features, in_features) in float32."""
        product: numpy.ndarray = self.scale * (self.up @ self.down)
        return product


def with_updates(weights: Any, updates: Mapping[str, Update], array: str, device: str | None) -> Any:
    """Return a weight tree with leaves of LowRank over the same matrices, which are not copied.

    updates  the updates by the path of their leaf
    """
    namespace = array_library(array)

    def updated(path: str, leaf: Any) -> Any:
        update = updates.get(path.removesuffix(".base"))  # a matrix with an update can have another one
        if update is None:
            return leaf
        dtype = as_dtype(dtype_name(leaf.dtype), namespace)
        down, up = (cast(from_numpy(numpy.ascontiguousarray(matrix), array, device), dtype) for matrix in (update.down, update.up))
        return LowRank(leaf, down, up, update.scale)

    return replace_leaves(updated, weights)
