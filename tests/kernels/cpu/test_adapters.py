"""Adapters on the compiled decoder: next to the packed weights, for the rows of their requests only."""

from __future__ import annotations

import weakref
from dataclasses import replace
from itertools import product

import numpy
import pytest

from headway.engine import Engine, EngineOptions, GenerationOptions, ModelLimits, Request
from headway.errors import OptionError, ShapeError, UnsupportedError
from headway.kernels.cpu.pass_plan import Rows
from headway.models.adapter import Update, with_updates
from tests.engine.test_adapters import run
from tests.kernels.cpu.packed_models import TOLERANCE, error, model, prompts

NAMES = ("gpt2", "llama with odd sizes and a window", "qwen3 with wide heads", "gemma3", "qwen3_moe")
KINDS = [("float32", "float32"), ("bfloat16", "bfloat16"), ("int8", "int16"), ("int4", "int8")]


def updates_of(tested, seed, rank=3):
    """An adapter of every second matrix that can have an update, drawn at random."""
    random, updates = numpy.random.default_rng(seed), {}
    for path, place in tested.architecture.stored_weights(tested.config).items():
        can_update = path.startswith("layers") and path.endswith(".weight") and "experts" not in path and "router" not in path
        if can_update and len(place.leaf_shape) == 2 and random.random() < 0.6:
            rows, columns = place.leaf_shape
            down, up = random.standard_normal((rank, columns)), random.standard_normal((rows, rank))
            updates[path] = Update(down.astype(numpy.float32), up.astype(numpy.float32), 0.05)
    return updates


@pytest.mark.parametrize(("name", "kind"), [*product(NAMES, ("float32", "int8")), ("gpt2", "bfloat16"), ("gemma3", "int4")])
def test_logits_are_those_of_the_definitions_with_the_same_adapter(runtime, name, kind):
    tested, (prompt,) = model(name, kind, runtime), prompts(40)
    base, updates = tested.last_logits(prompt), {each: updates_of(tested, seed, rank) for each, seed, rank in (("a", 1, 3), ("b", 2, 8))}
    for each, matrices in updates.items():
        tested.decoder.add_adapter(each, matrices)
    tested.decoder.allocate(3)
    rows = [Rows(0, prompt, [page], 1, adapter) for page, adapter in enumerate(("a", None, "b"))]
    logits = tested.decoder.run(rows)
    expected = {
        each: replace(tested, weights=with_updates(tested.weights, updates[each], "numpy", None)).last_logits(prompt) for each in "ab"
    }
    for row, wanted in zip(logits, (expected["a"], base, expected["b"]), strict=True):
        assert error(row, wanted) < max(TOLERANCE[kind], 1e-4)
    assert error(expected["a"], base) > 1.4 * TOLERANCE[kind]
    assert error(expected["b"], expected["a"]) > 1.4 * TOLERANCE[kind]


@pytest.mark.parametrize(
    ("name", "kind", "cache"),
    [*((name, "int8", "int16") for name in NAMES[:4]), *(("gpt2", *each) for each in KINDS[:2]), ("gemma3", *KINDS[3])],
)
def test_a_request_gets_the_same_bits_among_requests_with_other_adapters(runtime, name, kind, cache):
    tested, limits = model(name, kind, runtime, cache_kind=cache), ModelLimits(101, 400)
    common = prompts(130)[0]
    options = GenerationOptions(max_new_tokens=8, num_log_probs=1)
    given = [Request([*common, last], options, adapter=adapter) for last, adapter in enumerate((None, "a", "b", "a", None))]
    before = run(Engine(tested.decoder, limits), [given[0]])
    for seed, adapter in enumerate("ab"):
        tested.decoder.add_adapter(adapter, updates_of(tested, seed))
    alone = [run(Engine(tested.decoder, limits), [request])[0] for request in given]
    assert alone[0] == before[0]
    for pages, gap in ((100, 1), (9, 0)):
        engine = Engine(tested.decoder, limits, options=EngineOptions(cache_bytes=pages * tested.decoder.page_bytes, max_gap_seconds=1e-9))
        together = run(engine, given, gap)
        assert [[replace(event, num_cached=0) for event in events] for events in together] == alone
    assert [event.token_id for event in alone[1]] != [event.token_id for event in alone[2]]


def test_an_adapter_of_another_matrix_or_shape_is_refused(runtime):
    decoder = model("qwen3_moe", "int8", runtime).decoder
    update = Update(numpy.zeros((2, 5), numpy.float32), numpy.zeros((7, 2), numpy.float32), 1.0)
    with pytest.raises(ShapeError, match=r"got an update \(7, 2\) @ \(2, 5\) of layers\.0\.attention\.query\.weight"):
        decoder.add_adapter("a", {"layers.0.attention.query.weight": update})
    for path in ("output_head", "layers.0.feed_forward.experts.1.up.weight"):
        with pytest.raises(UnsupportedError, match=f"got an adapter with an update of {path}"):
            decoder.add_adapter("a", {path: update})
    assert not decoder.adapters


def test_an_unknown_adapter_is_refused_and_the_decoder_works_on(runtime):
    tested, (prompt,) = model("gpt2", "int8", runtime), prompts(5)
    tested.decoder.add_adapter("a", updates_of(tested, 1))
    tested.decoder.allocate(1)
    before = tested.decoder.run([Rows(0, prompt, [0], 1)])
    with pytest.raises(OptionError, match="got adapter='b', expected one of those that are loaded: a"):
        tested.decoder.run([Rows(0, prompt, [0], 1, "b")])
    numpy.testing.assert_array_equal(tested.decoder.run([Rows(0, prompt, [0], 1)]), before)


def test_a_removed_adapter_is_freed_and_its_name_can_be_used_again(runtime):
    tested, (prompt,) = model("llama with odd sizes and a window", "int8", runtime), prompts(20)
    decoder = tested.decoder
    decoder.allocate(1)

    def logits(adapter):
        return decoder.run([Rows(0, prompt, [0], 1, adapter)])

    base = logits(None)
    decoder.add_adapter("a", updates_of(tested, 1, rank=8))
    first, kept = logits("a"), weakref.ref(decoder._adapters["a"])
    decoder.remove_adapter("a")
    assert kept() is None
    numpy.testing.assert_array_equal(logits(None), base)
    with pytest.raises(OptionError, match="got adapter='a'"):
        logits("a")
    with pytest.raises(OptionError, match="got adapter='a'"):
        decoder.remove_adapter("a")
    decoder.add_adapter("a", updates_of(tested, 2, rank=3))
    second = logits("a")
    assert (second != first).any()
    decoder.add_adapter("b", updates_of(tested, 2, rank=3))
    numpy.testing.assert_array_equal(logits("b"), second)
