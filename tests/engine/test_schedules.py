"""Any schedule gives the tokens that each request gets alone, every request ends, and no page is lost."""

from __future__ import annotations

import threading
from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from headway.engine import GenerationOptions, Request, RequestFailed
from headway.errors import DeadlineError, OverloadedError, PromptError
from tests.engine.paged_runner import VOCAB_SIZE, PagedRunner, paged_engine

PAGE_SIZE, MAX_SEQ_LEN = 4, 64


@st.composite
def requests(draw, max_pages):
    """A request that fits in max_pages pages; many share a prefix, and some repeat themselves."""
    beams = draw(st.sampled_from([1, 1, 1, 2, 3]))
    choices = draw(st.sampled_from([1, 1, 2, 3])) if beams == 1 else 1
    longest = min(max_pages // max(beams, choices) * PAGE_SIZE, MAX_SEQ_LEN)
    length = draw(st.integers(1, longest - 1))
    common = [3, 5, 7, 11, 13, 17, 3, 5, 7, 2, 4, 6] * 3
    num_common = draw(st.integers(0, length))
    prompt = [*common[:num_common], *draw(st.lists(st.integers(0, VOCAB_SIZE - 1), min_size=length, max_size=length))][:length]
    options = (
        {"num_beams": beams} if beams > 1 else {"temperature": draw(st.sampled_from([0.0, 0.3, 1.5])), "seed": draw(st.integers(0, 9))}
    )
    if draw(st.booleans()):
        options["no_repeat_ngram_size"] = 3
    if beams == 1 and draw(st.booleans()):
        options["num_log_probs"] = 2
    return Request(
        prompt,
        GenerationOptions(max_new_tokens=draw(st.integers(1, longest - length)), **options),
        end_token_ids=draw(st.sampled_from([(), (0, 1)])),
        num_choices=choices,
        priority=draw(st.integers(0, 2)),
        cache_key=draw(st.sampled_from(["", "", "other"])),
    )


@st.composite
def schedules(draw):
    max_pages = draw(st.integers(4, 20))
    return {
        "max_pages": max_pages,
        "max_rows": draw(st.integers(3, 24)),
        "window": draw(st.sampled_from([None, None, 6])),
        "max_running": draw(st.integers(1, 6)),
        "gap": draw(st.sampled_from([1e-9, 10.0])),
        "lookup": draw(st.booleans()),
        "arrivals": draw(
            st.lists(st.tuples(st.integers(0, 6), requests(max_pages), st.none() | st.integers(0, 9)), min_size=1, max_size=8)
        ),
    }


def alone(request, window):
    """The events of a request that runs alone, with all the memory there is."""
    return collect(paged_engine(runner=PagedRunner(page_size=PAGE_SIZE, window=window), uses_prompt_lookup=False), request)


def collect(engine, request):
    events = []
    engine.add(request, events.extend, index=0)
    while engine.step():
        pass
    return events


@settings(max_examples=150)
@given(schedules())
def test_any_schedule_gives_the_tokens_of_each_request_alone(schedule):
    runner = PagedRunner(page_size=PAGE_SIZE, max_rows=schedule["max_rows"], window=schedule["window"])
    engine = paged_engine(
        runner=runner,
        max_pages=schedule["max_pages"],
        max_running=schedule["max_running"],
        max_gap_seconds=schedule["gap"],
        uses_prompt_lookup=schedule["lookup"],
    )
    pending = sorted(enumerate(schedule["arrivals"]), key=lambda each: each[1][0])
    events, numbers, aborts, time = {index: [] for index, _ in pending}, {}, {}, 0
    while pending or engine.has_requests:
        while pending and pending[0][1][0] <= time:
            index, (_, request, lifetime) = pending.pop(0)
            numbers[index] = engine.add(request, events[index].extend, index=index)
            if lifetime is not None:
                aborts[index] = time + lifetime
        for index, end in aborts.items():
            if end == time:
                engine.abort(numbers[index])
        engine.step()
        engine.verify()
        time += 1
        assert time < 3000, "a request does not end"
    for index, (_, request, lifetime) in enumerate(schedule["arrivals"]):
        expected = [replace(event, index=index) for event in alone(request, schedule["window"])]
        for choice in range(request.num_choices):
            ours, theirs = (
                [replace(event, num_cached=0) for event in each if event.choice == choice] for each in (events[index], expected)
            )
            assert ours == (theirs if lifetime is None else theirs[: len(ours)])
    assert engine.pool.usage == 0


def test_a_prefix_is_computed_once():
    engine, prompt = paged_engine(), list(range(20))
    first = collect(engine, Request(prompt, GenerationOptions(max_new_tokens=3)))
    passes = len(engine.runner.passes)
    again = collect(engine, Request(prompt, GenerationOptions(max_new_tokens=3)))
    assert [event.token_id for event in again] == [event.token_id for event in first]
    assert engine.runner.passes[passes] == [1]
    assert engine.stats.num_prefix_hits == 19


def test_a_turn_of_a_chat_computes_only_its_own_tokens():
    engine, prompt = paged_engine(), list(range(10))
    answer = [event.token_id for event in collect(engine, Request(prompt, GenerationOptions(max_new_tokens=4)))]
    passes = len(engine.runner.passes)
    collect(engine, Request([*prompt, *answer, 8, 9], GenerationOptions(max_new_tokens=1)))
    assert engine.runner.passes[passes] == [3]  # the last token of the answer was sampled, but not computed


def test_requests_with_different_cache_keys_share_nothing():
    engine, prompt = paged_engine(), list(range(20))
    for key in ("a", "b"):
        collect(engine, Request(prompt, GenerationOptions(max_new_tokens=1), cache_key=key))
    assert engine.stats.num_prefix_hits == 0


def test_running_sequences_have_a_row_in_each_pass_of_a_prompt():
    engine = paged_engine(max_gap_seconds=1e-9)
    tokens = []
    engine.add(Request([1], GenerationOptions(max_new_tokens=60)), tokens.extend)
    engine.step()
    engine.add(Request([2] * 60, GenerationOptions(max_new_tokens=2)), [].extend)
    while engine.step():
        pass
    assert len(tokens) == 60
    assert engine.runner.passes[1:5] == [[1, 15]] * 4


def test_an_error_of_one_request_ends_that_request_alone():
    def fail(token_ids, logits):
        if token_ids.shape[1] == 5:
            raise ValueError("the processor failed")
        return logits

    engine, bad, good = paged_engine(), [], []
    engine.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=9), make_processors=lambda: [fail]), bad.extend)
    engine.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=9)), good.extend)
    while engine.step():
        engine.verify()
    assert isinstance(bad[-1], RequestFailed)
    assert "the processor failed" in str(bad[-1].error)
    assert (len(bad), len(good), engine.pool.usage) == (3, 9, 0)


