"""Requests on the compiled decoder: the same bits whatever else runs."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from platformdirs import user_cache_path

from headway.engine import Engine, EngineOptions, EngineThread, GenerationOptions, ModelLimits, Request
from headway.kernels.cpu.runtime import Runtime
from tests.engine.test_leaks import check_nothing_is_left, objects, run_many
from tests.kernels.cpu.packed_models import model

NAMES = ("gpt2", "llama with odd sizes and a window", "qwen3 with wide heads", "gemma3")
VOCAB_SIZE = 101


@pytest.fixture(scope="module")
def runtime():
    return Runtime(2, user_cache_path("headway") / "compiled")


def requests(seed):
    """Requests of different lengths, two with a common prefix, some that repeat themselves, one beam search, one with choices."""
    random = numpy.random.default_rng(seed)
    common = random.integers(0, VOCAB_SIZE, 120).tolist()  # the texts outgrow their first page of 128 tokens
    prompts = [[*common, 1, 2], [*common, 3], [5, 6, 7] * 40, random.integers(0, VOCAB_SIZE, 124).tolist(), [9], common]
    options = [
        GenerationOptions(max_new_tokens=12, num_log_probs=2),
        GenerationOptions(max_new_tokens=9, temperature=0.9, top_k=20, seed=3, num_log_probs=0),
        GenerationOptions(max_new_tokens=30, num_log_probs=1),
        GenerationOptions(max_new_tokens=8, num_beams=3, num_best=3),
        GenerationOptions(max_new_tokens=10, temperature=1.2, seed=5, repetition_penalty=1.2),
        GenerationOptions(max_new_tokens=15, temperature=1.0, seed=7),
    ]
    made = [Request(prompt, each) for prompt, each in zip(prompts, options, strict=True)]
    return [*made[:-1], replace(made[-1], num_choices=3)]


def run(engine, arrivals):
    """The events of requests that arrive at these passes."""
    events, number = [[] for _ in arrivals], 0
    pending = sorted(enumerate(arrivals), key=lambda each: each[1][0])
    while pending or engine.has_requests:
        while pending and pending[0][1][0] <= number:
            index, (_, request) = pending.pop(0)
            engine.add(request, events[index].extend, index=0)
        engine.step()
        engine.verify()
        number += 1
    return [sorted((replace(event, num_cached=0) for event in each), key=lambda event: event.choice) for each in events]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("kind", "cache"), [("float32", "float32"), ("bfloat16", "bfloat16"), ("int8", "int16"), ("int4", "int8")])
def test_tokens_and_log_probs_do_not_depend_on_the_schedule(runtime, name, kind, cache):
    decoder, given = model(name, kind, runtime, cache_kind=cache).decoder, requests(1)
    limits = ModelLimits(VOCAB_SIZE, 400)
    alone = []
    for request in given:
        engine = Engine(decoder, limits, options=EngineOptions(uses_prompt_lookup=False))
        alone += run(engine, [(0, request)])
    for gap, pages, arrivals in ((10.0, 100, [0] * 6), (1e-9, 9, [0, 3, 1, 6, 2, 4]), (1e-9, 7, [5, 0, 0, 0, 9, 9])):
        engine = Engine(decoder, limits, options=EngineOptions(cache_bytes=pages * decoder.page_bytes, max_gap_seconds=gap))
        assert run(engine, list(zip(arrivals, given, strict=True))) == alone
        if pages == 7:
            assert engine.stats.num_preemptions or decoder.window


@pytest.mark.parametrize("num_threads", [1, 3])
def test_tokens_and_log_probs_do_not_depend_on_the_number_of_threads(runtime, num_threads):
    other = Runtime(num_threads, runtime.folder)
    limits, results = ModelLimits(VOCAB_SIZE, 400), []
    for each in (runtime, other):
        engine = Engine(model(NAMES[0], "int8", each, cache_kind="int16").decoder, limits)
        results.append(run(engine, [(0, request) for request in requests(1)]))
    assert results[0] == results[1]


def open_files():
    return len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0


def test_no_thread_and_no_open_file_is_left_of_a_closed_decoder(runtime):
    before, threads = objects(), threading.active_count()
    files = open_files()
    decoder = model("gpt2", "int8", Runtime(2, runtime.folder), cache_kind="int16").decoder
    engine = Engine(decoder, ModelLimits(VOCAB_SIZE, 64), options=EngineOptions(cache_bytes=20 * decoder.page_bytes, max_running=5))
    thread = EngineThread(engine)
    ends = run_many(engine, 150, thread.submit, lambda: None)
    for _ in range(30_000):
        if not engine.has_requests:
            break
        time.sleep(0.01)
    thread.close()
    assert ends["finished"] > 75
    check_nothing_is_left(engine, before)
    decoder.close()
    assert threading.active_count() <= threads  # those of earlier tests may end meanwhile
    assert open_files() <= files
