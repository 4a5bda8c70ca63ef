"""The engine under load: `python -m benchmarks.engine [FOLDER]` prints tables.

FOLDER is a checkpoint in the shape of Qwen2-0.5B, as `python -m benchmarks.tasks make_qwen2 FOLDER` writes it; without it only the embedded
model is measured. Nothing else should run on the machine.
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy

import headway
from headway.checkpoints import load_checkpoint
from headway.engine import Engine, EngineOptions, GenerationOptions, ModelLimits, Request
from headway.functions import LinearWeights
from headway.kernels import operations
from headway.kernels.cpu.compiled_decoder import CompiledDecoder
from headway.language_model.decoders import compiled_decoder
from headway.models.adapter import Update

THREADS, LONG_PROMPT, ROUNDS = 2, 2048, 3


def main(folder: str = "") -> None:
    print("| what | measured |\n|---|---|")
    stories = headway.load("stories").engine
    _row("stories: one stream, tokens/s", f"{_one_stream(stories, 400):,.0f}")
    total, own = _python_work(stories)
    _row("stories: Python work of one pass of one stream, total; of it in the engine", f"{total * 1e6:.0f} µs; {own * 1e6:.0f} µs")
    share, rate = _queue(stories)
    _row("stories: 1,000 queued requests, tokens/s; share of the time outside of the model", f"{rate:,.0f}; {share:.1%}")
    _row("stories: tokens/s of 1 stream; with an adapter; of 8; with it; of 4 with it and 4 without", _adapters(stories))
    _row("stories: prompt lookup on stories, ratio to without", f"{_lookup(stories):.2f}")
    if folder:
        model = random_engine(Path(folder))
        _row("0.5B int8: one stream, tokens/s", f"{_one_stream(model, 48):.1f}")
        _row("0.5B int8: 16 streams, tokens/s", f"{_streams(model, 16, 48):.1f}")
        gap, longest = _gaps(model)
        _row(f"0.5B int8: gap of 4 streams while a prompt of {LONG_PROMPT:,} tokens is read, p99; longest", f"{gap:.3f} s; {longest:.3f} s")
        cold, warm, step = _shared_prefix(model)
        _row(
            f"0.5B int8: first token after {LONG_PROMPT:,} tokens; the same again; one pass of one row",
            f"{cold:.2f} s; {warm:.4f} s; {step:.4f} s ({warm / step:.2f} passes)",
        )


def random_engine(folder: Path) -> Engine:
    """Return an engine over the compiled decoder of a checkpoint, with int8 weights."""
    checkpoint = load_checkpoint(folder, dtype=None)
    runner = compiled_decoder(checkpoint, folder, "int8", num_threads=THREADS)
    return Engine(runner, ModelLimits(checkpoint.config.vocab_size, checkpoint.config.max_seq_len), sampling_ops=operations("numpy"))


def _row(name: str, value: str) -> None:
    print(f"| {name} | {value} |", flush=True)


def _random(length: int, seed: int = 0) -> list[int]:
    return numpy.random.default_rng(seed).integers(100, 4000, length).tolist()


def _one_stream(engine: Engine, num_tokens: int) -> float:
    """Return the tokens per second of one stream without prompt lookup, best of the rounds."""
    return _streams(engine, 1, num_tokens)


def _streams(engine: Engine, number: int, num_tokens: int) -> float:
    # The greedy texts of random weights repeat themselves.
    engine = Engine(engine.runner, engine.limits, options=EngineOptions(uses_prompt_lookup=False))
    return max(_rate(engine, [_random(64, number * seed + i) for i in range(number)], num_tokens) for seed in range(ROUNDS))


def _rate(engine: Engine, prompts: list[list[int]], num_tokens: int) -> float:
    """Return the tokens per second from the first token of the last prompt to the first end."""
    options = GenerationOptions(max_new_tokens=num_tokens)
    started, number, begun = 0.0, 0, set[int]()
    for token in engine.stream([Request(prompt, options) for prompt in prompts]):
        number += len(begun) == len(prompts)
        begun.add(token.index)
        if not started and len(begun) == len(prompts):
            started = time.perf_counter()
        if token.finish_reason:
            break
    return number / (time.perf_counter() - started)


def _python_work(engine: Engine) -> tuple[float, float]:
    """Return the seconds of a pass of one row that are not in the compiled forward pass, and those outside of the runner; medians."""
    runner, compiled = cast(CompiledDecoder, engine.runner), [0.0]
    forward_pass = runner._forward_pass

    def timed_pass(address: int, thread: int) -> None:
        started = time.perf_counter()
        forward_pass(address, thread)
        compiled[0] = time.perf_counter() - started

    runner._forward_pass = timed_pass
    totals, own, engine = [], [], Engine(runner, engine.limits)
    for seed in range(8):
        engine.add(Request(_random(20, seed), GenerationOptions(max_new_tokens=400)), lambda events: None)
        while engine.has_requests:
            before = engine._model_seconds
            started = time.perf_counter()
            engine.step()
            seconds = time.perf_counter() - started
            totals.append(seconds - compiled[0])
            own.append(seconds - (engine._model_seconds - before))
    runner._forward_pass = forward_pass
    return statistics.median(totals), statistics.median(own)


def _queue(engine: Engine) -> tuple[float, float]:
    """Return the share of the time outside of the model, and tokens per second, with 1,000 requests at once."""
    before = engine.stats
    requests = [Request(_random(16, seed), GenerationOptions(max_new_tokens=20)) for seed in range(1000)]
    started = time.perf_counter()
    num_tokens = sum(1 for _ in engine.stream(requests))
    seconds = time.perf_counter() - started
    return 1 - (engine.stats.model_seconds - before.model_seconds) / seconds, num_tokens / seconds


def _adapters(engine: Engine) -> str:
    """Return the tokens per second of streams without and with an adapter of rank 16 on all matrices, medians of five rounds."""
    runner, random, updates = cast(CompiledDecoder, engine.runner), numpy.random.default_rng(0), {}
    for index, layer in enumerate(runner.weights.layers):
        for part in (layer.attention, layer.feed_forward):
            for field in fields(part):
                weights = getattr(part, field.name)
                if isinstance(weights, LinearWeights):
                    (rows, columns), name = weights.weight.shape, "attention" if part is layer.attention else "feed_forward"
                    down, up = (0.01 * random.standard_normal(shape) for shape in ((16, columns), (rows, 16)))
                    updates[f"layers.{index}.{name}.{field.name}.weight"] = Update(down, up, 1.0)
    runner.add_adapter("benchmark", updates)
    cases = [[None], ["benchmark"], [None] * 8, ["benchmark"] * 8, [None, "benchmark"] * 4]
    rates: list[list[float]] = [[] for _ in cases]
    for _ in range(5):
        for adapters, measured in zip(cases, rates, strict=True):
            fresh = Engine(runner, engine.limits, options=EngineOptions(uses_prompt_lookup=False))
            options = GenerationOptions(max_new_tokens=150)
            started = time.perf_counter()
            stream = fresh.stream([Request(_random(16, seed), options, adapter=name) for seed, name in enumerate(adapters)])
            measured.append(sum(1 for _ in stream) / (time.perf_counter() - started))
    return "; ".join(f"{statistics.median(each):,.0f}" for each in rates)


def _gaps(engine: Engine) -> tuple[float, float]:
    """Return the 99th percentile of the gaps between tokens of four streams while a long prompt is read, and the longest gap."""
    last, gaps, is_reading = dict[int, float](), list[float](), [False]

    def sink(index: int, events: list[object]) -> None:
        now = time.perf_counter()
        if is_reading[0] and index in last:
            gaps.append(now - last[index])
        last[index] = now

    numbers = []
    for index in range(4):
        request = Request(_random(64, 50 + index), GenerationOptions(max_new_tokens=400))
        numbers.append(engine.add(request, lambda events, index=index: sink(index, events)))
    for _ in range(10):
        engine.step()
    done: list[object] = []
    is_reading[0] = True
    engine.add(Request(_random(LONG_PROMPT, 99), GenerationOptions(max_new_tokens=1)), done.extend)
    while not done:
        engine.step()
    for number in numbers:
        engine.abort(number)
    engine.step()
    return float(numpy.quantile(gaps, 0.99)), max(gaps)


def _shared_prefix(engine: Engine) -> tuple[float, float, float]:
    """Return the seconds to the first token of a long prompt, of another one that differs at its end, and of a pass of one row there."""
    prompt = _random(LONG_PROMPT, 7)

    def first_token(token_ids: list[int]) -> tuple[float, float]:
        started = time.perf_counter()
        times = [time.perf_counter() for _ in engine.stream([Request(token_ids, GenerationOptions(max_new_tokens=12))])]
        return times[0] - started, statistics.median(b - a for a, b in pairwise(times[1:]))

    cold, _ = first_token(prompt)
    warm, step = min(first_token([*prompt[:-1], last]) for last in (1, 2, 3))
    return cold, warm, step


def _lookup(engine: Engine) -> float:
    """Return the rate with prompt lookup over that without it, the median of interleaved rounds."""
    engines = [Engine(engine.runner, engine.limits, options=EngineOptions(uses_prompt_lookup=uses)) for uses in (True, False)]
    prompts = [_random(64, seed) for seed in range(2 * ROUNDS)]
    rounds = [[_rate(each, [prompt], 300) for each in engines] for prompt in prompts]
    return statistics.median(one / other for one, other in rounds)


if __name__ == "__main__":
    main(*sys.argv[1:])
