"""Tensors of a checkpoint to a weight tree: finding, checking and converting each one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

import numpy

from headway.arrays import Array, array_library, as_dtype, at_least_float32, cast, dtype_name, from_numpy
from headway.errors import CheckpointError
from headway.json_files import short_repr
from headway.models.protocol import Architecture
from headway.models.stored import Stored
from headway.trees import tree_from_leaves

HINT = "download the folder again"
MISMATCH_HINT = "check that config.json and the weights belong to the same model"
LAYER_KEYS = ("num_hidden_layers", "n_layer", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers")
EXPERT_KEYS = ("num_experts", "num_local_experts")


class TensorFile(Protocol):
    """A file of tensors."""

    def shape(self, name: str, /) -> tuple[int, ...]:
        """Return the shape of a tensor, without reading it."""

    def tensor(self, name: str, /) -> numpy.ndarray:
        """Return a tensor."""

    def release(self, name: str, /) -> None:
        """Return the memory that reading a tensor took to the system."""


def expect_enough_tensors(config: Any, tensors: Mapping[str, TensorFile]) -> None:
    """Raise CheckpointError for a config with more layers or experts than the tensors can hold.

    It is checked before the table of places is made, whose memory is proportional to the numbers of the config.
    """
    layers = {key: getattr(config, key) for key in LAYER_KEYS if getattr(config, key, None) is not None}
    for key, count in layers.items():
        if count > len(tensors):
            raise CheckpointError(
                f"got {key}={count} and {len(tensors)} tensors, expected at least one tensor for each layer", hint=MISMATCH_HINT
            )
    shapes = [file.shape(name) for name, file in tensors.items()]
    stacked = max((shape[0] for shape in shapes if len(shape) == 3), default=0)  # in some files, one tensor has all experts of a layer
    for key in EXPERT_KEYS:
        count, num_layers = getattr(config, key, 0), max(layers.values(), default=1)
        if count > stacked and count * num_layers > len(tensors):
            raise CheckpointError(
                f"got {key}={count} in {num_layers} layers and {len(tensors)} tensors, expected at least one tensor for each expert",
                hint=MISMATCH_HINT,
            )


def read_weights(
    module: Architecture,
    config: Any,
    table: dict[str, Stored],
    tensors: Mapping[str, TensorFile],
    *,
    array: str,
    dtype: str | None,
    device: str | None,
) -> Any:
    """Return the weight tree of an architecture.

    table    the place of each leaf, as of module.stored_weights
    tensors  the file of each tensor, by the tensor's name
    array    the array library
    dtype    dtype of the leaves; None leaves each as it is stored

    Errors   CheckpointError for tensors that are missing, unexpected or of another shape.
    """
    names = _stored_names(table, module, tensors)
    absent = _absent_parts(table, names, tensors)
    table = {path: place for path, place in table.items() if place.part not in absent}
    names = {path: names[path] for path in table}
    _check_names(module, config, set(names.values()), tensors)
    for path, place in table.items():
        shape = tensors[names[path]].shape(names[path])
        if shape != place.shape:
            raise CheckpointError(
                f"got tensor {names[path]} of shape {shape}, expected {place.shape} according to config.json",
                hint=MISMATCH_HINT,
            )
    _unify_tied(table, names, tensors)
    remaining, converted, leaves = Counter(names.values()), {}, {}
    for path, place in table.items():
        name = names[path]
        if name not in converted:
            converted[name] = _converted(name, tensors[name], array, dtype, device)
        leaf = converted[name]
        leaf = leaf[place.index] if place.is_part else leaf
        leaf = leaf.T if place.is_transposed else leaf
        leaf = _contiguous(leaf) if place.step > 1 else leaf
        leaves[path] = at_least_float32(leaf) + place.offset if place.offset else leaf
        remaining[name] -= 1
        if not remaining[name]:
            del converted[name]  # its leaves may be copies
    return tree_from_leaves(module.Weights, leaves)


def _contiguous(leaf: Any) -> Any:
    """Return a copy without gaps between the elements, which products of NumPy and torch are slow with."""
    if hasattr(leaf, "contiguous"):
        return leaf.contiguous()
    return numpy.ascontiguousarray(leaf) if isinstance(leaf, numpy.ndarray) else leaf


def _converted(name: str, file: TensorFile, array: str, dtype: str | None, device: str | None) -> Any:
    """Return a tensor as an array of a library, in a dtype (None: as it is stored) and on a device."""
    stored = file.tensor(name)
    if dtype is None:
        return stored
    if dtype_name(stored.dtype) == dtype and array in ("numpy", "torch"):
        return from_numpy(stored, array, device)
    converted: Array
    if array == "numpy":
        is_shift = dtype == "float32" and dtype_name(stored.dtype) == "bfloat16"
        converted = _bfloat16_to_float32(stored) if is_shift else stored.astype(as_dtype(dtype, numpy))
    else:
        namespace = array_library(array)
        converted = cast(from_numpy(stored, array, device), as_dtype(dtype, namespace))
        if array == "mlx":
            namespace.eval(converted)
    del stored
    file.release(name)
    return converted


def _bfloat16_to_float32(stored: numpy.ndarray) -> numpy.ndarray:
    """Convert by shifting, because bfloat16 is the upper half of float32; it is several times faster than astype."""
    bits = stored.view(numpy.uint16).astype(numpy.uint32)
    bits <<= 16
    return bits.view(numpy.float32)


def _stored_names(table: Mapping[str, Stored], module: Architecture, tensors: Collection[str]) -> dict[str, str]:
    """Return the name of each leaf's tensor in these files, or the place's own name if there is none.

    Some files omit the prefix of the names, or have another; of tied tensors, a file may have any one, or all.
    """
    found = {}
    prefix, others = module.PREFIX, getattr(module, "OTHER_PREFIXES", ())

    def forms_of(name: str) -> list[str]:
        rest = name.removeprefix(prefix)
        return [name, rest, *(other + rest for other in others if rest != name)]

    for path, place in table.items():
        candidates = [*filter(None, [place.untied_name]), place.name, *place.other_names]
        forms = [form for name in candidates for form in forms_of(name)]
        found[path] = next((name for name in forms if name in tensors), place.name)
    return found


def _unify_tied(table: Mapping[str, Stored], names: dict[str, str], tensors: Mapping[str, TensorFile]) -> None:
    """Give tied leaves whose tensors are stored twice, with equal values, the same name, so that they share memory."""
    first: dict[str, str] = {}
    for path, place in table.items():
        name, other = names[path], first.setdefault(place.name, names[path])
        if name != other and _are_equal(tensors[name].tensor(name), tensors[other].tensor(other)):
            tensors[name].release(name)
            names[path] = other


def _are_equal(first: numpy.ndarray, second: numpy.ndarray) -> bool:
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    one, two, step = first.reshape(-1).view(numpy.uint8), second.reshape(-1).view(numpy.uint8), 2**20  # without large temporaries
    return all(numpy.array_equal(one[start : start + step], two[start : start + step]) for start in range(0, len(one), step))


def _absent_parts(table: Mapping[str, Stored], names: Mapping[str, str], tensors: Collection[str]) -> set[str]:
    """Return the optional parts of which no tensor is present; a tensor that another part or the rest of the model uses does not count.

    Errors   CheckpointError for a part of which some tensors are present and some are not.
    """
    parts = {place.part for place in table.values()}
    by_part = {part: {names[path] for path, place in table.items() if place.part == part} for part in parts}
    absent = set()
    for part in sorted(part for part in parts if part is not None):
        own = by_part[part] - by_part.get(None, set())
        others = set().union(*(names for other, names in by_part.items() if other not in (None, part)))
        own = own - others or own  # two heads of one architecture may share a layer
        missing = sorted(own - set(tensors))
        if missing and len(missing) < len(own):
            raise CheckpointError(f"got a checkpoint without {some(missing)}, expected all or none of the tensors of its {part}", hint=HINT)
        absent |= {part} if missing else set()
    return absent


def _check_names(module: Architecture, config: Any, names: set[str], tensors: Mapping[str, TensorFile]) -> None:
    """Raise CheckpointError for missing tensors, and for tensors that are neither used nor known to be unused."""
    missing = sorted(names - set(tensors))
    if missing:
        raise CheckpointError(
            f"got a checkpoint without {some(missing)}, expected every tensor of {module.__name__.rpartition('.')[2]}", hint=HINT
        )
    ignored = re.compile(f"({re.escape(module.PREFIX)})?({module.IGNORED_TENSORS})")
    unexpected = sorted(name for name in set(tensors) - names if not ignored.fullmatch(name))
    unexpected = [name for name in unexpected if not _is_redundant(module, config, name, tensors[name])]
    if unexpected:
        raise CheckpointError(
            f"got a checkpoint with the additional tensors {some(unexpected)}, expected only those that config.json implies",
            hint="the model has a part that is not supported, or config.json belongs to another model",
        )


def _is_redundant(module: Architecture, config: Any, name: str, file: TensorFile) -> bool:
    """Return True for a tensor whose values the architecture fixes.

    Errors   CheckpointError if the values in the file differ.
    """
    fixed = module.redundant_tensor(name, file.shape(name), config) if hasattr(module, "redundant_tensor") else None
    if fixed is None:
        return False
    stored = file.tensor(name)
    tolerance = 1e-5 if stored.dtype.itemsize > 2 else 0.004  # bfloat16 has 8 bits
    if not numpy.allclose(stored.astype(numpy.float32), fixed, rtol=0, atol=tolerance):
        raise CheckpointError(
            f"got tensor {name} with values of its own, expected those of the definition", hint="this variant is not supported"
        )
    return True


def some(names: Iterable[str]) -> str:
    """Return the first three names, shortened, and the number of the others."""
    shown = [name if name.isprintable() and len(name) <= 200 else short_repr(name) for name in names]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
