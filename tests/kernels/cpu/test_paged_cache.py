"""The same bits for every division of texts into passes, every batch, every choice of pages and every number of threads."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway import memory_check
from headway.errors import HeadwayError, ResourceError
from headway.kernels.cpu.compiled_decoder import CompiledDecoder
from headway.kernels.cpu.kv_cache import PagedKVCache
from headway.kernels.cpu.pass_plan import Rows
from headway.kernels.cpu.runtime import Runtime
from tests.kernels.cpu.packed_models import CACHES, MODELS, TOLERANCE, Texts, model, prompts

WINDOW = "llama with odd sizes and a window"
every_kind = pytest.mark.parametrize("kind", TOLERANCE)
every_cache = pytest.mark.parametrize("cache_kind", CACHES)


def with_threads(mine, num_threads, runtime):
    """Return the decoder with another number of threads."""
    pool = Runtime(num_threads, runtime.folder).pool
    spec, weights = mine.decoder.spec, mine.decoder.weights
    return CompiledDecoder(spec, weights, runtime.forward_pass, pool, cache_kind=mine.decoder.cache_kind)


@every_cache
@pytest.mark.parametrize("name", ["gpt2", "qwen3 with wide heads", WINDOW, "mixtral"])
def test_tokens_one_by_one_give_the_bits_of_a_whole_pass(runtime, name, cache_kind):
    mine, (prompt,) = model(name, "int8", runtime, cache_kind=cache_kind), prompts(1100)
    whole, text = Texts(mine.decoder).read([prompt])[0], Texts(mine.decoder, seed=1)
    for first, last in ((0, 505), (525, 1015), (1035, 1080)):
        text.read([prompt[first:last]])
        for token_id in prompt[last : last + 20]:
            one_by_one = text.read([[token_id]])[0]
    numpy.testing.assert_array_equal(one_by_one, whole)


@every_kind
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_passes_batches_pages_and_threads_change_no_bit(runtime, kind, data):
    name, cache_kind = data.draw(st.sampled_from(list(MODELS))), data.draw(st.sampled_from(list(CACHES)))
    lengths = data.draw(st.lists(st.one_of(st.integers(1, 40), st.integers(500, 1200)), min_size=1, max_size=3))
    mine, rows = model(name, kind, runtime, cache_kind=cache_kind), [[*row, 3] for row in prompts(*lengths)]
    expected = [Texts(mine.decoder).read([row])[0] for row in rows]
    decoder = with_threads(mine, data.draw(st.integers(1, 5)), runtime)
    texts, logits = Texts(decoder, len(rows), seed=data.draw(st.integers(0, 9))), {}
    while unread := [index for index, row in enumerate(rows) if texts.lengths[index] < len(row)]:
        batch, wanted, room = [], [], 512
        for index in unread:
            start = texts.lengths[index]
            size = min(data.draw(st.sampled_from([1, 2, 7, 30, 130, 400])), room, len(rows[index]) - start)
            if size:
                is_last = start + size == len(rows[index])
                batch.append(texts.rows(index, rows[index][start : start + size], int(is_last)))
                wanted += [index] * is_last
                room -= size
        logits |= dict(zip(wanted, decoder.run(batch), strict=True))
    for index, answer in enumerate(expected):
        numpy.testing.assert_array_equal(logits[index], answer)


@every_kind
def test_the_number_of_threads_changes_no_bit(runtime, kind):
    mine, rows = model("qwen3 with wide heads", kind, runtime), prompts(700, 3, 20)
    answers = []
    for num_threads in (1, 2, 7):
        texts = Texts(with_threads(mine, num_threads, runtime), 3)
        answers.append((texts.read(rows), texts.read([[4], [5], [6]])))
    for answer in answers[1:]:
        numpy.testing.assert_array_equal(answer, answers[0])


@every_cache
def test_wanted_rows_are_those_of_single_tokens(runtime, cache_kind):
    mine, (prompt,) = model("qwen2", "int8", runtime, cache_kind=cache_kind), prompts(1040)
    for num_rows in (2, 5, 9, 40):
        first, last = prompt[:-num_rows], prompt[-num_rows:]
        texts = Texts(mine.decoder, 4)
        texts.read([first, first, [1], [2, 3]])
        one_by_one = [mine.decoder.run([texts.rows(0, [token_id])])[0] for token_id in last]
        logits = mine.decoder.run([texts.rows(2, [1, 2], 0), texts.rows(1, last, num_rows), texts.rows(3, [3])])
        numpy.testing.assert_array_equal(logits[:-1], one_by_one)


@every_cache
def test_texts_that_share_pages_are_those_with_pages_of_their_own(runtime, cache_kind):
    mine, (prompt, one, other) = model("gpt2", "int8", runtime, cache_kind=cache_kind), prompts(640, 9, 30)
    expected = [Texts(mine.decoder).read([prompt + rest])[0] for rest in (one, other)]
    texts = Texts(mine.decoder, 2)
    texts.read([prompt])
    texts.pages[1], texts.lengths[1] = list(texts.pages[0]), 640
    numpy.testing.assert_array_equal(texts.read([one, other]), expected)


@every_cache
def test_a_copied_page_is_the_page(runtime, cache_kind):
    mine, (prompt, one, other) = model("qwen2", "int8", runtime, cache_kind=cache_kind), prompts(200, 9, 100)
    expected = [Texts(mine.decoder).read([prompt + rest])[0] for rest in (one, other)]
    texts = Texts(mine.decoder, 2)
    texts.read([prompt])
    copy = texts.free.pop()
    mine.decoder.copy_page(texts.pages[0][1], copy)
    texts.pages[1], texts.lengths[1] = [texts.pages[0][0], copy], 200
    numpy.testing.assert_array_equal(texts.read([one, other]), expected)


def test_a_copy_of_a_page_that_does_not_exist(runtime):
    decoder = model("qwen2", "int8", runtime).decoder
    decoder.allocate(3)
    for source, target in ((0, 3), (3, 0), (-1, 0), (0, -1)):
        with pytest.raises(HeadwayError, match="expected pages 0 to 2"):
            decoder.copy_page(source, target)


@every_cache
def test_pages_outside_of_the_window_are_never_read(runtime, cache_kind):
    mine, (prompt,) = model(WINDOW, "int8", runtime, cache_kind=cache_kind), prompts(900)
    assert mine.decoder.window == 150
    expected = Texts(mine.decoder).read([prompt])[0]
    texts = Texts(mine.decoder, 2)
    for first in range(0, 900, 75):
        logits = texts.read([prompt[first : first + 75]])
        for index in range(max(0, first + 75 + 1 - 150) // 128):
            if texts.pages[0][index] >= 0:
                texts.pages[1].append(texts.pages[0][index])
                texts.pages[0][index] = -1
        if texts.pages[1]:  # the pages are used for something else
            texts.lengths[1] = 0
            texts.read([[], [1] * len(texts.pages[1]) * 128])
    assert texts.pages[0][:5] == [-1] * 5
    numpy.testing.assert_array_equal(logits[0], expected)


def test_the_window_of_layers_that_attend_to_different_numbers_of_positions(runtime):
    mine = model(WINDOW, "int8", runtime)
    for windows, window in (((150, 70), 150), ((150, None), None)):
        layers = zip(mine.decoder.spec.layers, windows, strict=True)
        spec = replace(
            mine.decoder.spec, layers=tuple(replace(layer, attention=replace(layer.attention, window=own)) for layer, own in layers)
        )
        assert CompiledDecoder(spec, mine.decoder.weights, runtime.forward_pass, runtime.pool).window == window


@every_cache
def test_more_pages_change_nothing_in_those_that_exist(runtime, cache_kind):
    mine, (prompt,) = model("qwen2", "int8", runtime, cache_kind=cache_kind), prompts(300)
    expected = Texts(mine.decoder).read([prompt])[0]
    mine = model("qwen2", "int8", runtime, cache_kind=cache_kind)
    texts = Texts(mine.decoder, num_pages=2)
    texts.read([prompt[:200]])
    mine.decoder.allocate(1)
    mine.decoder.allocate(40)
    texts.free.append(39)
    numpy.testing.assert_array_equal(texts.read([prompt[200:]])[0], expected)


def test_positions_of_a_longer_text_have_the_same_rotation(runtime):
    for attention in {
        layer.attention for name in ("qwen2", "gemma3", "phi3") for layer in model(name, "int8", runtime).decoder.spec.layers
    }:
        short, long = attention.rotary.tables(1000), attention.rotary.tables(2048)
        numpy.testing.assert_array_equal(short, [table[:1000] for table in long])


@every_cache
def test_page_bytes_are_those_of_the_numbers(runtime, cache_kind):
    decoder = model("qwen3 with wide heads", "int8", runtime, cache_kind=cache_kind).decoder
    num_layers, num_kv_heads, head_dim = 2, 2, 64
    number, scale = {"float32": (4, 0), "bfloat16": (2, 0), "int16": (2, 4), "int8": (1, 4)}[cache_kind]
    assert decoder.page_bytes == 128 * num_layers * num_kv_heads * 2 * (head_dim * number + scale)


def test_pages_that_do_not_fit_in_memory_are_an_error(runtime, tmp_path, monkeypatch):
    decoder = model("qwen2", "int8", runtime).decoder
    decoder.allocate(2)
    (tmp_path / "meminfo").write_text("MemAvailable: 17 kB\n")
    monkeypatch.setattr(memory_check, "MEMINFO", tmp_path / "meminfo")
    with pytest.raises(ResourceError, match=r"keys and values of 24 pages of 128 tokens"):
        decoder.allocate(26)
    monkeypatch.setattr(memory_check, "MEMINFO", tmp_path / "none")
    with pytest.raises(ResourceError, match=r"got keys and values of .* expected "):
        decoder.allocate(10**12)
    decoder.run([Rows(0, [1], [1], 1)])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is measured in /proc")
def test_pages_without_tokens_take_no_memory(runtime):
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    spec = model("qwen2", "int8", runtime).decoder.spec
    cache, before = PagedKVCache(spec, "float32"), resident()
    cache.allocate(2**28 // cache.page_bytes)
    cache.allocate(2**29 // cache.page_bytes)
    assert resident() - before < 2**26
