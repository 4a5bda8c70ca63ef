"""Requests that start at different times are computed together on the definitions, with the tokens that each gets alone."""

from __future__ import annotations

import numpy
import pytest

from headway.engine import GenerationOptions, Request
from headway.functions import KVCache
from headway.models import gpt2, llama
from tests.engine.oracles import prompts
from tests.engine.test_generation import watched
from tests.small_models import GPT2, LLAMA, engine

LENGTHS = (9, 14, 6, 12, 3)
PROMPTS = [[5, 7, 11], [2, 3, 5, 7, 11, 13, 17], [31], [4, 4, 9, 1, 30, 22, 8, 8, 2], [19, 3]]


def options(index):
    return GenerationOptions(max_new_tokens=LENGTHS[index], temperature=0.0 if index % 2 else 0.9, seed=index, num_log_probs=0)


def run(engine, arrivals):
    """The events of requests by index, each added before the pass of its number."""
    events = {index: [] for index in arrivals}
    for number in range(40):
        for index, arrival in arrivals.items():
            if arrival == number:
                engine.add(Request(PROMPTS[index], options(index)), events[index].extend, index=0)
        engine.step()
    return events


@pytest.mark.parametrize("array", ["numpy", "torch"])
@pytest.mark.parametrize(("architecture", "config"), [(gpt2, GPT2), (llama, LLAMA)], ids=["gpt2", "llama"])
def test_requests_that_start_later_get_the_tokens_that_they_get_alone(architecture, config, array):
    model, calls = watched(engine(architecture, config, array))
    together = run(model, {0: 0, 1: 2, 2: 3, 3: 3, 4: 7})
    # A pass is one call for the running sequences, and at three times one for prompts.
    assert len(calls["hidden_states"]) == model.stats.num_passes + 3
    assert (5, 1) in calls["hidden_states"]
    for index in range(5):
        (alone,) = run(engine(architecture, config, array), {index: 0}).values()
        assert [event.token_id for event in together[index]] == [event.token_id for event in alone]
        assert [event.log_prob for event in together[index]] == pytest.approx([event.log_prob for event in alone], abs=1e-4)


def test_a_beam_search_and_a_window_among_requests_that_start_later(oracle):
    """A sliding window and soft caps; a beam search branches and drops rows of the common batch."""
    model, given = oracle("gemma2"), prompts(7, 11, 5)
    requests = [
        Request(given[0], GenerationOptions(max_new_tokens=12)),
        Request(given[1], GenerationOptions(max_new_tokens=9, num_beams=3)),
        Request(given[2], GenerationOptions(max_new_tokens=10)),
    ]
    together, running = [[], [], []], model.engine()
    for index, request in enumerate(requests):
        running.add(request, together[index].extend, index=0)
        running.step()
    while running.step():
        pass
    assert len(running.runner._groups) <= 1
    for events, request in zip(together, requests, strict=True):
        assert [event.token_id for event in events] == [token.token_id for token in model.engine().stream([request])]


def test_a_batch_does_not_grow_with_the_time_that_it_runs():
    """As long as requests overlap, the padding is that of the longest one."""
    model = engine()
    for number in range(30):
        model.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=4)), [].extend)
        model.step()
        (group,) = model.runner._groups
        assert max(cache.max_seq_len for cache in group.kv_cache) <= 3 + 4 + 4, number


def test_joined_caches_hold_the_last_positions_of_each_row():
    random = numpy.random.default_rng(0)
    caches = [KVCache.empty((rows, 2, 9, 5), random.standard_normal(1)) for rows in (1, 3)]
    keys, values = ([random.standard_normal((rows, 2, length, 5)) for rows, length in ((1, 6), (3, 3))] for _ in range(2))
    for cache, key, value in zip(caches, keys, values, strict=True):
        cache.append(key, value)
    joined = KVCache.join(caches, 4, 7)
    assert (joined.keys.shape, joined.values.shape, joined.length) == ((4, 2, 7, 5), (4, 2, 7, 5), 4)
    numpy.testing.assert_array_equal(joined.keys[:1, :, :4], keys[0][:, :, 2:])
    numpy.testing.assert_array_equal(joined.values[1:, :, 1:4], values[1])
    assert not joined.keys[1:, :, 0].any()
