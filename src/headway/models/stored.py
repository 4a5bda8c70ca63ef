"""Where a leaf of a weight tree lies in a checkpoint, in a form that serves reading and writing alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stored:
    """One leaf's place: a tensor of a checkpoint, or some columns of one, or its transpose.

    name           the tensor's name in the checkpoint
    shape          the whole tensor's shape in the checkpoint
    columns        the first and the last-but-one column that belong to the leaf; all by default
    is_transposed  whether the leaf is the transpose of what is stored
    part           the optional part of the model that the leaf belongs to, such as "pooler": a checkpoint has all of its
                   tensors or none of them, and without them the tree's field is None; None for what no checkpoint may lack
    old_name       what early checkpoints call the tensor
    """

    name: str
    shape: tuple[int, ...]
    columns: tuple[int, int] | None = None
    is_transposed: bool = False
    part: str | None = None
    old_name: str | None = None

    @property
    def leaf_shape(self) -> tuple[int, ...]:
        """The leaf's own shape."""
        first, last = self.columns or (0, self.shape[-1])
        shape = (*self.shape[:-1], last - first)
        return shape[::-1] if self.is_transposed else shape


def stored_linear(path: str, name: str, out_features: int, in_features: int, *, has_bias: bool) -> dict[str, Stored]:
    """An affine map stored as (out, in)."""
    stored = {f"{path}.weight": Stored(f"{name}.weight", (out_features, in_features))}
    return stored | ({f"{path}.bias": Stored(f"{name}.bias", (out_features,))} if has_bias else {})


def stored_norm(path: str, name: str, size: int, *, has_bias: bool = False) -> dict[str, Stored]:
    """A norm's weight, and its bias where it has one."""
    stored = {f"{path}.weight": Stored(f"{name}.weight", (size,))}
    return stored | ({f"{path}.bias": Stored(f"{name}.bias", (size,))} if has_bias else {})
