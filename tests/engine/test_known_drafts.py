"""Tokens that are known in advance: those of a prompt that is scored, and those that a processor prescribes."""

from __future__ import annotations

import numpy
import pytest

from headway import functions
from headway.engine import GenerationOptions, Request, RequestFailed
from headway.engine.speculation import Known
from headway.errors import OptionError
from tests.engine.paged_runner import VOCAB_SIZE, PagedRunner, logits_after, paged_engine

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


class Failing(Forcing):
    """Fails at token number `end`: in advance, and where it is called."""

    def __init__(self, end, fails_in_advance):
        self.end, self.fails_in_advance = end, fails_in_advance

    def __call__(self, token_ids, logits):
        if token_ids.shape[1] >= self.end:
            raise ValueError("the processor failed")
        return super().__call__(token_ids, logits)

    def forced_tokens(self, token_ids):
        if self.fails_in_advance and len(token_ids) >= self.end:
            raise ValueError("the processor failed in advance")
        return super().forced_tokens(token_ids)


def failing(end, fails_in_advance):
    return Request(PROMPT[:3], GenerationOptions(max_new_tokens=20), make_processors=lambda: [Failing(end, fails_in_advance)])


def collect(engine, *requests):
    """Return the events of each request, and failures too."""
    events = [[] for _ in requests]
    for index, request in enumerate(requests):
        engine.add(request, events[index].extend, index=0)
    while engine.step():
        engine.verify()
    return events


def test_an_error_of_a_draft_ends_that_request_alone():
    bad, good = collect(paged_engine(), failing(7, True), Request(PROMPT[:3], GenerationOptions(max_new_tokens=9)))
    assert (len(bad), type(bad[-1]), len(good)) == (5, RequestFailed, 9)


def test_the_tokens_before_one_that_fails_are_kept():
    engine = paged_engine()
    (events,) = collect(engine, failing(8, False))
    expected = run(paged_engine(), Request(PROMPT[:3], GenerationOptions(max_new_tokens=20), make_processors=lambda: [Prescribing()]))[0]
    assert engine.stats.num_accepted > 0
    assert events[:-1] == expected[:5]
    assert "the processor failed" in str(events[-1].error)


def test_drafts_leave_rows_to_prompts_and_fit_in_one_pass():
    engine = paged_engine(runner=PagedRunner(max_rows=64), max_seq_len=256)
    options = GenerationOptions(max_new_tokens=1)
    for index in range(20):
        engine.add(Request([index, *PROMPT[1:], *PROMPT], options, num_scored=79), [].extend)
    engine.step()
    prompt = []
    engine.add(Request([22, 21, 20] * 9, GenerationOptions(max_new_tokens=2)), prompt.extend)
    num_steps, before = 0, len(engine.runner.passes)
    while not prompt:
        engine.step()
        num_steps += 1
    assert num_steps == 2  # chunks of at least 16 tokens
    assert len(engine.runner.passes) - before == num_steps
    assert max(sum(rows) for rows in engine.runner.passes) > 32


def test_drafts_keep_the_time_budget_of_other_requests():
    engine = paged_engine(runner=PagedRunner(max_rows=256), max_seq_len=256, max_gap_seconds=1e-9)
    engine.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=200)), [].extend)
    for index in range(4):
        engine.add(Request([index, *PROMPT, *PROMPT], GenerationOptions(max_new_tokens=1), num_scored=80), [].extend)
    for _ in range(9):
        engine.step()
    assert 5 + 12 <= max(sum(rows) for rows in engine.runner.passes[2:]) <= 5 + 16


def test_a_scored_prompt_waits_for_the_memory_of_all_its_tokens():
    engine = paged_engine(max_pages=14)
    engine.add(Request(PROMPT[:20], GenerationOptions(max_new_tokens=9)), [].extend)
    engine.step()
    engine.step()
    engine.add(Request(PROMPT, GenerationOptions(max_new_tokens=1), num_scored=39), [].extend)
    engine.step()
    assert (engine.stats.num_running, engine.stats.num_waiting) == (1, 1)
    while engine.step():
        engine.verify()
    assert engine.stats.num_preemptions == 0


def test_rejected_drafts_become_shorter():
    drafts = Known(lambda token_ids: [1] * 100)
    lengths = []
    for num_accepted in (0, 0, 0, 0, 0, 0, 1, 32):
        lengths.append(len(drafts.draft([0], 1000)))
        drafts.update(lengths[-1], num_accepted)
    assert lengths == [32, 16, 8, 4, 2, 1, 1, 32]


def test_evicted_prefixes_leave_nothing():
    engine = paged_engine(max_pages=8)
    for index in range(30):
        run(engine, Request(PROMPT[:9], GenerationOptions(max_new_tokens=2), cache_key=str(index)))
    assert len(engine.pool.prefixes._roots) <= 8
    engine.clear_prefix_cache()
    assert not engine.pool.prefixes._roots
