"""Requests with different adapters in one engine: each gets the tokens of the model into which its adapter is merged."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from headway.arrays import from_numpy
from headway.engine import GenerationOptions, Request, SequenceRows
from headway.errors import OptionError
from headway.models import gpt2, llama
from headway.models.adapter import Update
from headway.trees import map_tree, replace_leaves
from tests.engine.paged_runner import paged_engine
from tests.small_models import GPT2, LLAMA, engine_of, random_weights, small_model

PROMPTS = [[5, 7, 11], [2, 3, 5, 7, 11, 13, 17], [5, 7, 11], [19, 3], [31]]
ADAPTERS = [None, "a", "b", "a", None]


def random_updates(architecture, config, seed, rank=2):
    """An adapter of some matrices of the first layer, and of all matrices of the second."""
    random, updates = numpy.random.default_rng(seed), {}
    for path, place in architecture.stored_weights(config).items():
        parts = path.split(".")
        if path.endswith(".weight") and len(place.leaf_shape) == 2 and (parts[:2] == ["layers", "1"] or parts[-2] in ("query", "down")):
            rows, columns = place.leaf_shape
            down, up = random.standard_normal((rank, columns)), random.standard_normal((rows, rank))
            updates[path] = Update(down.astype(numpy.float32), up.astype(numpy.float32), 0.4)
    return updates


def merged_model(architecture, config, updates, array):
    weights = random_weights(architecture, config)
    merged = replace_leaves(lambda path, leaf: leaf + updates[path].product() if path in updates else leaf, weights)
    return replace(small_model(architecture, config, array), weights=map_tree(lambda leaf: from_numpy(leaf, array), merged))


def run(engine, requests, gap=2):
    """The events of requests that arrive some passes after each other."""
    events = [[] for _ in requests]
    for request, each in zip(requests, events, strict=True):
        engine.add(request, each.extend, index=0)
        for _ in range(gap):
            engine.step()
    while engine.step():
        pass
    return events


@pytest.mark.parametrize("array", ["numpy", "torch", "jax"])
@pytest.mark.parametrize(("architecture", "config"), [(gpt2, GPT2), (llama, LLAMA)], ids=["gpt2", "llama"])
def test_adapters_in_one_batch_give_the_tokens_of_merged_models(architecture, config, array):
    if array != "numpy":
        pytest.importorskip(array)
    updates = {name: random_updates(architecture, config, seed) for seed, name in enumerate("ab")}
    engine = engine_of(small_model(architecture, config, array))
    for name, each in updates.items():
        engine.runner.add_adapter(name, each)
    options = GenerationOptions(max_new_tokens=9, num_log_probs=0)
    together = run(engine, [Request(prompt, options, adapter=name) for prompt, name in zip(PROMPTS, ADAPTERS, strict=True)])
    for prompt, name, events in zip(PROMPTS, ADAPTERS, together, strict=True):
        (expected,) = run(engine_of(merged_model(architecture, config, updates.get(name, {}), array)), [Request(prompt, options)])
        assert [event.token_id for event in events] == [event.token_id for event in expected]
        assert [event.log_prob for event in events] == pytest.approx([event.log_prob for event in expected], abs=1e-4)
    assert [event.token_id for event in together[0]] != [event.token_id for event in together[2]]


def test_requests_of_one_adapter_join_a_batch():
    engine = engine_of(small_model())
    engine.runner.add_adapter("a", random_updates(gpt2, GPT2, 0))
    for name in ("a", None, "a", None):
        engine.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=9), adapter=name), [].extend)
        engine.step()
    assert {group.adapter: len(group.owners) for group in engine.runner._groups} == {"a": 2, None: 2}


def test_an_unknown_adapter_is_refused():
    engine = engine_of(small_model())
    engine.runner.add_adapter("a", random_updates(gpt2, GPT2, 0))
    with pytest.raises(OptionError, match="got adapter='b', expected one of those that are loaded: a"):
        engine.add(Request([1, 2], adapter="b"), [].extend)


def test_a_runner_refuses_an_unknown_adapter_and_keeps_its_sequences():
    runner = engine_of(small_model()).runner
    runner.run([SequenceRows(0, 0, 0, [1, 2], (), 1, max_len=4)])
    with pytest.raises(OptionError, match="got adapter='b', expected one of those that are loaded: none"):
        runner.run([SequenceRows(1, 1, 0, [1, 2], (), 1, max_len=4, adapter="b")])
    assert numpy.isfinite(runner.run([SequenceRows(0, 0, 2, [3], (), 1, max_len=4)])).all()


def test_adapters_share_no_cached_prefix():
    engine, prompt = paged_engine(), list(range(20))
    engine.runner.adapters = ("a", "b")
    cached = []
    for name in ("a", None, "b", "a", None):
        (events,) = run(engine, [Request(prompt, GenerationOptions(max_new_tokens=2), adapter=name)])
        cached.append(events[0].num_cached)
    assert cached == [0, 0, 0, 19, 19]


def test_a_removed_adapter_leaves_no_cached_prefix():
    engine, prompts = paged_engine(), {name: list(range(size)) for name, size in (("a", 20), ("b", 11), (None, 7))}
    engine.runner.adapters = ("a", "b")

    def num_cached(name):
        (events,) = run(engine, [Request(prompts[name], GenerationOptions(max_new_tokens=2), adapter=name)])
        return events[0].num_cached

    assert [num_cached(name) for name in prompts] == [0, 0, 0]
    engine.remove_adapter("a")
    engine.verify()
    assert {cache_key[0] for cache_key in engine.pool.prefixes._roots} == {"b", None}
    engine.runner.adapters = ("a", "b")  # another one of the same name
    assert [num_cached(name) for name in prompts] == [0, 10, 6]
    engine.verify()


def test_an_adapter_is_not_removed_while_a_request_uses_it():
    engine = engine_of(small_model())
    for name in "ab":
        engine.runner.add_adapter(name, random_updates(gpt2, GPT2, 0))
    events = []
    number = engine.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=9), adapter="a"), events.extend)
    for _ in range(3):  # it waits, and runs
        with pytest.raises(OptionError, match="got the adapter 'a' in use, requests: 1"):
            engine.remove_adapter("a")
        engine.step()
    engine.remove_adapter("b")
    engine.abort(number)
    engine.remove_adapter("a")
    assert not engine.has_requests
    assert engine.runner.adapters == {}
    with pytest.raises(OptionError, match="got adapter='a', expected one of those that are loaded: none"):
        engine.remove_adapter("a")


def test_a_request_that_arrives_while_its_adapter_is_removed_fails_alone():
    engine, events = engine_of(small_model()), {"a": [], None: []}
    engine.runner.add_adapter("a", random_updates(gpt2, GPT2, 0))
    for name, each in events.items():
        engine.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=3), adapter=name), each.extend)
    engine.runner.remove_adapter("a")  # as remove_adapter does between the check of a request and its arrival
    while engine.step():
        pass
    assert [str(event.error) for event in events["a"]] == ["got adapter='a', expected one of those that are loaded: none"]
    assert events[None][-1].finish_reason