def test_an_error_of_the_runner_ends_all_that_run_and_the_engine_goes_on():
    engine, first, second = paged_engine(max_running=1), [], []
    engine.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=9)), first.extend)
    engine.step()
    engine.runner.fails = True
    engine.step()
    engine.runner.fails = False
    engine.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=9)), second.extend)
    while engine.step():
        engine.verify()
    assert isinstance(first[-1], RequestFailed)
    assert (len(first), len(second), engine.pool.usage) == (2, 9, 0)


def test_an_aborted_request_has_no_more_events():
    engine, events = paged_engine(), []
    number = engine.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=9)), events.extend)
    engine.step()
    engine.abort(number)
    assert not engine.step()
    assert len(events) == 1
    assert engine.pool.usage == 0


def test_a_request_that_never_fits_is_refused_at_once():
    engine = paged_engine(max_pages=4)
    with pytest.raises(PromptError, match="got a request for 17 tokens, expected at most 16, which the KV cache holds"):
        engine.add(Request([1] * 10, GenerationOptions(max_new_tokens=7)), [].extend)
    assert not engine.has_requests


def test_without_max_new_tokens_a_request_ends_where_the_cache_does():
    engine = paged_engine(max_pages=4)
    events = collect(engine, Request([1] * 10))
    assert (len(events), events[-1].finish_reason) == (6, "length")


def test_a_full_queue_refuses_requests():
    engine = paged_engine(max_waiting=2)
    for _ in range(2):
        engine.add(Request([1]), [].extend)
    with pytest.raises(OverloadedError, match="got a request while 2 are waiting"):
        engine.add(Request([1]), [].extend)


def test_a_request_fails_at_its_deadline():
    engine, events = paged_engine(), []
    engine.add(Request([1, 2], GenerationOptions(max_new_tokens=9), timeout_seconds=0.0), events.extend)
    assert not engine.step()
    assert [type(event.error) for event in events] == [DeadlineError]


