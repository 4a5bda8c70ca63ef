"""One measurement per process: `python -m benchmarks.tasks NAME …` prints one JSON object."""

from __future__ import annotations

import itertools
import json
import resource
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROMPT = list(range(100, 164))
NUM_TOKENS = 24


def make_qwen2(folder: str) -> dict[str, float]:
    """Random weights in the shape of Qwen2-0.5B, in float32, as transformers saves them."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=151936,
        hidden_size=896,
        intermediate_size=4864,
        num_hidden_layers=24,
        num_attention_heads=14,
        num_key_value_heads=2,
        max_position_embeddings=32768,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
    )
    Qwen2ForCausalLM(config).save_pretrained(folder, max_shard_size="10GB")
    return {}


def decode_headway(folder: str) -> dict[str, float]:
    """Tokens per second after the first, on NumPy."""
    from headway.checkpoints import load_checkpoint
    from headway.engine import Engine, GenerationOptions, Request
    from headway.runners import Model, ReferenceRunner
    from headway.trees import leaves

    loaded = load_checkpoint(Path(folder))
    model = Model(loaded.architecture, loaded.config, loaded.weights)
    engine = Engine(ReferenceRunner(model), model.limits)
    times = [time.perf_counter() for _ in engine.stream([Request(PROMPT, GenerationOptions(max_new_tokens=NUM_TOKENS))])]
    caches = loaded.architecture.new_kv_cache(loaded.config, 1, len(PROMPT) + NUM_TOKENS, loaded.weights.token_embedding)
    unique = {id(leaf): leaf.nbytes for _, leaf in leaves(loaded.weights)}
    return {
        "tokens_per_second": _pace(times),
        "weight_bytes": sum(unique.values()),
        "cache_bytes": sum(cache.keys.nbytes + cache.values.nbytes for cache in caches),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def decode_transformers(folder: str) -> dict[str, float]:
    """The same with transformers."""
    import torch
    from transformers import Qwen2ForCausalLM
    from transformers.generation.streamers import BaseStreamer

    class Clock(BaseStreamer):
        times: list[float] = []  # noqa: RUF012 - one per process

        def put(self, value: object) -> None:
            self.times.append(time.perf_counter())

        def end(self) -> None:
            pass

    model = Qwen2ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prompt = torch.tensor([PROMPT])
    options = {"max_new_tokens": NUM_TOKENS, "min_new_tokens": NUM_TOKENS, "do_sample": False, "streamer": Clock()}
    with torch.no_grad():
        model.generate(prompt, attention_mask=torch.ones_like(prompt), **options)
    return {"tokens_per_second": _pace(Clock.times[1:])}  # the first call hands over the prompt


def read_limit() -> dict[str, float]:
    """The fastest of several ways to read 2 GB of memory once, with all threads."""
    import os

    import numpy
    import torch

    num_threads = int(os.environ["OMP_NUM_THREADS"])
    numbers = numpy.ones(2_000_000_000 // 4, numpy.float32)
    parts = numpy.array_split(numbers, num_threads)
    with ThreadPoolExecutor(num_threads) as pool:
        ways = [
            lambda: list(pool.map(numpy.add.reduce, parts)),
            lambda: list(pool.map(numpy.max, parts)),
            lambda: list(pool.map(lambda part: numpy.dot(part, part), parts)),
            lambda: torch.from_numpy(numbers).sum(),
            lambda: torch.from_numpy(numbers).max(),
        ]
        return {"bytes_per_second": numbers.nbytes / min(_seconds(way) for way in ways)}


def _seconds(way: object) -> float:
    best = float("inf")
    for _ in range(4):
        started = time.perf_counter()
        way()  # type: ignore[operator]
        best = min(best, time.perf_counter() - started)
    return best


def _pace(times: list[float]) -> float:
    return 1 / statistics.median(later - earlier for earlier, later in itertools.pairwise(times))


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
