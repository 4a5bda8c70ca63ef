"""The place of a weight tree's leaf in a checkpoint, in a form that serves reading and writing alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Stored:
    """The place of one leaf: a tensor of a checkpoint, some of its columns, or its transpose.

    name           the tensor's name in the checkpoint; leaves with the same name are tied: they share one tensor
    shape          the shape of the whole tensor in the checkpoint
    rows           (start, stop): the leaf is tensor[start:stop]; None for all rows
    columns        (start, stop): the leaf is tensor[..., start:stop]; None for all columns
    step           distance of the columns in the tensor
    leading        the leaf is a part of tensor[leading]; None for the whole tensor
    is_transposed  True if the leaf is the transpose of what is stored
    offset         added to what is stored; such a leaf is in at least float32
    part           the optional part of the model that the leaf belongs to, such as "pooler": a checkpoint has all of its
                   tensors or none of them, and without them the tree's field is None; None for a required tensor
    other_names    names that are tried after `name`: those of older checkpoints, and of tensors that `name` is tied to
    untied_name    of a tied leaf, the name of the tensor that the leaf has to itself in some checkpoints. It is tried before
                   `name`, because it may differ: transformers ties two tensors only if one is absent or both are equal
    """

    name: str
    shape: tuple[int, ...]
    columns: tuple[int, int] | None = None
    is_transposed: bool = False
    part: str | None = None
    other_names: tuple[str, ...] = ()
    untied_name: str | None = field(default=None, compare=False)  # tied leaves have equal places
    rows: tuple[int, int] | None = None
    offset: float = 0.0
    leading: int | None = None
    step: int = 1

    @property
    def index(self) -> tuple[Any, ...]:
        """The index of the leaf's elements in the tensor."""
        first = [] if self.leading is None else [self.leading]
        return (*first, *([slice(*self.rows)] if self.rows else []), ..., *([slice(*self.columns, self.step)] if self.columns else []))

    @property
    def is_part(self) -> bool:
        """True if the leaf is not the whole tensor."""
        return not (self.rows is None and self.columns is None and self.leading is None)

    @property
    def leaf_shape(self) -> tuple[int, ...]:
        """The shape of the leaf."""
        shape = list(self.shape if self.leading is None else self.shape[1:])
        for axis, part, step in ((0, self.rows, 1), (-1, self.columns, self.step)):
            if part:
                shape[axis] = len(range(*part, step))
        return tuple(reversed(shape) if self.is_transposed else shape)


def tie(shared: Stored, *places: Stored) -> tuple[Stored, ...]:
    """Return the places of leaves that are tied to one tensor, given the places that they would have untied.

    If the shared tensor is absent, the first of the others that is present takes its place.
    """
    names = tuple(place.name for place in places if place.name != shared.name)
    untied = [None if place.name == shared.name else place.name for place in places]
    return tuple(replace(shared, other_names=names, untied_name=name) for name in untied)


def stored_linear(path: str, name: str, out_features: int, in_features: int, *, has_bias: bool) -> dict[str, Stored]:
    """Return the places of a linear layer's weight, stored as (out, in), and of its bias if it has one."""
    stored = {f"{path}.weight": Stored(f"{name}.weight", (out_features, in_features))}
    return stored | ({f"{path}.bias": Stored(f"{name}.bias", (out_features,))} if has_bias else {})


def stored_norm(path: str, name: str, size: int, *, has_bias: bool = False, offset: float = 0.0) -> dict[str, Stored]:
    """Return the places of a norm's weight, which is stored minus an offset, and of its bias if it has one."""
    stored = {f"{path}.weight": Stored(f"{name}.weight", (size,), offset=offset)}
    return stored | ({f"{path}.bias": Stored(f"{name}.bias", (size,))} if has_bias else {})
