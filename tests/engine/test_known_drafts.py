"""Tokens that are known in advance: those of a prompt that is scored, and those that a processor prescribes."""

from __future__ import annotations

import numpy
import pytest

from headway import functions
from headway.engine import GenerationOptions, Request
from headway.errors import OptionError
from tests.engine.paged_runner import VOCAB_SIZE, logits_after, paged_engine

PROMPT = [int(token) for token in numpy.random.default_rng(1).integers(0, VOCAB_SIZE, 40)]


def run(engine, *requests):
    """Return the events of each request."""
    events = [[] for _ in requests]
    for event in engine.stream(requests):
        events[event.index].append(event)
    engine.verify()
    return events


@pytest.mark.parametrize("num_choices", [1, 3])
@pytest.mark.parametrize("num_scored", [1, 20, 39])
def test_scored_tokens_have_the_log_probabilities_of_their_logits(num_choices, num_scored):
    options = GenerationOptions(max_new_tokens=4, temperature=1, seed=5, num_log_probs=2)
    engine = paged_engine()
    (events,) = run(engine, Request(PROMPT, options, num_choices=num_choices, num_scored=num_scored))
    scored, new = events[:num_scored], events[num_scored:]
    first = len(PROMPT) - num_scored
    for position, event in enumerate(scored, first):
        log_probs = functions.log_softmax(logits_after(PROMPT[:position], position - 1))
        assert (event.token_id, event.choice, event.finish_reason) == (PROMPT[position], 0, None)
        assert event.log_prob == float(log_probs[PROMPT[position]])
        assert list(event.top_log_probs) == numpy.argsort(-log_probs)[:2].tolist()
    (expected,) = run(paged_engine(), Request(PROMPT, options, num_choices=num_choices))
    assert [(each.choice, each.token_id, each.log_prob) for each in new] == [
        (each.choice, each.token_id, each.log_prob) for each in expected
    ]
    assert engine.stats.num_passes <= 4 + -(-len(PROMPT) // engine.runner.max_rows) + 3


def test_prompts_are_scored_together_and_where_memory_runs_out():
    options = GenerationOptions(max_new_tokens=8, num_log_probs=0)
    requests = [Request([*PROMPT, index], options, num_scored=40) for index in range(4)]
    alone = [run(paged_engine(), request)[0] for request in requests]
    engine = paged_engine(max_pages=14)
    together = run(engine, *requests)
    assert engine.stats.num_preemptions > 0
    assert [[(e.token_id, e.log_prob) for e in events] for events in together] == [[(e.token_id, e.log_prob) for e in a] for a in alone]


@pytest.mark.parametrize("num_scored", [-1, 40])
def test_the_first_token_cannot_be_scored(num_scored):
    with pytest.raises(OptionError, match=r"num_scored=.*expected 0 to 39"):
        paged_engine().stream([Request(PROMPT, num_scored=num_scored)])


class Prescribing:
    """Allows one token at each position, but every fifth, where it allows all."""

    def __call__(self, token_ids, logits):
        (next_token,) = self.prescribed(token_ids.shape[1], 1) or (None,)
        return logits if next_token is None else functions.force_tokens(logits, [next_token])

    def prescribed(self, position, number):
        found = []
        while len(found) < number and position % 5:
            found.append(position % VOCAB_SIZE)
            position += 1
        return found


class Forcing(Prescribing):
    def forced_tokens(self, token_ids):
        return self.prescribed(len(token_ids), 100)


class Wrong(Prescribing):
    def forced_tokens(self, token_ids):
        return [1] * 9


@pytest.mark.parametrize("temperature", [0, 1])
def test_prescribed_tokens_are_rows_of_one_pass_and_the_text_is_the_same(temperature):
    options = GenerationOptions(max_new_tokens=43, temperature=temperature, seed=2)
    tokens, passes = {}, {}
    for kind in (Prescribing, Forcing, Wrong):
        engine = paged_engine(uses_prompt_lookup=False)
        requests = [Request([*PROMPT[:3], index], options, make_processors=lambda kind=kind: [kind()]) for index in range(5)]
        tokens[kind] = [[event.token_id for event in events] for events in run(engine, *requests)]
        passes[kind] = engine.stats.num_passes
    assert tokens[Forcing] == tokens[Wrong] == tokens[Prescribing]
    assert passes[Prescribing] == 43 + 1
    assert passes[Forcing] < 20
