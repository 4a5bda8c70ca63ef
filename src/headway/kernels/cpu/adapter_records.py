"""The records of an adapter: the updates of a decoder's matrices as the compiled code reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy

from headway.errors import ShapeError, UnsupportedError
from headway.kernels.cpu import records
from headway.models.adapter import Update

PARTS = ("query", "key", "value", "output", "gate", "up", "down")
"""The matrices of a layer that can have an update, in the order of layout.UPDATED_QUERY and so on."""
PATH = re.compile(rf"layers\.(\d+)\.(attention|feed_forward)\.({'|'.join(PARTS)})\.weight")


class AdapterRecords:
    """A table of updates (num_layers, number of PARTS); an absent one has rank 0.

    address    of the table
    max_rank   largest rank of the updates

    Errors   UnsupportedError, which names the matrix, for one whose product is not updated: the output head, and those of experts;
             ShapeError for an update of another shape than its matrix.
    """

    def __init__(self, updates: Mapping[str, Update], weights: Any) -> None:
        """Store the updates in the form that the kernels read; `weights` is the decoder's weight tree."""
        self._table = numpy.zeros((len(weights.layers), len(PARTS)), records.UPDATE)
        self._matrices: list[numpy.ndarray] = []
        self.max_rank = 0
        for path, update in updates.items():
            found = PATH.fullmatch(path)
            if found is None:
                raise UnsupportedError(
                    f"got an adapter with an update of {path}, expected updates of attention and feed-forward matrices",
                    hint='load the model with weights="none", or merge the adapter: headway merge',
                )
            layer, part, name = found.groups()
            self._add(int(layer), PARTS.index(name), path, update, getattr(getattr(weights.layers[int(layer)], part), name).weight)
        self.address: int = self._table.ctypes.data

    def _add(self, layer: int, part: int, path: str, update: Update, matrix: Any) -> None:
        rank, columns = update.down.shape
        if (len(update.up), columns) != tuple(matrix.shape) or update.up.shape[1] != rank:
            raise ShapeError(
                f"got an update {update.up.shape} @ {update.down.shape} of {path}, expected {tuple(matrix.shape)}: (out, rank) @ (rank, in)"
            )
        down = numpy.ascontiguousarray(update.down, numpy.float32)
        up = numpy.ascontiguousarray(update.scale * update.up.astype(numpy.float32).T, numpy.float32)
        self._matrices += [down, up]
        record = self._table[layer, part]
        record["update_down"], record["update_up"] = down.ctypes.data, up.ctypes.data
        record["update_rank"], record["update_columns"] = rank, columns
        self.max_rank = max(self.max_rank, rank)
