"""A compiled decoder against the definitions, and against itself with other chunks, batches and threads."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headway
from headway.errors import HeadwayError, OptionError, PromptError, ResourceError, TokenIdError
from headway.kernels.cpu import memory_check
from headway.kernels.cpu.compiled_decoder import CompiledDecoder
from headway.kernels.cpu.runtime import Runtime
from headway.kernels.cpu.thread_pool import MAX_THREADS
from headway.language_model.compiled import weights_kind
from tests.kernels.cpu.packed_models import CACHES, MODELS, TOLERANCE, error, model, prompts

every_model = pytest.mark.parametrize("name", MODELS)
every_kind = pytest.mark.parametrize("kind", TOLERANCE)


@every_model
@every_kind
def test_logits_are_those_of_the_definitions(runtime, name, kind):
    mine, (prompt,) = model(name, kind, runtime), prompts(53)
    cache = mine.decoder.new_cache(1, 60)
    assert error(mine.decoder.next_logits([prompt], cache)[0], mine.last_logits(prompt)) < TOLERANCE[kind]
    assert error(mine.decoder.next_logits([[7]], cache)[0], mine.last_logits([*prompt, 7])) < TOLERANCE[kind]


@every_kind
def test_a_prompt_longer_than_one_pass_and_one_attention_task(runtime, kind):
    mine, (prompt,) = model("qwen2", kind, runtime), prompts(1290)
    cache = mine.decoder.new_cache(1, 1300)
    assert error(mine.decoder.next_logits([prompt], cache)[0], mine.last_logits(prompt)) < TOLERANCE[kind]
    assert error(mine.decoder.next_logits([[7]], cache)[0], mine.last_logits([*prompt, 7])) < TOLERANCE[kind]


@pytest.mark.parametrize("cache_kind", CACHES)
@every_model
def test_the_number_format_of_the_cache_changes_little(runtime, name, cache_kind):
    mine, (prompt,) = model(name, "float32", runtime, cache_kind=cache_kind), prompts(190)
    assert error(mine.decoder.next_logits([prompt], mine.decoder.new_cache(1, 190))[0], mine.last_logits(prompt)) < CACHES[cache_kind]


@every_kind
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_chunks_batches_and_threads_change_nothing(runtime, kind, data):
    name, cache_kind = data.draw(st.sampled_from(list(MODELS))), data.draw(st.sampled_from(list(CACHES)))
    lengths = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=5))
    num_threads = data.draw(st.integers(1, 5))
    mine, rows = model(name, kind, runtime, cache_kind=cache_kind), prompts(*lengths)
    other = Runtime(num_threads, runtime.folder)
    decoder = CompiledDecoder(mine.decoder.description, mine.decoder.weights, runtime.forward_pass, other.pool, cache_kind=cache_kind)
    together, cache = decoder.new_cache(len(rows), 50), mine.decoder.new_cache
    first = decoder.next_logits(rows, together)
    second = decoder.next_logits([[3]] * len(rows), together)
    for index, row in enumerate(rows):
        alone = cache(1, 50)
        for token_id in row[:-1]:
            mine.decoder.next_logits([[token_id]], alone)
        last = mine.decoder.next_logits([row[-1:]], alone)[0]
        assert error(first[index], last) < 1e-5
        assert error(second[index], mine.decoder.next_logits([[3]], alone)[0]) < 1e-5


@every_kind
def test_the_number_of_threads_changes_no_bit(runtime, kind):
    mine, rows = model("qwen3 with wide heads", kind, runtime), prompts(700, 3, 20)
    answers = []
    for num_threads in (1, 2, 7):
        decoder = CompiledDecoder(
            mine.decoder.description, mine.decoder.weights, runtime.forward_pass, Runtime(num_threads, runtime.folder).pool
        )
        cache = decoder.new_cache(3, 710)
        answers.append((decoder.next_logits(rows, cache), decoder.next_logits([[4], [5], [6]], cache)))
    for answer in answers[1:]:
        numpy.testing.assert_array_equal(answer, answers[0])


@pytest.mark.parametrize("cache_kind", CACHES)
@pytest.mark.parametrize("name", ["qwen2", "gpt2 with heads of an odd size"])
def test_sequences_continue_others(runtime, name, cache_kind):
    mine, rows = model(name, "float32", runtime, cache_kind=cache_kind), prompts(9, 4, 17)
    cache, parents = mine.decoder.new_cache(3, 30), [2, 0, 0, 2, 2]
    mine.decoder.next_logits(rows, cache)
    cache.take(parents)
    mine.decoder.next_logits([[number] for number in range(5)], cache)
    cache.take([4, 1])
    logits = mine.decoder.next_logits([[11], [12]], cache)
    for got, expected in zip(logits, ([*rows[2], 4, 11], [*rows[0], 1, 12]), strict=True):
        alone = mine.decoder.new_cache(1, 30)
        numpy.testing.assert_array_equal(got, mine.decoder.next_logits([expected], alone)[0])


@every_model
def test_hidden_states_are_those_of_the_definitions(runtime, name):
    mine, (prompt,) = model(name, "float32", runtime), prompts(530)
    expected = mine.architecture.hidden_states(numpy.array([prompt]), mine.weights, mine.config)[0]
    assert error(mine.decoder.hidden_states(prompt), expected) < 1e-5


@pytest.mark.parametrize("cache_kind", CACHES)
def test_a_later_token_changes_no_earlier_vector(runtime, cache_kind):
    mine, (prompt,) = model("qwen2", "int8", runtime, cache_kind=cache_kind), prompts(40)
    before, after = mine.decoder.hidden_states(prompt), mine.decoder.hidden_states([*prompt[:25], 1, *prompt[26:]])
    numpy.testing.assert_array_equal(before[:25], after[:25])
    assert abs(before[25:] - after[25:]).max() > 1e-2


@pytest.mark.parametrize(
    ("name", "token_ids", "error"),
    [
        ("qwen2", [[101]], TokenIdError),
        ("qwen2", [[-1]], TokenIdError),
        ("qwen2", [[]], PromptError),
        ("qwen2", [[1] * 2001], PromptError),
        ("gpt2", [[1] * 1401], PromptError),
        ("qwen2", [[1], [2]], PromptError),
    ],
)
def test_wrong_input_never_reaches_compiled_code(runtime, name, token_ids, error):
    decoder = model(name, "int8", runtime).decoder
    cache = decoder.new_cache(1, 2000)
    with pytest.raises(error, match="got .* expected "):
        decoder.next_logits(token_ids, cache)
    assert cache.lengths == [0]


def test_two_python_threads_may_use_one_decoder(runtime):
    decoder, rows = model("qwen2", "int8", runtime).decoder, prompts(20, 33)
    expected, wrong = [decoder.next_logits([row], decoder.new_cache(1, 40)) for row in rows], []

    def work(row, answer):
        for _ in range(30):
            if not (decoder.next_logits([row], decoder.new_cache(1, 40)) == answer).all():
                wrong.append(row)

    threads = [threading.Thread(target=work, args=each) for each in zip(rows, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_cache_larger_than_the_free_memory_is_an_error(runtime, tmp_path, monkeypatch):
    decoder = model("qwen2", "int8", runtime).decoder
    (tmp_path / "meminfo").write_text("MemAvailable: 17 kB\n")
    monkeypatch.setattr(memory_check, "MEMINFO", tmp_path / "meminfo")
    with pytest.raises(ResourceError, match=r"keys and values of 3 x 1000 tokens"):
        decoder.new_cache(3, 1000)


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("headway-")]


def mapped_weights():
    maps = Path("/proc/self/maps")
    return {line.split()[-1] for line in maps.read_text().splitlines() if line.endswith(".weights")} if maps.exists() else set()


def test_models_that_are_dropped_free_their_threads_and_files():
    gc.collect()
    before = len(workers()), mapped_weights()
    for _ in range(40):
        model = headway.load("stories", num_threads=4)
        model.generate("Once", max_new_tokens=2)
        del model
    gc.collect()
    for thread in workers()[before[0] :]:
        thread.join(300)
    assert (len(workers()), mapped_weights()) == before


def test_a_closed_decoder_ends_its_threads_and_refuses_calls(runtime):
    before, mine = len(workers()), model("qwen2", "int8", Runtime(4, runtime.folder))
    cache = mine.decoder.new_cache(1, 9)
    mine.decoder.next_logits([[1]], cache)
    assert len(workers()) == before + 3
    mine.decoder.close()
    mine.decoder.close()
    assert len(workers()) == before
    for call in (lambda: mine.decoder.next_logits([[1]], cache), lambda: mine.decoder.hidden_states([1])):
        with pytest.raises(HeadwayError, match="got a call of a closed model") as caught:
            call()
        assert caught.value.hint


@pytest.mark.parametrize("num_threads", [1.5, True, "2", 0, 10**6])
def test_a_number_of_threads_that_is_none(num_threads):
    with pytest.raises(OptionError, match=f"got num_threads={num_threads!r}, expected an integer from 1 to {MAX_THREADS}"):
        headway.load("stories", num_threads=num_threads)


@pytest.mark.parametrize("how", ["", "del model", "text.close()"])
def test_the_interpreter_exits_in_the_middle_of_a_text(how):
    code = f"import headway; model = headway.load('stories', num_threads=4); text = model.stream('Once'); next(text); {how}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_plain_weights_are_deprecated():
    with pytest.warns(DeprecationWarning, match='use weights="none"'):
        assert weights_kind("plain", "numpy", "float32") == "none"
