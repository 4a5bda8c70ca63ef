"""A checkpoint's decoder as compiled code over packed weights, or as steps captured as CUDA graphs."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from platformdirs import user_cache_path

from headway.arrays import Operations
from headway.checkpoints import Checkpoint, fingerprint
from headway.errors import OptionError, UnsupportedError
from headway.kernels.cpu.compiled_decoder import CompiledDecoder
from headway.kernels.cpu.kv_cache import KINDS
from headway.kernels.cpu.packed_file import SMALL, packed_weights
from headway.kernels.cpu.packing import tree_bytes
from headway.kernels.cpu.progress import Progress, log_progress
from headway.kernels.cpu.runtime import Runtime
from headway.kernels.cpu.support import check_supported
from headway.kernels.cpu.thread_pool import ThreadPool
from headway.trees import leaves, tree_from_leaves

if TYPE_CHECKING:
    from headway.kernels.captured_decoder import CapturedDecoder

WEIGHTS = ("auto", "none", "float32", "bfloat16", "int8", "int4")
CACHE_KINDS = {"float32": "float32", "bfloat16": "bfloat16", "int8": "int16", "int4": "int16"}
"""Default number format of keys and values, by the kind of the weights."""


def weights_kind(weights: str, array: str, dtype: str) -> str:
    """Return the kind of packed weights for an option; "none" means unpacked weights and the architecture's own forward pass.

    Errors   OptionError for an unknown kind, or for packed weights with another array library than NumPy or another dtype than float32.
    """
    if weights == "plain":
        warnings.warn('weights="plain" is deprecated; use weights="none"', DeprecationWarning, stacklevel=3)
        weights = "none"
    if weights not in WEIGHTS:
        raise OptionError(f"got weights={weights!r}, expected one of {', '.join(WEIGHTS)}", hint="leave it out for the default")
    is_default = array == "numpy" and dtype == "float32"
    if weights == "auto":
        return "int8" if is_default else "none"
    if weights != "none" and not is_default:
        raise OptionError(
            f"weights={weights!r} cannot be combined with array={array!r} and dtype={dtype!r}",
            hint='packed weights need array="numpy" and dtype="float32"; leave out one or the other',
        )
    return weights


def compiled_decoder(
    checkpoint: Checkpoint,
    path: Path,
    kind: str,
    *,
    num_threads: int | None = None,
    cache_kind: str | None = None,
    progress: Progress = log_progress,
    folder: Path | None = None,
    adapter: Path | None = None,
) -> CompiledDecoder:
    """Return the compiled decoder of a checkpoint whose weights are in the dtype of the file.

    kind         float32, bfloat16, int8 or int4
    num_threads  one per physical core by default, and one for a small model
    cache_kind   number format of keys and values: float32, bfloat16, int16 or int8
    progress     called with the work that is needed before a generation can begin: see headway.kernels.cpu.progress
    folder       folder for packed weights and compiled code; the user's cache folder by default
    adapter      folder of the adapter that is merged into the checkpoint's weights

    Errors   UnsupportedError for an architecture without a compiled decoder; OptionError for an unknown cache_kind or a number of
             threads out of its range.
    """
    _check_kernels_support(checkpoint)
    cache_kind = CACHE_KINDS[kind] if cache_kind is None else cache_kind
    if cache_kind not in KINDS:
        raise OptionError(f"got cache={cache_kind!r}, expected one of {', '.join(KINDS)}", hint="leave it out for the default")
    folder = folder or user_cache_path("headway")

    runtime = Runtime(num_threads, folder / "compiled", progress)
    key = fingerprint(path) if adapter is None else fingerprint(path, adapter)
    file = folder / "packed" / f"{key[:32]}-{kind}.weights"
    packed = packed_weights(file, key, kind, leaves(checkpoint.weights), runtime)
    weights = tree_from_leaves(type(checkpoint.weights), packed)
    pool = runtime.pool
    if num_threads is None and tree_bytes(weights) < SMALL:
        pool.close()  # it may have packed the weights
        pool = ThreadPool(1)
    spec = checkpoint.architecture.spec(checkpoint.config)
    return CompiledDecoder(spec, weights, runtime.forward_pass, pool, cache_kind=cache_kind)


def captured_decoder(checkpoint: Checkpoint, ops: Operations) -> CapturedDecoder | None:
    """Return a decoder with captured steps if the weights are PyTorch tensors on a CUDA device, otherwise None."""
    if checkpoint.architecture.KIND != "decoder" or not getattr(checkpoint.weights.token_embedding, "is_cuda", False):
        return None
    from headway.kernels.captured_decoder import CapturedDecoder, can_capture

    if not can_capture(checkpoint.architecture.spec(checkpoint.config)):
        return None
    return CapturedDecoder(cast(ModuleType, checkpoint.architecture), checkpoint.config, checkpoint.weights, ops)


def can_compile(checkpoint: Checkpoint) -> bool:
    """Return True if the kernels support the architecture with this config."""
    try:
        _check_kernels_support(checkpoint)
    except UnsupportedError:
        return False
    return True


def _check_kernels_support(checkpoint: Checkpoint) -> None:
    name, hint = checkpoint.architecture.__name__.rpartition(".")[2], "leave out the weights option for this model"
    if checkpoint.architecture.KIND != "decoder":
        raise UnsupportedError(f"got packed weights for {name}, expected a decoder, such as gpt2, llama, qwen2 or qwen3", hint=hint)
    try:
        check_supported(checkpoint.architecture.spec(checkpoint.config))
    except UnsupportedError as error:
        raise UnsupportedError(f"got packed weights for {name}: {error}", hint=hint) from error
