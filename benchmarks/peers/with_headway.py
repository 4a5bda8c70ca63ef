"""Headway itself: packed weights, compiled kernels, and the engine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.settings import THREADS
from headway.checkpoints import load_checkpoint
from headway.engine import Engine, EngineOptions, GenerationOptions, ModelLimits, Request
from headway.language_model.decoders import compiled_decoder

Generate = Callable[[list[list[int]], int], list[float]]


def load(path: Path, num_sequences: int, max_seq_len: int, *, weights: str, cache: str) -> Generate:
    """See benchmarks.peers."""
    checkpoint = load_checkpoint(path, dtype=None)
    runner = compiled_decoder(checkpoint, path, weights, num_threads=THREADS, cache_kind=cache)
    # The texts of random weights repeat themselves, which would favour prompt lookup.
    engine = Engine(runner, ModelLimits(checkpoint.config.vocab_size), options=EngineOptions(uses_prompt_lookup=False))

    def generate(prompts: list[list[int]], num_tokens: int) -> list[float]:
        times: list[float] = []
        requests = [Request(prompt, GenerationOptions(max_new_tokens=num_tokens)) for prompt in prompts]
        for number, _ in enumerate(engine.stream(requests), 1):
            if number % num_sequences == 0:
                times.append(time.perf_counter())
        engine.clear_prefix_cache()
        return times

    return generate
