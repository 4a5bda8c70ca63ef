"""The models of a server: loaded at the start, or when a request needs them, within a bound on their memory."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from headway.engine import EngineStats
from headway.errors import HeadwayError, ResourceError
from headway.server.errors import ApiError, unavailable
from headway.server.metrics import Metrics
from headway.server.served_model import ServedModel
from headway.server.submission import EngineConnection, Submission

LOG = logging.getLogger("headway.server")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class DeclaredModel:
    """A model that is loaded when a request needs it, and unloaded where others need its memory.

    load       loads it; called in a thread
    estimate   returns the bytes of its weights and its KV cache, before it is loaded; called in a thread
    adapters   names of its adapters
    loaded     the model, if it is loaded already
    """

    name: str
    load: Callable[[], ServedModel]
    estimate: Callable[[], int]
    adapters: tuple[str, ...] = ()
    loaded: ServedModel | None = None


@dataclass(eq=False)
class ModelSlot:
    """The place of a model in a server, with the model or without. It is changed in the event loop's thread only.

    adapters     names of its adapters
    declared     None for a model that belongs to the caller of the server and stays
    served       None while it is not loaded
    submission   its engine, as long as it is loaded
    num_users    requests that wait for its engine or run on it
    num_bytes    memory of its weights, and of its KV cache when that is full
    waiters      requests that wait until it is loaded
    is_leaving   True if it takes no more requests, and is unloaded once its present requests end
    """

    name: str
    adapters: tuple[str, ...] = ()
    declared: DeclaredModel | None = None
    served: ServedModel | None = None
    submission: Submission | None = None
    num_users: int = 0
    num_bytes: int = 0
    last_used: float = 0.0
    is_leaving: bool = False
    waiters: list[asyncio.Future[ServedModel]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    is_being_read: bool = False
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def is_ready(self) -> bool:
        """True if a request can use it at once."""
        return self.served is not None and not self.is_leaving

    @property
    def status(self) -> str:
        """Return loaded, loading or unloaded, the words of llama-server's router."""
        return "loaded" if self.is_ready else "loading" if self.task else "unloaded"

    def answer_waiters(self, served: ServedModel | ApiError) -> None:
        """Give the model, or the reason why there is none, to the requests that wait for it."""
        for waiter in self.waiters:
            if waiter.done():
                continue
            if isinstance(served, ApiError):
                waiter.set_exception(served)
            else:
                self.num_users += 1
                waiter.set_result(served)
        self.waiters.clear()


