"""A checkpoint's encoder as compiled code over packed weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from platformdirs import user_cache_path

from headway.checkpoints import Checkpoint, fingerprint
from headway.errors import UnsupportedError
from headway.kernels.cpu.compiled_encoder import CompiledEncoder, check_encoder_supported
from headway.kernels.cpu.packed_file import SMALL, packed_weights
from headway.kernels.cpu.packing import tree_bytes
from headway.kernels.cpu.progress import Progress, log_progress
from headway.kernels.cpu.row_products import HAS_ROW_TILES
from headway.kernels.cpu.runtime import Runtime
from headway.kernels.cpu.thread_pool import ThreadPool
from headway.trees import leaves, tree_from_leaves

NOT_PACKED = ("pooler", "masked_token_head", "classifier", "position_bias")
"""Fields of the weight tree that the kernels do not read, or read in float32."""


def can_compile_encoder(checkpoint: Checkpoint) -> bool:
    """Return True if the kernels support the encoder with this config."""
    try:
        check_encoder_supported(checkpoint.architecture.spec(checkpoint.config))
    except UnsupportedError:
        return False
    return True


def compiled_encoder(
    checkpoint: Checkpoint,
    path: Path,
    kind: str,
    *,
    num_threads: int | None = None,
    progress: Progress = log_progress,
    folder: Path | None = None,
) -> CompiledEncoder:
    """Return the compiled encoder of a checkpoint.

    kind, num_threads, progress, folder     as in headway.language_model.decoders.compiled_decoder

    Errors   UnsupportedError for an encoder that the kernels do not support; OptionError for a number of threads out of its range.
    """
    spec = checkpoint.architecture.spec(checkpoint.config)
    check_encoder_supported(spec)
    if kind == "int8" and HAS_ROW_TILES:
        kind = "int8_rows"
    folder = folder or user_cache_path("headway")
    runtime = Runtime(num_threads, folder / "compiled", progress)
    key = fingerprint(path)
    file = folder / "packed" / f"{key[:32]}-{kind}.weights"
    body = replace(checkpoint.weights, **dict.fromkeys(NOT_PACKED))
    weights = tree_from_leaves(type(body), packed_weights(file, key, kind, leaves(body), runtime))
    weights = replace(weights, position_bias=checkpoint.weights.position_bias)
    pool = runtime.pool
    if num_threads is None and tree_bytes(weights) < SMALL:
        pool.close()  # it may have packed the weights
        pool = ThreadPool(1)
    return CompiledEncoder(spec, weights, runtime.encoder_pass, pool, max_seq_len=checkpoint.config.max_seq_len)
