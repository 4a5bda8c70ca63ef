"""No output depends on what was in memory before: all buffers, results and pages are overwritten before every pass."""

from __future__ import annotations

from types import SimpleNamespace

import numpy
import pytest

from headway.kernels.cpu import compiled_decoder
from headway.kernels.cpu.pass_plan import Rows
from headway.kernels.cpu.thread_pool import ThreadPool
from tests.kernels.cpu.packed_encoders import ENCODERS, KINDS, encoder, texts
from tests.kernels.cpu.packed_models import FAMILIES, MODELS, Texts, model, prompts
from tests.kernels.cpu.test_adapters import updates_of

CONTENTS = {"zeros": 0, "NaN": 0xFF, "large": 0x7F, "random": None}
"""Bytes that are written everywhere: 0xFF are NaN, and -1 in integers; 0x7F are 3.4e38, and 127 in int8."""


class Stale:
    """Overwrites the memory of the model in `buffers_of` before each pass."""

    def __init__(self) -> None:
        self.byte: int | None = 0
        self.buffers_of = SimpleNamespace(_buffers=SimpleNamespace(_allocated=[]))
        self._random = numpy.random.default_rng(0)

    def overwrite(self, memory: numpy.ndarray) -> None:
        numbers = self._random.integers(0, 256, memory.nbytes, numpy.uint8) if self.byte is None else self.byte
        memory.reshape(-1).view(numpy.uint8)[:] = numbers

    def empty(self, shape, dtype=float) -> numpy.ndarray:
        memory = numpy.empty(shape, dtype)
        self.overwrite(memory)
        return memory

    def overwrite_buffers(self) -> None:
        for memory in self.buffers_of._buffers._allocated:
            if memory.dtype == numpy.uint8:  # the others are records
                self.overwrite(memory)


@pytest.fixture
def stale(monkeypatch):
    stale, run = Stale(), ThreadPool.run

    def overwrite_and_run(pool, *arguments) -> None:
        stale.overwrite_buffers()
        run(pool, *arguments)

    monkeypatch.setattr(ThreadPool, "run", overwrite_and_run)
    monkeypatch.setattr(compiled_decoder, "numpy", SimpleNamespace(**vars(numpy) | {"empty": stale.empty}))
    return stale


def expect_same_bits(stale, model, compute) -> None:
    stale.buffers_of, results = model, []
    for stale.byte in CONTENTS.values():
        results.append(numpy.concatenate([numpy.atleast_2d(each) for each in compute()], axis=None))
    for name, result in zip(CONTENTS, results, strict=True):
        numpy.testing.assert_array_equal(result, results[0], err_msg=name)
    assert numpy.isfinite(results[0]).all()


@pytest.mark.parametrize(("kind", "cache_kind"), [("float32", "float32"), ("bfloat16", "bfloat16"), ("int8", "int16"), ("int4", "int8")])
@pytest.mark.parametrize("name", MODELS | FAMILIES)
def test_a_decoder_depends_on_no_stale_memory(runtime, stale, name, kind, cache_kind):
    decoder = model(name, kind, runtime, cache_kind=cache_kind).decoder

    def compute():
        read = Texts(decoder, 3, num_pages=12)
        for page in decoder._kv_cache._pages:
            stale.overwrite(page)
        yield read.read(prompts(40, 1, 130))
        yield read.read([[1], [2], [3]])
        yield read.read(prompts(700, 3, 7))
        yield decoder.hidden_states(prompts(33)[0])

    expect_same_bits(stale, decoder, compute)


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_a_decoder_with_adapters_depends_on_no_stale_memory(runtime, stale, kind):
    tested = model("llama with odd sizes and a window", kind, runtime)
    for seed, adapter in enumerate("ab"):
        tested.decoder.add_adapter(adapter, updates_of(tested, seed, rank=3 + 5 * seed))
    tested.decoder.allocate(4)
    texts = prompts(40, 3, 1, 9)
    expect_same_bits(
        stale,
        tested.decoder,
        lambda: [
            tested.decoder.run(
                [Rows(0, text, [page], len(text), adapter) for page, (text, adapter) in enumerate(zip(texts, given, strict=True))]
            )
            for given in (("a", None, "b", "a"), (None,) * 4, ("b",) * 4)
        ],
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_depends_on_no_stale_memory(runtime, stale, name, kind):
    compiled = encoder(name, kind, runtime).compiled
    batches = [texts(13, 5, 1, 9), texts(1), texts(30, 29, 3), texts(*(50,) * 5), texts(24), texts(25)]
    expect_same_bits(stale, compiled, lambda: (hidden for batch in batches for hidden in compiled.encode(batch)))