class ModelPool:
    """Gives requests their models. All methods are called in the event loop's thread.

    A model is loaded by its first request, one model at a time. Where the memory does not suffice, the models without requests are
    unloaded first, the one that was used last at the end; a model with requests takes no more, and is unloaded after the last one.

    slots   by name
    names   the slot of each name: that of a model, or of one of its adapters
    """

    def __init__(
        self,
        models: Sequence[ServedModel | DeclaredModel],
        max_bytes: int | None,
        metrics: Metrics,
        engine_thread: Callable[[ServedModel], EngineConnection],
    ) -> None:
        """Take models; nothing is loaded yet.

        max_bytes       memory of the declared models together; None for no bound
        engine_thread   returns the thread that runs a model's engine, or a connection to others
        """
        self.slots = {each.name: _slot(each) for each in models}
        self.names = {name: slot for slot in self.slots.values() for name in (slot.name, *slot.adapters)}
        self._max_bytes, self._metrics, self._engine_thread = max_bytes, metrics, engine_thread
        self._turn, self._released = asyncio.Lock(), asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headway-load")
        self._reading: Future[ServedModel] | None = None
        self._is_started = self._is_closed = False

    def start(self) -> None:
        """Start the engines of the models that are loaded; call it within the event loop."""
        for slot in self.slots.values():
            if slot.served is not None:
                self._connect(slot, slot.served)
        self._is_started = True

    def close(self) -> None:
        """Abort all requests, and close the models that were declared."""
        self._is_closed = True
        self.fail_waiting(unavailable("the server is shutting down", "shutting_down"))
        for slot in self.slots.values():
            if slot.task and not slot.is_being_read:
                slot.task.cancel()
            if slot.submission:
                slot.submission.close()
            if slot.declared and slot.served:
                slot.served.model.close()
                slot.served = None
        if self._reading:
            self._reading.add_done_callback(_close_result)
        self._thread.shutdown(wait=False, cancel_futures=True)

    @property
    def submissions(self) -> list[Submission]:
        """Engines of the models that are loaded."""
        return [slot.submission for slot in self.slots.values() if slot.submission]

    def submission(self, served: ServedModel) -> Submission:
        """Return the engine of a model that is loaded; adapters have that of their model."""
        submission = self.slots[served.parent or served.name].submission
        assert submission is not None, "a request holds its model"
        return submission

    def stats(self) -> dict[str, Mapping[str, EngineStats]]:
        """Return the figures of the engines of the models that are loaded."""
        return {name: slot.submission.thread.stats for name, slot in self.slots.items() if slot.submission}

    def memory(self) -> dict[str, int]:
        """Return the bytes that each model that is loaded has in the memory of this process now."""
        loaded = {name: slot.served for name, slot in self.slots.items() if slot.served is not None}
        return {name: served.num_bytes for name, served in loaded.items() if served.remote is None}

    @property
    def is_alive(self) -> bool:
        """True while the threads of all engines run."""
        return self._is_started and all(each.thread.is_alive for each in self.submissions)

    @property
    def num_waiting(self) -> int:
        """Number of requests that wait for a model."""
        return sum(len(slot.waiters) for slot in self.slots.values())

    async def acquire(self, slot: ModelSlot) -> ServedModel:
        """Return a model, which stays loaded until it is released; load it first if that is necessary.

        Errors   ApiError 500 or 503 for a model that cannot be loaded.
        """
        if slot.is_ready and slot.served is not None:
            slot.num_users += 1
            return slot.served
        waiter: asyncio.Future[ServedModel] = asyncio.get_running_loop().create_future()
        slot.waiters.append(waiter)
        self._start_loading(slot)
        try:
            return await waiter
        except BaseException:
            self._leave(slot, waiter)
            raise

    def release(self, slot: ModelSlot) -> None:
        """Take back a model that was acquired."""
        slot.num_users -= 1
        slot.last_used = time.monotonic()
        if not slot.num_users:
            self._released.set()

    def hold(self, slot: ModelSlot) -> None:
        """Keep a model that is acquired for longer; release it once more."""
        slot.num_users += 1

    def fail_waiting(self, error: ApiError) -> None:
        """End the requests that wait for a model."""
        for slot in self.slots.values():
            slot.answer_waiters(error)

    def _start_loading(self, slot: ModelSlot) -> None:
        if slot.task is None:
            slot.task = asyncio.create_task(self._load(slot))

    def _leave(self, slot: ModelSlot, waiter: asyncio.Future[ServedModel]) -> None:
        """Forget a request that waits no longer. Without any, a load that has not begun is cancelled."""
        if waiter in slot.waiters:
            slot.waiters.remove(waiter)
            if not slot.waiters and slot.task and not slot.is_being_read:
                slot.task.cancel()
        elif waiter.done() and not waiter.cancelled() and waiter.exception() is None:
            self.release(slot)

    async def _load(self, slot: ModelSlot) -> None:
        """Load a model for the requests that wait for it, and answer them."""
        try:
            async with self._turn:
                if slot.waiters:
                    slot.answer_waiters(slot.served or await self._read(slot))
        except Exception as error:
            self._metrics.model_failed(slot.name)
            LOG.error("the model %s could not be loaded", slot.name, exc_info=error)
            slot.answer_waiters(_failure(slot.name, error))
        finally:
            slot.task = None
            if slot.waiters and not self._is_closed:  # they arrived after the others had left
                self._start_loading(slot)

    async def _read(self, slot: ModelSlot) -> ServedModel:
        assert slot.declared is not None, "a model that belongs to the caller is never unloaded"
        size = await self._in_thread(slot.declared.estimate)
        if self._max_bytes is not None and size > self._max_bytes:
            needed = f"{_gib(size)} with its KV cache, which exceeds the {_gib(self._max_bytes)} of --model-memory"
            raise ApiError(500, f"the model {slot.name} needs {needed}", type="server_error", code="model_load_failed")
        await self._make_room(size)
        slot.num_bytes, slot.is_being_read, started = size, True, time.perf_counter()
        try:
            self._reading = self._thread.submit(slot.declared.load)
            served = await asyncio.wrap_future(self._reading)
            self._connect(slot, served)
        except BaseException:
            slot.num_bytes = 0
            raise
        finally:
            slot.is_being_read, self._reading = False, None
        seconds = time.perf_counter() - started
        self._metrics.model_loaded(slot.name, seconds)
        LOG.info("loaded %s in %.1f s: %s with its KV cache", slot.name, seconds, _gib(slot.num_bytes))
        return served

    def _connect(self, slot: ModelSlot, served: ServedModel) -> None:
        slot.submission = Submission(self._engine_thread(served), asyncio.get_running_loop())
        slot.served, slot.num_bytes, slot.last_used = served, served.max_bytes, time.monotonic()

    async def _make_room(self, size: int) -> None:
        """Unload models until there is memory for another one."""
        try:
            while (excess := self._excess(size)) > 0:
                loaded = [each for each in self.slots.values() if each.declared and each.served]
                loaded.sort(key=lambda each: (not each.is_leaving, each.last_used))
                if idle := [slot for slot in loaded if not slot.num_users]:
                    await self._unload(idle[0])
                    continue
                for slot in loaded:
                    slot.is_leaving = excess > 0
                    excess -= slot.num_bytes
                    if not slot.is_leaving and slot.served is not None:
                        slot.answer_waiters(slot.served)
                self._released.clear()
                await self._released.wait()
        finally:
            for slot in self.slots.values():  # those that were not unloaded after all
                if slot.is_leaving and slot.served is not None:
                    slot.answer_waiters(slot.served)
                slot.is_leaving = False

    def _excess(self, size: int) -> int:
        """Return the number of bytes by which the models and `size` bytes more exceed the bound."""
        if self._max_bytes is None:
            return 0
        return sum(slot.num_bytes for slot in self.slots.values() if slot.declared) + size - self._max_bytes

    async def _unload(self, slot: ModelSlot) -> None:
        served, slot.served, submission, slot.submission = slot.served, None, slot.submission, None
        slot.is_leaving = False
        assert served is not None
        assert submission is not None
        submission.close()
        closing = self._thread.submit(served.model.close)
        try:
            await asyncio.shield(asyncio.wrap_future(closing))  # it ends before the next load, even if nobody waits for that any more
        finally:
            slot.num_bytes = 0
        self._metrics.model_unloaded(slot.name)
        LOG.info("unloaded %s", slot.name)

    async def _in_thread(self, function: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)


def _slot(model: ServedModel | DeclaredModel) -> ModelSlot:
    if isinstance(model, ServedModel):
        return ModelSlot(model.name, model.adapters, served=model, created=model.created)
    return ModelSlot(model.name, model.adapters, model, model.loaded)


def _failure(name: str, error: Exception) -> ApiError:
    """Return the error that a client sees: without the texts of others, which name files of this machine."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, ResourceError | MemoryError):
        return unavailable(f"there is not enough memory for the model {name}", "out_of_memory")
    kind = f" ({type(error).__name__})" if isinstance(error, HeadwayError) else ""
    message = f"the model {name} could not be loaded{kind}; the server's log has the details"
    return ApiError(500, message, type="server_error", code="model_load_failed")


def _close_result(reading: Future[ServedModel]) -> None:
    """Close a model that was loaded after the server had ended."""
    if not reading.cancelled():
        with suppress(Exception):
            reading.result().model.close()


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
