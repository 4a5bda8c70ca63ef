"""State of a running server: its models, the connection to the engine, admission, and readiness."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from headway.server.errors import ApiError, invalid, overloaded, unavailable
from headway.server.generation import Generation
from headway.server.metrics import Metrics
from headway.server.served_model import Prepared, ServedModel
from headway.server.settings import Settings
from headway.server.submission import EngineConnection, Submission
from headway.server.wire import Sampling

COMPILE_SECONDS = 30.0
"""Longest time that a request waits for its grammar to be compiled."""

_Result = TypeVar("_Result")


class Service:
    """State of a running server. Its methods are called in the event loop's thread.

    is_draining   True after SIGTERM: new requests get 503
    is_stopping   True after a second signal: running requests end, too
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        settings: Settings | None = None,
        engine_thread: Callable[[ServedModel], EngineConnection] = lambda served: served.model.engine_thread,
    ) -> None:
        """Serve models; the first one answers requests that name none.

        engine_thread   returns the thread that runs a model's engine, or a connection to others
        """
        self._engine_thread = engine_thread
        self.models = {served.name: served for served in models}
        self.settings, self.metrics = settings or Settings(), Metrics()
        self.is_draining = self.is_stopping = False
        self._submissions: dict[str, Submission] = {}
        self._num_encoding = 0
        # Two threads: tokenizing and templates of one request do not hold up the others. Large grammars take seconds.
        self._workers = ThreadPoolExecutor(2, thread_name_prefix="headway-prepare")
        self._compilers = ThreadPoolExecutor(1, thread_name_prefix="headway-compile")
        # Vectors and ranks of many texts take long; they have threads of their own.
        self._encoders = ThreadPoolExecutor(2, thread_name_prefix="headway-encode")

    def start(self) -> None:
        """Start the engine's threads; call it within the event loop."""
        loop = asyncio.get_running_loop()
        self._submissions = {name: Submission(self._engine_thread(served), loop) for name, served in self.models.items()}
        self.metrics.watch(lambda: [each for submission in self._submissions.values() for each in submission.thread.stats])

    def close(self) -> None:
        """Abort the requests that still run. The engine's threads belong to the models."""
        for submission in self._submissions.values():
            submission.close()
        for workers in (self._workers, self._compilers, self._encoders):
            workers.shutdown(wait=False, cancel_futures=True)

    @property
    def is_alive(self) -> bool:
        """True while the engine's threads run."""
        return bool(self._submissions) and all(each.thread.is_alive for each in self._submissions.values())

    @property
    def is_ready(self) -> bool:
        """True if a request would be accepted now."""
        return self.is_alive and not self.is_draining and self.metrics.num_waiting_choices < self.settings.max_waiting

    def find(self, name: str | None) -> ServedModel:
        """Return the model of a request.

        Errors   ApiError 404 for another name.
        """
        first = next(iter(self.models.values()))
        if name is None or self.settings.accept_any_model:
            return self.models.get(name or first.name, first)
        if name not in self.models:
            message = f"got model {name!r:.200}, expected {' or '.join(map(repr, self.models))}"
            raise ApiError(404, message, code="model_not_found", param="model")
        return self.models[name]

    def admit(self, num_choices: int = 1) -> None:
        """Refuse a request at the door, before its prompt is read.

        Errors   ApiError 503 for a server that drains or is broken, 429 for a full queue.
        """
        if self.is_draining:
            self.metrics.rejected("draining")
            raise unavailable("the server is shutting down", "shutting_down")
        if not self.is_alive:
            self.metrics.rejected("dead")
            raise unavailable("the engine does not run", "engine_dead")
        waiting, tokens = self.metrics.num_waiting_choices, self.metrics.num_waiting_tokens
        if waiting + num_choices > self.settings.max_waiting or tokens > self.settings.max_waiting_tokens:
            self.metrics.rejected("overloaded")
            rate = self.metrics.tokens_per_second
            message = f"got a request while {waiting} wait, expected at most {self.settings.max_waiting}"
            raise overloaded(message, tokens / rate if rate else 1)

    async def in_worker(self, function: Callable[..., _Result], *arguments: object) -> _Result:
        """Return the result of a function that runs in one of the two worker threads."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, function, *arguments)

    async def prepare(self, body: Sampling, function: Callable[..., _Result], *arguments: object) -> _Result:
        """Return the result of a function that prepares a request: in a thread of its own if it has a grammar to compile.

        Errors   ApiError 400 if it takes too long. The function itself runs to its end, which limits of its input bound.
        """
        if not body.has_grammar:
            return await self.in_worker(function, *arguments)
        work = asyncio.get_running_loop().run_in_executor(self._compilers, function, *arguments)
        try:
            return await asyncio.wait_for(work, COMPILE_SECONDS)
        except TimeoutError:
            message = f"got a grammar that is not compiled within {COMPILE_SECONDS:g} seconds, expected a simpler schema, regex or grammar"
            raise invalid(message, code="grammar_too_slow") from None

    async def encode(self, function: Callable[[Callable[[int], None]], tuple[_Result, int]]) -> tuple[_Result, int]:
        """Return the result of a function that computes vectors or ranks, and the number of tokens, in a thread for these.

        function   receives a function to call after each batch, which raises ConnectionError once the client has left

        The request counts as waiting until it ends.

        Errors   those of `admit` and of the function.
        """
        self.admit()
        started, has_left = time.perf_counter(), threading.Event()

        def check(_: int = 0) -> None:
            if has_left.is_set():
                raise ConnectionError

        def run() -> tuple[_Result, int]:
            check()
            return function(check)

        self.metrics.num_waiting_choices += 1
        self._num_encoding += 1
        try:
            result, num_tokens = await asyncio.get_running_loop().run_in_executor(self._encoders, run)
        except asyncio.CancelledError:
            has_left.set()
            self.metrics.finished("abort")
            raise
        finally:
            self.metrics.num_waiting_choices -= 1
            self._num_encoding -= 1
        self.metrics.encoded(time.perf_counter() - started, num_tokens)
        return result, num_tokens

    def generate(self, served: ServedModel, prepared: Sequence[Prepared]) -> Generation:
        """Start the requests of a call.

        Errors   ApiError for an encoder; the engine's errors for requests that can never run.
        """
        return Generation(prepared, self._submissions[served.name], self.metrics, self.settings.timeout_seconds)

    def check_generates(self, served: ServedModel) -> None:
        """Raise a 400 for an encoder, which generates no text."""
        if served.model.kind == "encoder":
            raise invalid(f"got {served.name}, an encoder, which generates no text; expected a decoder or an encoder–decoder", "model")

    @property
    def num_open(self) -> int:
        """Number of requests of the engines, and for vectors and ranks, that have not ended."""
        return self._num_encoding + sum(submission.num_open for submission in self._submissions.values())

    def fail_all(self, error: ApiError) -> None:
        """End every running request with an error."""
        for submission in self._submissions.values():
            submission.fail_all(error)
