"""Lost replicas, with replicas in this process that a test ends at any message."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.cluster.messages import decode_request, encode_events
from headway.cluster.remote_engine import MAX_LOSSES, RemoteEngine, ReplicaLostError
from headway.engine import GenerationOptions, Request, RequestFailed, SampledToken
from headway.errors import PromptError, ResourceError
from tests.engine.paged_runner import paged_engine


class Replicas:
    """Answers calls with an engine; ends the calls after given numbers of messages, the first call after the first number."""

    def __init__(self, losses=()) -> None:
        self.losses, self.requests, self.keys, self.num_cancelled = list(losses), [], [], 0

    async def __call__(self, key, message):
        request = decode_request(message)
        self.requests.append(request)
        self.keys.append(key)
        left = self.losses.pop(0) if self.losses else None
        try:
            for token in paged_engine().stream([request]):
                if left == 0:
                    raise ReplicaLostError("lost")
                left = None if left is None else left - 1
                yield encode_events([token])
                await asyncio.sleep(0)
        except (asyncio.CancelledError, GeneratorExit):
            self.num_cancelled += 1
            raise


def run(replicas, request, until=None) -> list:
    """Return the events of a request; `until` is called after each of them with the engine and the number."""

    async def main():
        engine, events = RemoteEngine(replicas), []
        ended = asyncio.Event()

        def sink(some):
            events.extend(some)
            if until:
                until(engine, number, events)
            ends = {event.choice for event in events if isinstance(event, SampledToken) and event.finish_reason}
            if len(ends) == request.num_choices or isinstance(some[-1], RequestFailed):
                ended.set()

        number = engine.submit(request, sink)
        task = engine._open[number].task
        await asyncio.wait([task, asyncio.create_task(ended.wait())], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([task])
        assert not engine._open
        return events

    return asyncio.run(main())


def by_choice(events) -> dict[int, list]:
    found: dict[int, list] = {}
    for event in events:
        found.setdefault(event.choice, []).append((event.token_id, event.finish_reason))
    return found


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr("headway.cluster.remote_engine.PAUSE_SECONDS", 0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=4), st.integers(1, 3), st.sampled_from([0.0, 1.0]))
def test_a_request_of_lost_replicas_has_the_same_tokens(losses, num_choices, temperature):
    options = GenerationOptions(max_new_tokens=10, temperature=temperature, seed=4)
    request = Request([3, 4, 5], options, end_token_ids=[2], num_choices=num_choices)
    whole, lost = run(Replicas(), request), Replicas(losses)
    assert by_choice(run(lost, request)) == by_choice(whole)
    assert len(set(lost.keys)) == 1


def test_a_request_without_a_seed_draws_the_same_numbers_everywhere():
    replicas = Replicas([3])
    run(replicas, Request([3, 4, 5], GenerationOptions(max_new_tokens=10, temperature=1.0)))
    first, second = replicas.requests
    assert first.options.seed == second.options.seed is not None
    assert len(second.resumption.token_ids) == 3


def test_a_request_that_ends_replica_after_replica_fails():
    replicas = Replicas([0] * 100)
    (event,) = run(replicas, Request([3]))
    assert isinstance(event.error, ResourceError)
    assert len(replicas.requests) == MAX_LOSSES + 1


def test_losses_with_tokens_between_do_not_add_up():
    replicas = Replicas([1] * (3 * MAX_LOSSES))
    events = run(replicas, Request([3], GenerationOptions(max_new_tokens=4 * MAX_LOSSES)))
    assert len(events) == 4 * MAX_LOSSES


def test_an_error_of_the_request_ends_it():
    async def call(key, message):
        yield encode_events([RequestFailed(0, PromptError("got a wrong prompt"))])

    (event,) = run(call, Request([3]))
    assert isinstance(event.error, PromptError)


def test_an_unknown_error_ends_the_request_without_its_text():
    async def call(key, message):
        raise ValueError("secret")
        yield b""

    (event,) = run(call, Request([3]))
    assert "secret" not in str(event.error)


def test_an_aborted_request_has_no_more_events():
    replicas = Replicas()
    request = Request([3], GenerationOptions(max_new_tokens=30))
    events = run(replicas, request, until=lambda engine, number, events: len(events) == 3 and engine.abort(number))
    assert len(events) == 3
    assert replicas.num_cancelled == 1


def test_an_aborted_choice_has_no_more_events_and_the_other_continues():
    def until(engine, number, events):
        if sum(event.choice == 0 for event in events) == 3:
            engine.abort(number, 0)

    request = Request([3], GenerationOptions(max_new_tokens=8, temperature=1.0, seed=1), num_choices=2)
    found = by_choice(run(Replicas(), request, until))
    assert (len(found[0]), len(found[1])) == (3, 8)
