"""Weights of a checkpoint under the names of Hugging Face, for a class whose constructor reads them from a dict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from headway.practice.diagnosis.classes.param_trees import sizes_of_leaf
from headway.practice.diagnosis.reading.subject import Subject

KEYS = r"\b{name}(\.get\(|\[)\s*f?['\"][\w.]*(layers|blocks|h)\.\{{"
"""Pattern of the source of a class that reads the weights of a numbered layer from a parameter."""

PLACE = 0
"""Number of the layer whose weights are read."""


def reads_state_dict(name: str, subject: Subject) -> bool:
    """Return True if a class reads the weights of a layer by their names from a parameter."""
    return re.search(KEYS.format(name=re.escape(name)), subject.used_source) is not None


class StateDict:
    """A constructor argument that holds weights by name, of the shapes that the names mean."""

    def at(self, sizes: Mapping[str, Any]) -> Any:
        """Return the weights for some sizes by role."""
        return _Weights(sizes)


class _Weights(Mapping[str, numpy.ndarray]):
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        self._sizes = sizes

    def __getitem__(self, name: str) -> numpy.ndarray:
        sizes = sizes_of_leaf(tuple(name.split(".")), (name,))
        if sizes is None or not set(sizes) <= self._sizes.keys():
            raise KeyError(name)
        is_table = sizes[0] == "vocab_size"
        return numpy.ones([self._sizes[each] for each in (sizes if is_table else sizes[::-1])], numpy.float32)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
