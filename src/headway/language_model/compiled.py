"""A checkpoint's decoder as compiled code over packed weights, or as steps that a GPU repeats."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from headway.arrays import Operations
from headway.checkpoints import Checkpoint, fingerprint
from headway.errors import OptionError, UnsupportedError
from headway.kernels.cpu.cache import KINDS
from headway.kernels.cpu.machine import Machine
from headway.kernels.cpu.packed_file import packed_weights
from headway.kernels.cpu.progress import Progress, no_progress
from headway.kernels.cpu.stack import Stack
from headway.trees import leaves

WEIGHTS = ("auto", "none", "float32", "bfloat16", "int8", "int4")
CACHES = {"float32": "float32", "bfloat16": "bfloat16", "int8": "int16", "int4": "int16"}
"""By the kind of the weights, how keys and values are kept where nothing else is said."""
SMALL = 16_000_000
"""Bytes of weights below which one thread is as fast as several, which would wait for one another more than they work."""


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


def compiled_stack(
    checkpoint: Checkpoint,
    path: Path,
    kind: str,
    *,
    num_threads: int | None = None,
    cache_kind: str | None = None,
    progress: Progress = no_progress,
    folder: Path | None = None,
) -> Stack:
    """The stack of a checkpoint whose weights are as they are stored.

    kind        float32, bfloat16, int8 or int4
    num_threads  one per physical core by default, and a single one for a small model
    cache_kind  of keys and values: float32, bfloat16, int16 or int8
    progress        called with what takes time before a generation can begin: see headway.kernels.cpu.progress
    folder      where packed weights and compiled code are kept; the user's cache folder by default

    Errors   UnsupportedError for an architecture that has no compiled decoder; OptionError for an unknown cache_kind.
    """
    if not hasattr(checkpoint.architecture, "stack"):
        name = checkpoint.architecture.__name__.rpartition(".")[2]
        raise UnsupportedError(f"came: packed weights for {name}; expected: gpt2, llama, qwen2 or qwen3; leave the option out")
    cache_kind = CACHES[kind] if cache_kind is None else cache_kind
    if cache_kind not in KINDS:
        raise OptionError(f"came: cache={cache_kind!r}; expected: {', '.join(KINDS)}")
    folder = folder or user_cache_path("headway")

    machine = Machine(num_threads, folder / "compiled", progress)
    key = fingerprint(path)
    file = folder / "packed" / f"{key[:32]}-{kind}.weights"
    weights = packed_weights(file, key, kind, leaves(checkpoint.weights), machine)
    is_small = num_threads is None and weights.num_bytes < SMALL
    team = Machine(1, machine.folder, progress).team if is_small else machine.team
    return Stack(checkpoint.architecture.stack(checkpoint.config), weights, machine.run, team, cache_kind=cache_kind)


def captured_stack(checkpoint: Checkpoint, ops: Operations) -> Any:
    """The stack of a decoder on PyTorch whose weights lie on a CUDA device; None for any other checkpoint."""
    if not hasattr(checkpoint.architecture, "stack") or not getattr(checkpoint.weights.token_embedding, "is_cuda", False):
        return None
    from headway.kernels import torch_stack

    return torch_stack.Stack(checkpoint.architecture, checkpoint.config, checkpoint.weights, ops)
