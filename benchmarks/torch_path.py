"""Decoding and prompts on PyTorch against what the device allows, and against transformers: `python -m benchmarks.torch_path [tiny]`.

The shape of Qwen2-0.5B, random weights in bfloat16, on CUDA where there is one, else on the CPU; `tiny` is a shape in which nothing
measured means anything, to see that the command works. A step of decoding reads every weight and the filled cache, and its share is of
what a copy within the device reads and writes; a prompt's share is of a large product's pace. Steps are captured on CUDA alone. Tokens
per second of whole requests, greedy, are those of the engine, and of transformers' generate with a dynamic cache, and with a static one, for
which it compiles the step.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import transformers

from headway.engine import Engine, GenerationOptions, Request, SequenceRows
from headway.kernels import operations
from headway.kernels.captured_decoder import CapturedDecoder, cuda_graph
from headway.models import qwen2
from headway.runners import CapturedRunner, Model, ReferenceRunner
from headway.trees import leaves, tree_from_leaves

ROPE = {"rope_type": "default", "rope_theta": 1e6}
QWEN2 = qwen2.Config(
    vocab_size=151936,
    hidden_size=896,
    intermediate_size=4864,
    num_hidden_layers=24,
    num_attention_heads=14,
    num_key_value_heads=2,
    rope_parameters=ROPE,
    tie_word_embeddings=True,
)
TINY = replace(QWEN2, vocab_size=300, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STEPS, ROUNDS, NEW_TOKENS = 64, 5, 128


def main(size: str = "") -> None:
    is_tiny = size == "tiny"
    config = TINY if is_tiny else QWEN2
    model = Model(qwen2, config, _weights(config), "torch", DEVICE, operations("torch"))
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"{name}, torch {torch.__version__}, bfloat16, {'a tiny shape' if is_tiny else 'shape of Qwen2-0.5B'}\n")
    long, large = (100, 256) if is_tiny else (4096, 8192 if DEVICE == "cuda" else 2048)
    copying, product = _copy(1 << (20 if is_tiny else 30)), _product(large)
    print(f"copy within the device: {copying / 1e9:,.1f} GB/s; large product: {product / 1e12:,.3f} TFLOP/s\n")

    print("| decode | ms per step | tokens/s | share of the copy | ms of the first step |\n|---|---|---|---|---|")
    for num_rows, context in ((1, 64), (1, long), (16, 64)):
        for way, runner in _ways(model).items():
            first, step = _decode(runner, num_rows, context)
            moved = _read_by_a_step(model, num_rows, context)
            print(
                f"| {num_rows} after {context}, {way} | {step * 1e3:.3f} | {num_rows / step:,.1f} | {moved / step / copying:.2f} | {first * 1e3:.1f} |",
                flush=True,
            )

    passes = ReferenceRunner(model)
    print("\n| prompt | ms | tokens/s | share of the product |\n|---|---|---|---|")
    for length in (64, long) if is_tiny else (512, long):
        elapsed = _median(lambda length=length: _read(passes, length))
        share = _operations_of_a_prompt(config, length) / elapsed / product
        print(f"| {length} | {elapsed * 1e3:.1f} | {length / elapsed:,.0f} | {share:.2f} |", flush=True)

    print("\n| requests of 64 tokens, 128 new ones each | tokens/s |\n|---|---|")
    peer = _peer(config)
    for num_rows in (1, 16):
        for way, runner in _ways(model).items():
            print(f"| {num_rows}, {way} | {_tokens_per_second(partial(_generate, runner, num_rows), num_rows):,.1f} |", flush=True)
        for cache in ("dynamic", "static"):
            pace = _tokens_per_second(partial(_generate_by_peer, peer, num_rows, cache), num_rows)
            print(f"| {num_rows}, transformers {transformers.__version__}, {cache} cache | {pace:,.1f} |", flush=True)
    if DEVICE == "cuda":
        print(f"\npeak memory: {torch.cuda.max_memory_allocated() / 1e9:.2f} GB")


def _ways(model: Model) -> dict[str, ReferenceRunner]:
    """Return the architecture's own passes, and captured steps; where there is no CUDA, the steps as they are."""
    capture = cuda_graph if DEVICE == "cuda" else lambda step: step
    decoder = CapturedDecoder(model.architecture, model.config, model.weights, model.ops, capture=capture)
    return {"passes": ReferenceRunner(model), "captured steps" if DEVICE == "cuda" else "steps": CapturedRunner(model, decoder)}


