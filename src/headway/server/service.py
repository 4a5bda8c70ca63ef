"""State of a running server: its models, the connection to the engine, admission, and readiness."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar

from headway.server.errors import ApiError, invalid, overloaded, unavailable
from headway.server.generation import Generation
from headway.server.metrics import Metrics
from headway.server.model_pool import DeclaredModel, ModelPool, ModelSlot
from headway.server.served_model import Prepared, ServedModel
from headway.server.settings import Settings
from headway.server.submission import EngineConnection
from headway.server.wire import Sampling

COMPILE_SECONDS = 30.0
"""Longest time for the grammar of a request to be compiled, and before that for those of others."""

_Result = TypeVar("_Result")


class Service:
    """State of a running server. Its methods are called in the event loop's thread.

    is_draining   True after SIGTERM: new requests get 503
    is_stopping   True after a second signal: running requests end, too
    """

    def __init__(
        self,
        models: Sequence[ServedModel | DeclaredModel],
        settings: Settings | None = None,
        engine_thread: Callable[[ServedModel], EngineConnection] = lambda served: served.model.engine_thread,
        refresh: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Serve models; the first one answers requests that name none.

        engine_thread   returns the thread that runs a model's engine, or a connection to others
        refresh         asks the engines of others for their figures
        """
        self._refresh = refresh
        self.settings, self.metrics = settings or Settings(), Metrics()
        self.pool = ModelPool(models, self.settings.model_bytes, self.metrics, engine_thread)
        self.is_draining = self.is_stopping = False
        self._num_working = 0
        # Two threads: tokenizing and templates of one request do not hold up the others. Large grammars take seconds.
        self.workers = ThreadPoolExecutor(2, thread_name_prefix="headway-prepare")
        self._compilers = ThreadPoolExecutor(1, thread_name_prefix="headway-compile")
        # Vectors and ranks of many texts take long, and so do traces; they have threads of their own.
        self._encoders = ThreadPoolExecutor(2, thread_name_prefix="headway-encode")
        self.tracers = ThreadPoolExecutor(1, thread_name_prefix="headway-look")

    def start(self) -> None:
        """Start the engine's threads; call it within the event loop."""
        self.pool.start()
        self.metrics.watch(self.pool.stats, self.pool.memory)

    def close(self) -> None:
        """Abort the requests that still run. The engine's threads belong to the models."""
        self.pool.close()
        for workers in (self.workers, self._compilers, self._encoders, self.tracers):
            workers.shutdown(wait=False, cancel_futures=True)

    @property
    def models(self) -> list[ModelSlot]:
        """The models, loaded or not."""
        return list(self.pool.slots.values())

    @property
    def is_alive(self) -> bool:
        """True while the engine's threads run."""
        return self.pool.is_alive

    @property
    def is_ready(self) -> bool:
        """True if a request would be accepted now."""
        return self.is_alive and not self.is_draining and self.metrics.num_waiting_choices < self.settings.max_waiting

    def find(self, name: str | None) -> ModelSlot:
        """Return the place of the model of a request, loaded or not.

        Errors   ApiError 404 for another name.
        """
        names = self.pool.names
        first = next(iter(names.values()))
        if name is None or self.settings.accept_any_model:
            return names.get(name or first.name, first)
        if name not in names:
            message = f"got model {name!r:.200}, expected {' or '.join(map(repr, names))}"
            raise ApiError(404, message, code="model_not_found", param="model")
        return names[name]

    async def acquire(self, slot: ModelSlot) -> ServedModel:
        """Return a model for a request. One that waits until it is loaded counts as waiting.

        Errors   as admit, for a model that is not loaded; those of ModelPool.acquire.
        """
        if slot.is_ready:
            return await self.pool.acquire(slot)
        self.admit()
        self.metrics.num_waiting_choices += 1
        try:
            return await self.pool.acquire(slot)
        finally:
            self.metrics.num_waiting_choices -= 1

    def admit(self, num_choices: int = 1) -> None:
        """Refuse a request at the door, before its prompt is read. One with more choices than may wait is taken if none waits.

        Errors   ApiError 503 for a server that drains or is broken, 429 for a full queue.
        """
        if self.is_draining:
            self.metrics.rejected("draining")
            raise unavailable("the server is shutting down", "shutting_down")
        if not self.is_alive:
            self.metrics.rejected("dead")
            raise unavailable("the engine does not run", "engine_dead")
        waiting, tokens = self.metrics.num_waiting_choices, self.metrics.num_waiting_tokens
        if (waiting and waiting + num_choices > self.settings.max_waiting) or tokens > self.settings.max_waiting_tokens:
            self.metrics.rejected("overloaded")
            rate = self.metrics.tokens_per_second
            message = f"got a request while {waiting} wait, expected at most {self.settings.max_waiting}"
            raise overloaded(message, tokens / rate if rate else 1)

    async def in_thread(
        self,
        threads: ThreadPoolExecutor,
        slots: Sequence[ModelSlot],
        function: Callable[..., _Result],
        *arguments: object,
        num_choices: int = 1,
    ) -> _Result:
        """Return the result of a function that runs in one of the service's threads. Models stay loaded until it ends.

        num_choices   choices of the request, which count as waiting meanwhile
        """
        loop, held = asyncio.get_running_loop(), list(slots)

        def release() -> None:
            for slot in held:
                self.pool.release(slot)

        def ended(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(release)

        with self._working(num_choices):
            future = threads.submit(function, *arguments)
            for slot in held:
                self.pool.hold(slot)
            future.add_done_callback(ended)  # the function of a request that was cancelled runs on
            return await asyncio.wrap_future(future)

    async def prepare(
        self,
        body: Sampling,
        num_choices: int,
        slots: Sequence[ModelSlot],
        function: Callable[..., _Result],
        *arguments: object,
    ) -> _Result:
        """Return the result of a function that prepares a request: in a thread of its own if it has a grammar to compile.

        num_choices   those of the request, which count as waiting meanwhile

        A function that has started runs to its end, which limits of its input bound.

        Errors   those of `admit`; ApiError 400 for a grammar that takes too long, 429 where those before it do.
        """
        self.admit(num_choices)
        if not body.has_grammar:
            return await self.in_thread(self.workers, slots, function, *arguments, num_choices=num_choices)
        loop, has_started = asyncio.get_running_loop(), False
        bound = asyncio.timeout(COMPILE_SECONDS)

        def start() -> None:
            nonlocal has_started
            has_started = True
            with suppress(RuntimeError):  # the request has left
                bound.reschedule(loop.time() + COMPILE_SECONDS)

        def run() -> _Result:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(start)
            return function(*arguments)

        try:
            async with bound:
                return await self.in_thread(self._compilers, slots, run, num_choices=num_choices)
        except TimeoutError:
            if not has_started:
                self.metrics.rejected("overloaded")
                message = f"got a grammar while those before it take longer than {COMPILE_SECONDS:g} seconds to compile"
                raise overloaded(message, COMPILE_SECONDS) from None
            message = f"got a grammar that is not compiled within {COMPILE_SECONDS:g} seconds, expected a simpler schema, regex or grammar"
            raise invalid(message, code="grammar_too_slow") from None

    @contextmanager
    def _working(self, num_choices: int) -> Iterator[None]:
        """Count a request as waiting and as open while one of the service's threads works on it."""
        self.metrics.num_waiting_choices += num_choices
        self._num_working += 1
        try:
            yield
        finally:
            self.metrics.num_waiting_choices -= num_choices
            self._num_working -= 1

    async def encode(
        self, slots: Sequence[ModelSlot], function: Callable[[Callable[[int], None]], tuple[_Result, int]]
    ) -> tuple[_Result, int]:
        """Return the result of a function that computes vectors or ranks, and the number of tokens, in a thread for these.

        function   receives a function to call after each batch, which raises ConnectionError once the client has left, or its time is over

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

        try:
            result, num_tokens = await self.in_thread(self._encoders, slots, run)
        except asyncio.CancelledError:
            has_left.set()
            self.metrics.finished("abort")
            raise
        self.metrics.encoded(time.perf_counter() - started, num_tokens)
        return result, num_tokens

    def generate(self, served: ServedModel, prepared: Sequence[Prepared], arrived: float) -> Generation:
        """Start the requests of a call.

        arrived   time of the call on time.perf_counter

        Errors   the engine's errors for requests that can never run.
        """
        submission = self.pool.submission(served)
        return Generation(prepared, submission, self.metrics, self.settings.timeout_seconds, arrived)

    def check_generates(self, served: ServedModel) -> None:
        """Raise a 400 for an encoder, which generates no text."""
        if served.model.kind == "encoder":
            raise invalid(f"got {served.name}, an encoder, which generates no text; expected a decoder or an encoder–decoder", "model")

    async def figures(self) -> bytes:
        """Return the metrics in the text format of Prometheus."""
        if self._refresh:
            await self._refresh()
        return self.metrics.text()

    @property
    def num_open(self) -> int:
        """Number of requests that have not ended: those of the engines, for vectors and ranks, and those that wait
        for a model or a grammar."""
        return self.pool.num_waiting + self._num_working + sum(submission.num_open for submission in self.pool.submissions)

    def fail_all(self, error: ApiError) -> None:
        """End every running request with an error."""
        self.pool.fail_waiting(error)
        for submission in self.pool.submissions:
            submission.fail_all(error)
