"""picoGPT's generate, which takes params and calls gpt2 from its own file; two mistakes at once; names."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import Subject, subjects_of
from headway.practice.exercises import exercise
from headway.practice.names import means
from headway.practice.recipes.tiny_gpt import TINY_GPT

CHOSEN = exercise("generate")

PICO = """
import numpy as np

def gpt2(inputs, wte, wpe, blocks, ln_f, n_head):
    return MODEL(np.array(inputs))

def generate(inputs, params, n_head, n_tokens_to_generate):
    inputs = list(inputs)
    for _ in range(n_tokens_to_generate):
        logits = gpt2(inputs, **params, n_head=n_head)
        next_id = np.argmax(logits[-1])
        inputs.append(int(next_id))
    return inputs[len(inputs) - n_tokens_to_generate:]
"""


def judged(text, name="generate"):
    module = ModuleType("mine")
    module.MODEL = TINY_GPT.logits
    exec(text, module.__dict__)
    return diagnose(next(subject for subject in subjects_of(module, text) if subject.name == name), CHOSEN)


def test_params_are_accepted_instead_of_a_model():
    verdict = judged(PICO)
    assert verdict.is_correct, verdict
    assert any("without the prompt" in note.en for note in verdict.notes)


@pytest.mark.parametrize(
    ("right", "wrong", "name"),
    [
        ("logits[-1]", "logits[0]", "logits_of_first_position"),
        ("np.argmax", "np.argmin", "least_likely_taken"),
    ],
)
def test_mistakes_are_named_for_functions_that_take_params(right, wrong, name):
    verdict = judged(PICO.replace(right, wrong))
    assert verdict.causes[0].name == name, verdict


def test_a_prompt_that_is_extended_in_place_is_noted():
    verdict = judged(PICO.replace("inputs = list(inputs)", "inputs = inputs"))
    assert verdict.is_correct, verdict
    assert any("prompt" in note.en or "input" in note.en for note in verdict.notes), verdict


def test_two_mistakes_at_once_are_both_named():
    def generate(model, prompt, max_new_tokens, context_size):
        ids = list(prompt)
        for _ in range(max_new_tokens + 1):
            ids.append(int(np.argmax(model(ids[:context_size])[-1])))
        return ids

    verdict = diagnose(Subject(generate, "generate", imports=("numpy",)), CHOSEN)
    assert verdict.causes[0].name == "first_tokens_kept + one_too_many"


@pytest.mark.parametrize(
    "name",
    "generate generate_text_simple greedy_decode generate_text greedy_search greedy_generate generate_with_key_value_cache TextGenerator".split(),
)
def test_common_names_are_recognized(name):
    assert means(name, CHOSEN.name)


@pytest.mark.parametrize("name", "generate_mask generate_batch DataGenerator generate_positions create_key_generator Generator".split())
def test_names_of_related_functions_are_not_recognized(name):
    assert not means(name, CHOSEN.name)


CACHED = """
def generate_text_simple_cached(model, idx, max_new_tokens, context_size=None):
    model.reset_kv_cache()
    logits = model(idx[:, -context_size:] if context_size else idx, use_cache=True)
    for _ in range(max_new_tokens):
        next_idx = logits[:, -1].argmax(-1)[:, None]
        idx = np.concatenate([idx, next_idx], axis=1)
        logits = model({given}, use_cache=True)
    return idx
"""


def test_a_cache_is_accepted_and_reported():
    verdict = judged("import numpy as np\n" + CACHED.format(given="next_idx"), "generate_text_simple_cached")
    assert verdict.is_correct, verdict
    assert any("key-value cache" in note.en for note in verdict.notes)


def test_a_function_that_mentions_a_cache_but_uses_none_is_checked_on_long_texts():
    text = """
def generate(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)  # no kv cache yet
    for _ in range(max_new_tokens):
        ids.append(int(model(ids)[-1].argmax()))
    return ids
"""
    assert [cause.name for cause in judged(text).causes] == ["context_not_cropped"]


@pytest.mark.parametrize(
    ("window", "mistakes"), [("-block_size:", []), (":block_size", ["first_tokens_kept"]), ("-block_size - 1 :", ["context_not_cropped"])]
)
def test_a_context_size_that_is_a_variable_of_the_file_is_that_of_the_model(window, mistakes):
    text = f"""
import numpy as np

block_size = 1024

def generate(model, ctx, max_new_tokens):
    for _ in range(max_new_tokens):
        logits = model(ctx[:, {window}])
        ctx = np.concatenate([ctx, logits[:, -1].argmax(-1)[:, None]], axis=1)
    return ctx
"""
    verdict = judged(text)
    assert [cause.name for cause in verdict.causes] == mistakes
    assert verdict.is_correct or mistakes


def test_the_whole_text_together_with_a_cache_is_a_mistake():
    verdict = judged("import numpy as np\n" + CACHED.format(given="idx"), "generate_text_simple_cached")
    assert [cause.name for cause in verdict.causes] == ["whole_text_beside_cache"]


def test_exceptions_alone_are_not_explained_by_two_mistakes():
    text = """
import torch

def generate(model, ids, max_new_tokens):
    for _ in range(max_new_tokens):
        logits, _ = model(ids)  # with embedded positions
        following = torch.multinomial(torch.softmax(logits[-1, :], dim=-1), num_samples=1)
        ids = torch.cat((ids, following.view(1, 1)), dim=1)
    return ids
"""
    assert [cause.name for cause in judged(text).causes] == ["raises_RuntimeError"]
