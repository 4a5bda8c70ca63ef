"""The engine under load: `python -m benchmarks.engine [FOLDER]` prints tables.

FOLDER is a checkpoint in the shape of Qwen2-0.5B, as `python -m benchmarks.tasks make_qwen2 FOLDER` writes it; without it only the embedded
model is measured. Nothing else should run on the machine.
"""

from __future__ import annotations

import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy

import headway
from headway.engine import Engine, EngineOptions, GenerationOptions, Request
from headway.language_model import LanguageModel

THREADS, LONG_PROMPT, ROUNDS = 2, 2048, 3


def main(folder: str = "") -> None:
    print("| what | measured |\n|---|---|")
    with headway.load("stories") as stories:
        _row("stories: one stream, tokens/s", f"{_one_stream(stories, 400):,.0f}")
        _row("stories: Python and sampling per pass of one stream", f"{_overhead(stories) * 1e6:.0f} µs")
        share, rate = _queue(stories)
        _row("stories: 1,000 queued requests, tokens/s; share of the time outside of the model", f"{rate:,.0f}; {share:.1%}")
    if not folder:
        return
    with headway.load(Path(folder), num_threads=THREADS) as model:
        _row("0.5B int8: one stream, tokens/s", f"{_one_stream(model, 48):.1f}")
        _row("0.5B int8: 16 streams, tokens/s", f"{_streams(model, 16, 48):.1f}")
        gap, longest = _gaps(model)
        _row(f"0.5B int8: gap of 4 streams while a prompt of {LONG_PROMPT:,} tokens is read, p99; longest", f"{gap:.3f} s; {longest:.3f} s")
        cold, warm, step = _shared_prefix(model)
        _row(
            f"0.5B int8: first token after {LONG_PROMPT:,} tokens; the same again; one pass of one row",
            f"{cold:.2f} s; {warm:.4f} s; {step:.4f} s ({warm / step:.2f} passes)",
        )
        # Random weights have no prose and copy nothing: their greedy text is a loop, and a sampled text never repeats itself.
        _row("0.5B int8: prompt lookup on a text that repeats itself, ratio to without", f"{_lookup(model, temperature=0.0):.2f}")
        _row("0.5B int8: prompt lookup on a text that does not, ratio to without", f"{_lookup(model, temperature=1.0):.2f}")
    with headway.load("stories") as stories:
        _row("stories: prompt lookup on stories, ratio to without", f"{_lookup(stories, temperature=0.0, num_tokens=300):.2f}")


def _row(name: str, value: str) -> None:
    print(f"| {name} | {value} |", flush=True)


def _random(length: int, seed: int = 0) -> list[int]:
    return numpy.random.default_rng(seed).integers(100, 5000, length).tolist()


def _one_stream(model: LanguageModel, num_tokens: int) -> float:
    """Return the tokens per second after the first, best of the rounds."""
    return max(_rate(model.engine, [_random(64, seed)], num_tokens) for seed in range(ROUNDS))


def _streams(model: LanguageModel, number: int, num_tokens: int) -> float:
    return max(_rate(model.engine, [_random(64, number * seed + i) for i in range(number)], num_tokens) for seed in range(ROUNDS))


def _rate(engine: Engine, prompts: list[list[int]], num_tokens: int, *, temperature: float = 0.0) -> float:
    options = GenerationOptions(max_new_tokens=num_tokens, temperature=temperature, seed=1)
    times = [time.perf_counter() for _ in engine.stream([Request(prompt, options) for prompt in prompts])]
    return (len(times) - len(prompts)) / (times[-1] - times[len(prompts) - 1])


def _overhead(model: LanguageModel) -> float:
    """Return the seconds of a pass of one row that are not the runner's."""
    before = model.engine.stats
    _rate(model.engine, [_random(20)], 400)
    after = model.engine.stats
    outside = (after.total_seconds - before.total_seconds) - (after.model_seconds - before.model_seconds)
    return outside / (after.num_passes - before.num_passes)


def _queue(model: LanguageModel) -> tuple[float, float]:
    """Return the share of the time outside of the model, and tokens per second, with 1,000 requests at once."""
    engine, before = model.engine, model.engine.stats
    requests = [Request(_random(16, seed), GenerationOptions(max_new_tokens=20)) for seed in range(1000)]
    started = time.perf_counter()
    num_tokens = sum(1 for _ in engine.stream(requests))
    seconds = time.perf_counter() - started
    return 1 - (engine.stats.model_seconds - before.model_seconds) / seconds, num_tokens / seconds


def _gaps(model: LanguageModel) -> tuple[float, float]:
    """Return the 99th percentile of the gaps between tokens of four streams while a long prompt is read, and the longest gap."""
    engine, last, gaps, is_reading = model.engine, {}, [], [False]

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


def _shared_prefix(model: LanguageModel) -> tuple[float, float, float]:
    """Return the seconds to the first token of a long prompt, of another one that differs at its end, and of a pass of one row there."""
    prompt = _random(LONG_PROMPT, 7)

    def first_token(token_ids: list[int]) -> tuple[float, float]:
        started = time.perf_counter()
        times = [time.perf_counter() for _ in model.engine.stream([Request(token_ids, GenerationOptions(max_new_tokens=12))])]
        return times[0] - started, statistics.median(b - a for a, b in pairwise(times[1:]))

    cold, _ = first_token(prompt)
    warm, step = min(first_token([*prompt[:-1], last]) for last in (1, 2, 3))
    return cold, warm, step


def _lookup(model: LanguageModel, *, temperature: float, num_tokens: int = 100) -> float:
    """Return the rate with prompt lookup over that without it, the median of interleaved rounds."""
    engines = [Engine(model.engine.runner, model.engine.limits, options=EngineOptions(uses_prompt_lookup=uses)) for uses in (True, False)]
    prompt = model.tokenizer.encode("Once upon a time") if model.tokenizer.vocab_size < 5000 else _random(64)
    rounds = [[_rate(engine, [prompt], num_tokens, temperature=temperature) for engine in engines] for _ in range(2 * ROUNDS)]
    return statistics.median(one / other for one, other in rounds)


if __name__ == "__main__":
    main(*sys.argv[1:])
