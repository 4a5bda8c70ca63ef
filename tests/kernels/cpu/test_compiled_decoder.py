"""A compiled decoder against the definitions; wrong input, threads and memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy
import pytest

import headway
from headway.errors import HeadwayError, OptionError, PromptError, TokenIdError, UnsupportedError
from headway.kernels.cpu.pass_plan import Rows
from headway.kernels.cpu.runtime import Runtime
from headway.kernels.cpu.support import check_supported
from headway.kernels.cpu.thread_pool import MAX_THREADS
from headway.language_model.decoders import weights_kind
from headway.models.spec import AttentionSpec
from tests.kernels.cpu.packed_models import CACHES, FAMILIES, MIXTURES, MODELS, TOLERANCE, Texts, error, model, prompts

every_model = pytest.mark.parametrize("name", MODELS)
every_family = pytest.mark.parametrize("name", [*MODELS, *FAMILIES])
every_kind = pytest.mark.parametrize("kind", TOLERANCE)
WINDOW = "llama with odd sizes and a window"


@pytest.mark.parametrize(
    ("name", "kind"), [each for each in product([*MODELS, *FAMILIES], TOLERANCE) if each[0] not in MIXTURES or each[1] == "float32"]
)
def test_logits_are_those_of_the_definitions(runtime, name, kind):
    mine, (prompt,) = model(name, kind, runtime), prompts(53)
    text = Texts(mine.decoder)
    assert error(text.read([prompt])[0], mine.last_logits(prompt)) < TOLERANCE[kind]
    assert error(text.read([[7]])[0], mine.last_logits([*prompt, 7])) < TOLERANCE[kind]


@every_kind
@pytest.mark.parametrize("name", MIXTURES)
def test_almost_all_vectors_of_a_mixture_of_experts_are_those_of_the_definitions(runtime, name, kind):
    mine, (prompt,) = model(name, kind, runtime), prompts(300)
    expected = mine.architecture.hidden_states(numpy.array([prompt]), mine.weights, mine.config)[0]
    errors = abs(mine.decoder.hidden_states(prompt) - expected).max(axis=1) / abs(expected).max()
    assert (errors < TOLERANCE[kind]).mean() > 0.97
    assert numpy.median(errors) < 0.1 * TOLERANCE[kind]


@every_kind
def test_a_prompt_longer_than_one_pass_and_one_attention_task(runtime, kind):
    mine, (prompt,) = model("qwen2", kind, runtime), prompts(1290)
    text = Texts(mine.decoder)
    assert error(text.read([prompt])[0], mine.last_logits(prompt)) < TOLERANCE[kind]
    assert error(text.read([[7]])[0], mine.last_logits([*prompt, 7])) < TOLERANCE[kind]


@pytest.mark.parametrize("cache_kind", CACHES)
@every_family
def test_the_number_format_of_the_cache_changes_little(runtime, name, cache_kind):
    mine, (prompt,) = model(name, "float32", runtime, cache_kind=cache_kind), prompts(190)
    assert error(Texts(mine.decoder).read([prompt])[0], mine.last_logits(prompt)) < CACHES[cache_kind]


@every_family
def test_hidden_states_are_those_of_the_definitions(runtime, name):
    mine, (prompt,) = model(name, "float32", runtime), prompts(530)
    expected = mine.architecture.hidden_states(numpy.array([prompt]), mine.weights, mine.config)[0]
    assert error(mine.decoder.hidden_states(prompt), expected) < 1e-5


@pytest.mark.parametrize("name", ["phi3", "dynamic"])
def test_longrope_and_dynamic_scaling_give_each_token_the_angles_of_its_position(runtime, name):
    mine, (prompt,) = model(name, "float32", runtime), prompts(608)
    whole = Texts(mine.decoder).read([prompt])[0]
    cache = mine.architecture.new_kv_cache(mine.config, 1, 608, mine.weights.token_embedding)
    for first, last in ((0, 600), *((position, position + 1) for position in range(600, 608))):  # 600 is the original length
        logits = mine.architecture.forward(numpy.array([prompt[first:last]]), mine.weights, mine.config, kv_cache=cache)[0, -1]
    assert error(whole, logits) < TOLERANCE["float32"]


@pytest.mark.parametrize("cache_kind", CACHES)
def test_a_later_token_changes_no_earlier_vector(runtime, cache_kind):
    mine, (prompt,) = model("qwen2", "int8", runtime, cache_kind=cache_kind), prompts(40)
    before, after = mine.decoder.hidden_states(prompt), mine.decoder.hidden_states([*prompt[:25], 1, *prompt[26:]])
    numpy.testing.assert_array_equal(before[:25], after[:25])
    assert abs(before[25:] - after[25:]).max() > 1e-2


@pytest.mark.parametrize(
    ("name", "batch", "error"),
    [
        ("qwen2", [Rows(0, [101], [0], 1)], TokenIdError),
        ("qwen2", [Rows(0, [-1], [0], 1)], TokenIdError),
        ("qwen2", [Rows(0, [2**63], [0], 1)], TokenIdError),
        ("qwen2", [Rows(0, [], [0], 0)], PromptError),
        ("qwen2", [Rows(-1, [1], [0], 1)], PromptError),
        ("qwen2", [Rows(0, [1], [0], 2)], PromptError),
        ("qwen2", [Rows(0, [1], [0], -1)], PromptError),
        ("qwen2", [Rows(0, [1] * 513, [0, 1, 2, 3, 4], 1)], PromptError),
        ("qwen2", [Rows(0, [1] * 257, [0, 1, 2], 1), Rows(0, [1] * 256, [3, 4], 1)], PromptError),
        ("gpt2", [Rows(1300, [1] * 101, list(range(11)), 1)], PromptError),
        ("qwen2", [Rows(128, [1], [0], 1)], HeadwayError),
        ("qwen2", [Rows(0, [1], [], 1)], HeadwayError),
        ("qwen2", [Rows(0, [1], [12], 1)], HeadwayError),
        ("qwen2", [Rows(128, [1], [12, 0], 1)], HeadwayError),
        ("qwen2", [Rows(0, [1], [-1], 1)], HeadwayError),
        ("qwen2", [Rows(128, [1], [-1, 0], 1)], HeadwayError),
        ("qwen2", [Rows(0, [1] * 129, [4, 4], 1)], HeadwayError),
        ("qwen2", [Rows(0, [1], [4], 1), Rows(130, [1], [3, 4], 1)], HeadwayError),
        (WINDOW, [Rows(276, [1], [-1, 1, 2], 1)], HeadwayError),
        (WINDOW, [Rows(276, [1], [12, 1, 2], 1)], HeadwayError),
    ],
)
def test_wrong_input_never_reaches_compiled_code(runtime, monkeypatch, name, batch, error):
    decoder = model(name, "int8", runtime).decoder
    decoder.allocate(12)
    monkeypatch.setattr(decoder, "_pool", None)
    with pytest.raises(error, match="got .* expected "):
        decoder.run(batch)


def test_two_python_threads_may_use_one_decoder(runtime):
    decoder, rows = model("qwen2", "int8", runtime).decoder, prompts(20, 33)
    decoder.allocate(2)
    expected, wrong = [decoder.run([Rows(0, row, [page], 1)]) for page, row in enumerate(rows)], []

    def work(page, row, answer):
        for _ in range(30):
            if not (decoder.run([Rows(0, row, [page], 1)]) == answer).all():
                wrong.append(row)

    threads = [threading.Thread(target=work, args=each) for each in zip((0, 1), rows, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("headway-")]


def mapped_weights():
    maps = Path("/proc/self/maps")
    return {line.split()[-1] for line in maps.read_text().splitlines() if line.endswith(".weights")} if maps.exists() else set()


def test_models_that_are_dropped_free_their_threads_and_files():
    gc.collect()
    before = len(workers()), mapped_weights()
    for _ in range(10):
        model = headway.load("stories", num_threads=4)
        model.generate("Once", max_new_tokens=2)
        del model
    gc.collect()
    for thread in workers()[before[0] :]:
        thread.join(300)
    assert (len(workers()), mapped_weights()) == before


def test_a_closed_decoder_ends_its_threads_and_refuses_calls(runtime):
    before, mine = len(workers()), model("qwen2", "int8", Runtime(4, runtime.folder))
    mine.decoder.allocate(1)
    mine.decoder.run([Rows(0, [1], [0], 1)])
    assert len(workers()) == before + 3
    mine.decoder.close()
    mine.decoder.close()
    assert len(workers()) == before
    for call in (lambda: mine.decoder.run([Rows(1, [1], [0], 1)]), lambda: mine.decoder.hidden_states([1])):
        with pytest.raises(HeadwayError, match="got a call of a closed model") as caught:
            call()
        assert caught.value.hint


@dataclass(frozen=True)
class AttentionWithSinks(AttentionSpec):
    sinks: bool = False


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda layer: replace(layer, feed_forward=replace(layer.feed_forward, activation="tanh")), "an activation of another kind"),
        (lambda layer: replace(layer, feed_forward_norm=replace(layer.feed_forward_norm, eps=0.5)), "different norms"),
        (lambda layer: replace(layer, attention=AttentionWithSinks(**vars(layer.attention), sinks=True)), "sinks"),
    ],
)
def test_a_part_that_the_kernels_do_not_know_is_refused(change, part):
    architecture, config = MODELS["qwen2"]
    spec = architecture.spec(config)
    check_supported(spec)
    with pytest.raises(UnsupportedError, match=f"got a decoder with {part}, expected one that the compiled kernels support"):
        check_supported(replace(spec, layers=tuple(map(change, spec.layers))))
    with_default = tuple(replace(layer, attention=AttentionWithSinks(**vars(layer.attention))) for layer in spec.layers)
    check_supported(replace(spec, layers=with_default))


@pytest.mark.parametrize("num_threads", [1.5, True, "2", 0, 10**6])
def test_a_number_of_threads_that_is_none(num_threads):
    with pytest.raises(OptionError, match=f"got num_threads={num_threads!r}, expected an integer from 1 to {MAX_THREADS}"):
        headway.load("stories", num_threads=num_threads)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["", "del model", "text.close()"])
def test_the_interpreter_exits_in_the_middle_of_a_text(how):
    code = f"import headway; model = headway.load('stories', num_threads=4); text = model.stream('Once'); next(text); {how}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_plain_weights_are_deprecated():
    with pytest.warns(DeprecationWarning, match='use weights="none"'):
        assert weights_kind("plain", "numpy", "float32") == "none"
