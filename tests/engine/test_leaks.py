"""After many requests, with aborts and errors among them, nothing is left of them: no page and no object."""

from __future__ import annotations

import gc
from collections import Counter

import numpy
import pytest

from headway.engine import Engine, EngineOptions, GenerationOptions, ModelLimits, Request, RequestFailed
from headway.engine.active import ActiveRequest
from headway.engine.beam_search import BeamSearch
from headway.engine.prefix_cache import Node
from headway.engine.sampler import Sampler
from headway.engine.sequence import Sequence
from tests.engine.paged_runner import VOCAB_SIZE, PagedRunner

OWNED = (ActiveRequest, BeamSearch, Sampler, Sequence)
"""Classes of which an engine without requests has no object."""


class CheapRunner(PagedRunner):
    """Logits drawn in advance, and an error in some passes."""

    def __init__(self, fails_every=0, **sizes):
        super().__init__(**sizes)
        self.drawn = numpy.random.default_rng(0).standard_normal((4096, VOCAB_SIZE)).astype(numpy.float32)
        self.num_passes, self.fails_every = 0, fails_every

    def run(self, batch):
        self.num_passes += 1
        if self.fails_every and self.num_passes % self.fails_every == 0:
            raise RuntimeError("the runner failed")
        start = self.num_passes % 4000
        return self.drawn[start : start + sum(rows.num_wanted for rows in batch)]


def fail(token_ids, logits):
    raise ValueError("the processor failed")


def some_request(number):
    """Most are sampled; there are beam searches, several choices, requests that fail, and requests that are too late."""
    kind = {3: "beams", 5: "choices", 7: "fails", 9: "late"}.get(number % 11, "")
    length = 1 + number % 6
    options = {"num_beams": 2} if kind == "beams" else {"temperature": 1.0, "seed": number}
    return Request(
        [number % VOCAB_SIZE, 3, 5, number % 7] * (1 + number % 3),
        GenerationOptions(max_new_tokens=length, **options),
        num_choices=2 if kind == "choices" else 1,
        timeout_seconds=0.0 if kind == "late" else None,
        cache_key=str(number % 3),
        make_processors=(lambda: [fail]) if kind == "fails" else tuple,
    )


def run_many(engine, number_of_requests, submit, wait):
    """Add requests, abort some, and wait for the others; return the number of each kind of end."""
    ends = Counter()

    def sink(events):
        for event in events:
            if isinstance(event, RequestFailed):
                ends["failed"] += 1
            elif event.finish_reason:
                ends["finished"] += 1

    for number in range(number_of_requests):
        submitted = submit(some_request(number), sink)
        if number % 13 == 0:
            engine.abort(submitted)
        wait()
    return ends


def objects():
    gc.collect()
    return Counter(type(each) for each in gc.get_objects() if isinstance(each, OWNED))


def check_nothing_is_left(engine, before):
    engine.verify()
    assert not engine.has_requests
    assert engine.pool.usage == 0
    assert engine.pool.num_available == engine.pool.max_pages
    assert len(engine.pool.prefixes) <= engine.pool.max_pages
    assert objects() == before
    engine.clear_prefix_cache()
    assert len(engine.pool.prefixes) == 0


@pytest.mark.parametrize("number", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_nothing_is_left_after_many_requests(number):
    before, nodes = objects(), sum(isinstance(each, Node) for each in gc.get_objects())
    runner = CheapRunner(fails_every=97)
    engine = Engine(runner, ModelLimits(VOCAB_SIZE, 64), options=EngineOptions(cache_bytes=12, max_running=5, max_gap_seconds=10.0))
    ends = run_many(engine, number, engine.add, engine.step)
    while engine.step():
        pass
    assert ends["finished"] > number / 2
    assert ends["failed"] > number / 6
    assert engine.stats.num_preemptions > 0
    check_nothing_is_left(engine, before)
    # What remains is one empty root per cache key.
    assert sum(isinstance(each, Node) for each in gc.get_objects()) - nodes <= 3