def test_prompt_lookup_computes_several_tokens_in_a_pass():
    """A runner that repeats its prompt for ever."""
    engine = paged_engine(runner=Repeating())
    engine._scheduler.pass_time.seconds = lambda rows: 1.0  # a draft always pays
    events = collect(engine, Request([1, 2, 3, 4, 5, 6] * 2, GenerationOptions(max_new_tokens=40)))
    assert [event.token_id for event in events] == ([1, 2, 3, 4, 5, 6] * 7)[:40]
    assert len(engine.runner.passes) < 15
    assert engine.stats.num_accepted > 30


class Repeating(PagedRunner):
    def run(self, batch):
        logits = super().run(batch)
        after = [token_id % 6 + 1 for rows in batch for token_id in rows.token_ids[len(rows.token_ids) - rows.num_wanted :]]
        logits[range(len(after)), after] += 100
        return logits


def test_a_choice_can_be_aborted_alone():
    engine, events = paged_engine(), []
    options = GenerationOptions(max_new_tokens=9, temperature=1.0, seed=1)
    number = engine.add(Request([1, 2, 3], options, num_choices=3), events.extend)
    engine.step()
    engine.abort(number, 1)
    while engine.step():
        engine.verify()
    assert [sum(event.choice == choice for event in events) for choice in range(3)] == [9, 1, 9]
    assert engine.pool.usage == 0


def test_the_first_token_reports_the_cached_prompt():
    engine, prompt = paged_engine(), list(range(20))
    for expected in (0, 19):
        events = collect(engine, Request(prompt, GenerationOptions(max_new_tokens=3)))
        assert [event.num_cached for event in events] == [expected, 0, 0]


def test_a_request_is_added_and_aborted_while_a_pass_runs():
    runner = PagedRunner()
    engine, events, numbers = paged_engine(runner=runner), [], []

    def run_and_add(batch, run=runner.run):
        thread = threading.Thread(
            target=lambda: numbers.append(engine.add(Request([4, 5], GenerationOptions(max_new_tokens=2)), events.extend))
        )
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        engine.abort(numbers[0])
        return run(batch)

    engine.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=2)), [].extend)
    runner.run = run_and_add
    engine.step()
    del runner.run
    while engine.step():
        engine.verify()
    assert (len(numbers), events) == (1, [])


def test_the_oldest_request_is_never_preempted():
    """Four requests that need more pages than there are; the first one goes last by priority, and still has a token in each pass."""
    engine, tokens, others = paged_engine(max_pages=12, uses_prompt_lookup=False), [], []
    engine.add(Request([1, 2, 3], GenerationOptions(max_new_tokens=40), priority=5), tokens.extend)
    engine.step()
    for number in range(3):
        engine.add(Request([4 + number] * 6, GenerationOptions(max_new_tokens=30)), others.extend)
    for number in range(2, 41):
        engine.step()
        engine.verify()
        assert len(tokens) == number
    while engine.step():
        engine.verify()
    assert engine.stats.num_preemptions > 0
    assert sum(event.finish_reason is not None for event in others) == 3


def test_requests_with_a_smaller_priority_go_first():
    engine, order = paged_engine(max_running=1), []
    for name, priority in (("first", 0), ("low", 2), ("high", -1), ("normal", 0), ("high again", -1)):
        engine.add(Request([1, 2], GenerationOptions(max_new_tokens=1), priority=priority), lambda _, name=name: order.append(name))
    while engine.step():
        pass
    assert order == ["high", "high again", "first", "normal", "low"]


def test_a_request_fails_at_its_deadline_while_it_waits():
    engine, running, waiting = paged_engine(max_running=1), [], []
    engine.add(Request([1, 2], GenerationOptions(max_new_tokens=9)), running.extend)
    engine.step()
    engine.add(Request([1, 2], timeout_seconds=0.0), waiting.extend)
    while engine.step():
        engine.verify()
    assert [type(event.error) for event in waiting] == [DeadlineError]
    assert len(running) == 9


def test_requests_that_are_added_together_are_refused_together():
    engine = paged_engine(max_waiting=2)
    for requests, error in (([Request([1])] * 3, OverloadedError), ([Request([1]), Request([])], PromptError)):
        with pytest.raises(error):
            engine.stream(requests)
        assert not engine.has_requests
