"""Headway itself: packed weights and compiled kernels."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.settings import THREADS
from headway.checkpoints import load_checkpoint
from headway.language_model.compiled import compiled_stack

Generate = Callable[[list[list[int]], int], list[float]]


def load(path: Path, num_sequences: int, max_seq_len: int, *, weights: str, cache: str) -> Generate:
    """See benchmarks.peers."""
    stack = compiled_stack(load_checkpoint(path, dtype=None), path, weights, num_threads=THREADS, cache_kind=cache)

    def generate(prompts: list[list[int]], num_tokens: int) -> list[float]:
        kv_cache, tokens, times = stack.new_cache(num_sequences, max_seq_len), prompts, []
        for _ in range(num_tokens):
            tokens = stack.next_logits(tokens, kv_cache).argmax(axis=-1)[:, None].tolist()
            times.append(time.perf_counter())
        return times

    return generate