def _generate(runner: ReferenceRunner, num_rows: int) -> None:
    options = GenerationOptions(max_new_tokens=NEW_TOKENS)
    requests = [Request([1 + row] * 64, options, ()) for row in range(num_rows)]
    engine = Engine(runner, runner.model.limits, sampling_ops=operations("numpy"))
    assert sum(1 for _ in engine.stream(requests)) == NEW_TOKENS * num_rows


def _peer(config: Any) -> Any:
    """Return transformers' model of the same shape, with random weights in bfloat16."""
    names = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
    sizes = {name: getattr(config, name) for name in names}
    with torch.device(DEVICE):
        return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**sizes, tie_word_embeddings=True)).to(torch.bfloat16).eval()


def _generate_by_peer(peer: Any, num_rows: int, cache: str) -> None:
    token_ids = torch.arange(1, num_rows + 1, device=DEVICE)[:, None].expand(-1, 64).contiguous()
    result = peer.generate(
        token_ids,
        attention_mask=torch.ones_like(token_ids),
        max_new_tokens=NEW_TOKENS,
        min_new_tokens=NEW_TOKENS,
        do_sample=False,
        pad_token_id=0,
        cache_implementation=cache,
    )
    assert result.shape[1] == 64 + NEW_TOKENS


def _tokens_per_second(work: Callable[[], Any], num_rows: int) -> float:
    return num_rows * NEW_TOKENS / _median(work)


def _weights(config: Any) -> Any:
    torch.manual_seed(0)
    by_place = {
        place: (torch.randn(place.leaf_shape, device=DEVICE) * 0.02).to(torch.bfloat16)
        for place in dict.fromkeys(qwen2.stored_weights(config).values())
    }
    return tree_from_leaves(qwen2.Weights, {path: by_place[place] for path, place in qwen2.stored_weights(config).items()})


def _copy(num_bytes: int) -> float:
    source = torch.zeros(num_bytes, dtype=torch.uint8, device=DEVICE)
    target = torch.empty_like(source)
    return 2 * num_bytes / _median(lambda: target.copy_(source))


def _product(size: int) -> float:
    one, other = (torch.randn(size, size, device=DEVICE).to(torch.bfloat16) for _ in range(2))
    return 2 * size**3 / _median(lambda: one @ other)


def _decode(runner: ReferenceRunner, num_rows: int, context: int) -> tuple[float, float]:
    """Return the seconds of the first step and of a later one, including the copy of the logits to the host."""
    runner.run(_rows(num_rows, 0, context, context + STEPS + 1))
    times = [_timed(lambda step=step: runner.run(_rows(num_rows, context + step, 1))) for step in range(STEPS)]
    runner.release(range(num_rows))
    return times[0], statistics.median(times[1:])


def _read(runner: ReferenceRunner, length: int) -> None:
    runner.run(_rows(1, 0, length, length))
    runner.release([0])


def _rows(num_rows: int, start: int, length: int, max_len: int = 0) -> list[SequenceRows]:
    return [SequenceRows(row, row, start, [1] * length, (), 1, max_len) for row in range(num_rows)]


def _read_by_a_step(model: Model, num_rows: int, context: int) -> int:
    config, unique = model.config, {id(leaf): leaf.nbytes for _, leaf in leaves(model.weights)}
    return sum(unique.values()) + 2 * num_rows * context * 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim


def _operations_of_a_prompt(config: Any, length: int) -> int:
    queries, keys = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    weights = config.hidden_size * (2 * queries + 2 * keys + 3 * config.intermediate_size)
    attention = 2 * queries * length  # of scores and of values, of which half are hidden
    return config.num_hidden_layers * length * (2 * weights + attention) + 2 * config.vocab_size * config.hidden_size


def _median(work: Callable[[], Any]) -> float:
    work()
    return statistics.median(_timed(work) for _ in range(ROUNDS))


def _timed(work: Callable[[], Any]) -> float:
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    started = time.perf_counter()
    work()
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started


if __name__ == "__main__":
    main(*sys.argv[1:])
