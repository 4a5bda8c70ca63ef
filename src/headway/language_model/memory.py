"""Memory of models: estimated from the shapes in their files, and measured when they are loaded."""

from __future__ import annotations

import math
from collections.abc import Collection
from os import PathLike
from pathlib import Path
from typing import Protocol

from headway.arrays import check_computing
from headway.checkpoints import Checkpoint, open_checkpoint, read_adapter, update_bytes
from headway.engine.pages import PagePool
from headway.kernels.cpu.packed_file import kind_of
from headway.kernels.cpu.packing import num_bytes, tree_bytes
from headway.language_model.decoders import can_compile, weights_kind
from headway.language_model.encoders import can_compile_encoder
from headway.language_model.loading import resolve
from headway.language_model.model import LanguageModel
from headway.trees import leaves

ITEM_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}


class _Shaped(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...


def estimate_bytes(
    name_or_folder: str | PathLike[str],
    *,
    cache_bytes: int = 0,
    array: str = "numpy",
    dtype: str = "float32",
    weights: str = "auto",
    adapters: Collection[str | PathLike[str]] = (),
    ignored_config_keys: Collection[str] = (),
) -> int:
    """Return the bytes that the weights of a model, its adapters and its full KV cache will have.

    adapters   folders

    Only the shapes of weights are read, except that MXFP4 weights are dequantized in memory.
    The other keywords and the errors are those of headway.load.
    """
    check_computing(array, dtype, None)
    kind = weights_kind(weights, array, dtype)
    checkpoint = open_checkpoint(resolve(name_or_folder), dtype=None, ignored_config_keys=ignored_config_keys)
    if kind != "none" and weights == "auto" and not _has_kernels(checkpoint):
        kind = "none"
    tensors = {id(leaf): (path, leaf) for path, leaf in leaves(checkpoint.weights)}.values()
    has_cache = kind != "none" and checkpoint.architecture.KIND == "decoder"
    own = sum(_leaf_bytes(path, leaf, kind, dtype) for path, leaf in tensors)
    more = sum(update_bytes(read_adapter(checkpoint, Path(folder))) for folder in adapters)
    return own + more + (cache_bytes if has_cache else 0)


def weight_bytes(model: LanguageModel) -> int:
    """Return the bytes of a model's weights and its adapters in memory."""
    return tree_bytes(model.computed_weights) + model.adapter_bytes


def cache_bytes(model: LanguageModel) -> tuple[int, int]:
    """Return the bytes of a model's KV cache: those that are allocated, and the most that it may have. (0, 0) for one without pages."""
    pool = model.engine.pool
    return (pool.num_bytes, pool.max_bytes) if isinstance(pool, PagePool) else (0, 0)


def _has_kernels(checkpoint: Checkpoint) -> bool:
    return (can_compile_encoder if checkpoint.architecture.KIND == "encoder" else can_compile)(checkpoint)


def _leaf_bytes(path: str, leaf: _Shaped, kind: str, dtype: str) -> int:
    own = None if kind == "none" else kind_of(path, leaf, kind)
    if own is not None:
        rows, columns = leaf.shape
        return num_bytes(own, (rows, columns))
    return int(math.prod(leaf.shape)) * ITEM_BYTES[dtype]
