"""A completion that continues in another engine has the tokens that it would have had in the first one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headway
from headway.engine import GenerationOptions, Request, Resumption
from headway.errors import OptionError, TokenIdError
from tests.engine.paged_runner import paged_engine

OPTIONS = st.sampled_from(
    [
        {"temperature": 0.0},
        {"temperature": 1.0, "seed": 3},
        {"temperature": 0.7, "seed": 5, "top_p": 0.9, "repetition_penalty": 1.3},
        {"temperature": 1.2, "seed": 7, "presence_penalty": 1.0, "frequency_penalty": 0.5, "min_new_tokens": 6},
        {"temperature": 1.0, "seed": 9, "no_repeat_ngram_size": 2, "forced_eos_token_id": 3},
    ]
)


def tokens(engine, request) -> dict[int, list]:
    found: dict[int, list] = {}
    for token in engine.stream([request]):
        found.setdefault(token.choice, []).append(token)
    return found


@settings(max_examples=60, deadline=None)
@given(OPTIONS, st.integers(1, 3), st.integers(1, 11), st.integers(1, 9))
def test_every_choice_continues_with_its_own_tokens(options, num_choices, length, num_before):
    options = GenerationOptions(max_new_tokens=12, **options)
    request = Request([*range(1, length + 1)], options, end_token_ids=[2], num_choices=num_choices)
    for choice, whole in tokens(paged_engine(), request).items():
        if len(whole) <= num_before:
            continue
        begun = Resumption(choice, [token.token_id for token in whole[:num_before]])
        rest = tokens(paged_engine(), replace(request, num_choices=1, resumption=begun))[choice]
        assert [(token.token_id, token.finish_reason) for token in rest] == [
            (token.token_id, token.finish_reason) for token in whole[num_before:]
        ]


@pytest.mark.parametrize("options", [{}, {"json_schema": {"type": "array", "items": {"type": "integer"}}}])
def test_the_embedded_model_continues_with_the_same_log_probabilities(options):
    options = {"temperature": 1.0, "seed": 11, "num_log_probs": 2, "max_new_tokens": 40, **options}
    with headway.load("stories") as model:
        request = model.request(model.tokenizer.encode("Once upon a time"), options)
        (whole,) = tokens(model.engine, request).values()
        assert len(whole) > 8
        model.engine.clear_prefix_cache()
        for num_before in (1, len(whole) // 2, len(whole) - 1):
            begun = Resumption(0, [token.token_id for token in whole[:num_before]])
            (rest,) = tokens(model.engine, replace(request, resumption=begun)).values()
            assert [(each.token_id, each.log_prob) for each in rest] == [(each.token_id, each.log_prob) for each in whole[num_before:]]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"num_choices": 2}, OptionError, "one completion"),
        ({"options": GenerationOptions(num_beams=2)}, OptionError, "one completion"),
        ({"options": GenerationOptions(max_new_tokens=2)}, OptionError, "fewer than max_new_tokens=2"),
        ({"resumption": Resumption(0, [99])}, TokenIdError, "in resumption"),
    ],
)
def test_a_resumption_that_cannot_continue_is_refused(changes, error, message):
    request = Request([1, 2], resumption=Resumption(0, [3, 4]))
    with pytest.raises(error, match=message):
        paged_engine().add(replace(request, **changes), print)
