"""The deployment of a model: its engine in a process that Ray starts, called by the ingress."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable

import numpy
from ray import serve

from headway.cluster.messages import decode_request, encode_events
from headway.engine import EngineStats, RequestFailed
from headway.errors import HeadwayError
from headway.language_model import LanguageModel
from headway.language_model.classifier import Ranked
from headway.server.served_model import ServedModel
from headway.server.submission import Submission

SILENT_SECONDS = 3600.0
"""Longest wait for the events of a pass before it is repeated."""


class Replica:
    """A model with its engine. Serve runs its methods in one event loop."""

    def __init__(self, load: Callable[[], LanguageModel]) -> None:
        """Load the model; it takes the time of a load, in which Serve sends no request."""
        self._model = load()
        self._served = ServedModel("", self._model)
        self._submission: Submission | None = None
        self._encoding = asyncio.Lock()

    async def generate(self, key: str, message: bytes) -> AsyncIterator[bytes]:
        """Yield the events of a request, as one message for all that arrived meanwhile. Cancelling it aborts the request.

        key       placement key, for the router
        message   see encode_request
        """
        if self._submission is None:
            self._submission = Submission(self._model.engine_thread, asyncio.get_running_loop())
        try:
            request = await asyncio.to_thread(lambda: self._model.with_processors(decode_request(message)))
            subscription = self._submission.open([request])
        except HeadwayError as error:
            yield encode_events([RequestFailed(0, error)])
            return
        num_running = request.num_choices
        try:
            while num_running:
                arrivals = await subscription.next(SILENT_SECONDS)
                events = [event for arrival in arrivals for event in arrival.events]
                if any(isinstance(event, RequestFailed) for event in events):
                    num_running = 0
                num_running -= sum(not isinstance(event, RequestFailed) and event.finish_reason is not None for event in events)
                if events:
                    yield encode_events(events)
        finally:
            subscription.close()

    async def embed(self, key: str, texts: list[str]) -> numpy.ndarray:
        """Return the vectors of texts."""
        async with self._encoding:
            return await asyncio.to_thread(self._served.embed, texts)

    async def rank(self, key: str, query: str, texts: list[str], top_k: int | None, cuts: bool) -> list[Ranked]:
        """Return texts by their relevance to a query; see ServedModel."""
        async with self._encoding:
            return await asyncio.to_thread(self._served.rank, query, texts, top_k, cuts)

    async def stats(self) -> tuple[str, EngineStats]:
        """Return the name of this replica, and the figures of its engine."""
        return serve.get_replica_context().replica_id.unique_id, self._model.engine.stats

    async def num_open(self, key: str = "") -> int:
        """Return the number of requests that have not ended."""
        return self._submission.num_open if self._submission else 0

    async def process_id(self, key: str = "") -> int:
        """Return the id of the process."""
        return os.getpid()

    def check_health(self) -> None:
        """Raise an error if the engine's thread has ended; Serve then starts another replica."""
        if self._submission is not None and not self._submission.thread.is_alive:
            raise RuntimeError("the engine's thread has ended")
