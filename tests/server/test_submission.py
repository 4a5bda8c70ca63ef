"""Delivery of the engine's events to the event loop."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from headway.engine import Event, Request, SampledToken
from headway.server import submission
from headway.server.errors import ApiError
from headway.server.submission import Submission, Subscription
from tests.server.conftest import ManualThread

REQUEST = Request([1])


async def next_events(subscription: Subscription, seconds: float = 600) -> list[Event]:
    return [event for arrival in await subscription.next(seconds) for event in arrival.events]


def test_tokens_of_short_passes_are_delivered_together_and_the_first_and_last_at_once(monkeypatch):
    monkeypatch.setattr(submission, "GATHER_SECONDS", 1e6)

    async def deliver() -> list[list[int]]:
        thread = ManualThread()
        subscription, deliveries = Submission(thread, asyncio.get_running_loop()).open([REQUEST]), []
        for token_ids, reason in (([3], None), ([4, 5, 6], None), ([7], "stop")):
            for token_id in token_ids:
                thread.send(0, token_id, reason if token_id == token_ids[-1] else None)
            if token_ids != [4, 5, 6]:
                deliveries.append([event.token_id for event in await next_events(subscription)])
        return deliveries

    assert asyncio.run(deliver()) == [[3], [4, 5, 6, 7]]


def test_a_failure_is_delivered_at_once(monkeypatch):
    monkeypatch.setattr(submission, "GATHER_SECONDS", 1e6)

    async def deliver() -> list[str]:
        thread = ManualThread()
        subscription = Submission(thread, asyncio.get_running_loop()).open([REQUEST])
        thread.send(0)
        await subscription.next(600)
        thread.send(0)
        thread.fail(0, ValueError())
        return [type(event).__name__ for event in await next_events(subscription)]

    assert asyncio.run(deliver()) == ["SampledToken", "RequestFailed"]


def test_a_wait_without_events_ends_after_its_time():
    async def wait() -> list[list[SampledToken]]:
        thread = ManualThread()
        subscription = Submission(thread, asyncio.get_running_loop()).open([REQUEST])
        thread.send(0)
        # The timer of the long wait, which an event ended, is replaced by an earlier one, and one that fires early is set again.
        waits = [await next_events(subscription, seconds) for seconds in (600, 0.001, 0.001)]
        thread.send(0, 5)
        return [*waits, await next_events(subscription)]

    assert [len(events) for events in asyncio.run(wait())] == [1, 0, 0, 1]


@pytest.mark.parametrize(("num_prompts", "is_kept"), [(1, False), (200, True)])
def test_every_prompt_may_have_events_that_wait(num_prompts, is_kept):
    async def deliver() -> int:
        thread = ManualThread()
        subscription = Submission(thread, asyncio.get_running_loop()).open([REQUEST] * num_prompts)
        for _ in range(5_000):
            thread.send(0)
        try:
            return len(await next_events(subscription))
        except ApiError as error:
            return error.status

    assert asyncio.run(deliver()) == (5_000 if is_kept else 408)


def test_events_that_are_delivered_together_have_the_times_of_the_engine(monkeypatch):
    monkeypatch.setattr(submission, "perf_counter", itertools.count().__next__)

    async def deliver() -> list[float]:
        thread = ManualThread()
        subscription = Submission(thread, asyncio.get_running_loop()).open([REQUEST])
        for token_id in range(5):
            thread.send(0, token_id)
        return [arrival.seconds for arrival in await subscription.next(600)]

    assert asyncio.run(deliver()) == [0, 1, 2, 3, 4]
