"""A compiled decoder against the definitions, and against itself asked in other ways."""

from __future__ import annotations

import threading

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import PromptError, ResourceError, TokenIdError
from headway.kernels.cpu import memory_check
from headway.kernels.cpu.compiled_decoder import CompiledDecoder
from headway.kernels.cpu.runtime import Runtime
from tests.kernels.cpu.packed_models import CACHES, MODELS, TOLERANCE, error, model, prompts

every_model = pytest.mark.parametrize("name", MODELS)
every_kind = pytest.mark.parametrize("kind", TOLERANCE)


@every_model
@every_kind
def test_logits_are_those_of_the_definitions(runtime, name, kind):
    mine, (prompt,) = model(name, kind, runtime), prompts(53)
    cache = mine.stack.new_cache(1, 60)
    assert error(mine.stack.next_logits([prompt], cache)[0], mine.last_logits(prompt)) < TOLERANCE[kind]
    assert error(mine.stack.next_logits([[7]], cache)[0], mine.last_logits([*prompt, 7])) < TOLERANCE[kind]


@every_kind
def test_a_longer_prompt_than_one_pass_and_one_part_of_attention(runtime, kind):
    mine, (prompt,) = model("qwen2", kind, runtime), prompts(1290)
    cache = mine.stack.new_cache(1, 1300)
    assert error(mine.stack.next_logits([prompt], cache)[0], mine.last_logits(prompt)) < TOLERANCE[kind]
    assert error(mine.stack.next_logits([[7]], cache)[0], mine.last_logits([*prompt, 7])) < TOLERANCE[kind]


@pytest.mark.parametrize("cache_kind", CACHES)
@every_model
def test_how_keys_and_values_are_kept_changes_little(runtime, name, cache_kind):
    mine, (prompt,) = model(name, "float32", runtime, cache_kind=cache_kind), prompts(190)
    assert error(mine.stack.next_logits([prompt], mine.stack.new_cache(1, 190))[0], mine.last_logits(prompt)) < CACHES[cache_kind]


@every_kind
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_chunks_batches_and_threads_change_nothing(runtime, kind, data):
    name, cache_kind = data.draw(st.sampled_from(list(MODELS))), data.draw(st.sampled_from(list(CACHES)))
    lengths = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=5))
    num_threads = data.draw(st.integers(1, 5))
    mine, rows = model(name, kind, runtime, cache_kind=cache_kind), prompts(*lengths)
    other = Runtime(num_threads, runtime.folder)
    stack = CompiledDecoder(mine.stack.description, mine.stack.weights, runtime.forward_pass, other.pool, cache_kind=cache_kind)
    together, cache = stack.new_cache(len(rows), 50), mine.stack.new_cache
    first = stack.next_logits(rows, together)
    second = stack.next_logits([[3]] * len(rows), together)
    for index, row in enumerate(rows):
        alone = cache(1, 50)
        for token_id in row[:-1]:
            mine.stack.next_logits([[token_id]], alone)
        last = mine.stack.next_logits([row[-1:]], alone)[0]
        assert error(first[index], last) < 1e-5
        assert error(second[index], mine.stack.next_logits([[3]], alone)[0]) < 1e-5


@every_kind
def test_the_number_of_threads_changes_no_bit(runtime, kind):
    mine, rows = model("qwen3 with wide heads", kind, runtime), prompts(700, 3, 20)
    answers = []
    for num_threads in (1, 2, 7):
        stack = CompiledDecoder(mine.stack.description, mine.stack.weights, runtime.forward_pass, Runtime(num_threads, runtime.folder).pool)
        cache = stack.new_cache(3, 710)
        answers.append((stack.next_logits(rows, cache), stack.next_logits([[4], [5], [6]], cache)))
    for answer in answers[1:]:
        numpy.testing.assert_array_equal(answer, answers[0])


@pytest.mark.parametrize("cache_kind", CACHES)
@pytest.mark.parametrize("name", ["qwen2", "gpt2 with heads of an odd size"])
def test_sequences_go_on_from_others(runtime, name, cache_kind):
    mine, rows = model(name, "float32", runtime, cache_kind=cache_kind), prompts(9, 4, 17)
    cache, parents = mine.stack.new_cache(3, 30), [2, 0, 0, 2, 2]
    mine.stack.next_logits(rows, cache)
    cache.take(parents)
    mine.stack.next_logits([[number] for number in range(5)], cache)
    cache.take([4, 1])
    logits = mine.stack.next_logits([[11], [12]], cache)
    for got, expected in zip(logits, ([*rows[2], 4, 11], [*rows[0], 1, 12]), strict=True):
        alone = mine.stack.new_cache(1, 30)
        numpy.testing.assert_array_equal(got, mine.stack.next_logits([expected], alone)[0])


@every_model
def test_hidden_states_are_those_of_the_definitions(runtime, name):
    mine, (prompt,) = model(name, "float32", runtime), prompts(530)
    expected = mine.architecture.hidden_states(numpy.array([prompt]), mine.weights, mine.config)[0]
    assert error(mine.stack.hidden_states(prompt), expected) < 1e-5


@pytest.mark.parametrize("cache_kind", CACHES)
def test_a_later_token_changes_no_earlier_vector(runtime, cache_kind):
    mine, (prompt,) = model("qwen2", "int8", runtime, cache_kind=cache_kind), prompts(40)
    before, after = mine.stack.hidden_states(prompt), mine.stack.hidden_states([*prompt[:25], 1, *prompt[26:]])
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
def test_compiled_code_is_given_nothing_wrong(runtime, name, token_ids, error):
    stack = model(name, "int8", runtime).stack
    cache = stack.new_cache(1, 2000)
    with pytest.raises(error, match="came: "):
        stack.next_logits(token_ids, cache)
    assert cache.lengths == [0]


def test_two_python_threads_may_use_one_stack(runtime):
    stack, rows = model("qwen2", "int8", runtime).stack, prompts(20, 33)
    expected, wrong = [stack.next_logits([row], stack.new_cache(1, 40)) for row in rows], []

    def work(row, answer):
        for _ in range(30):
            if not (stack.next_logits([row], stack.new_cache(1, 40)) == answer).all():
                wrong.append(row)

    threads = [threading.Thread(target=work, args=each) for each in zip(rows, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_needs_more_memory_than_there_is_is_an_error(runtime, tmp_path, monkeypatch):
    stack = model("qwen2", "int8", runtime).stack
    (tmp_path / "meminfo").write_text("MemAvailable: 17 kB\n")
    monkeypatch.setattr(memory_check, "MEMINFO", tmp_path / "meminfo")
    with pytest.raises(ResourceError, match=r"keys and values of 3 x 1000 tokens"):
        stack.new_cache(3, 1000)
