"""The engine: requests are added and aborted at any time, and each step computes one pass for those that run."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, replace
from itertools import count
from typing import cast

import numpy

from headway import functions
from headway.arrays import Operations
from headway.engine.active import ActiveRequest
from headway.engine.batch import PagedRunner, Runner, SequenceRows, UnpagedRunner
from headway.engine.beam_search import BeamSearch
from headway.engine.decoding import DecodingStrategy
from headway.engine.limits import ModelLimits, RequestLimits
from headway.engine.pages import PagePool, Pool, Unpaged
from headway.engine.request import Event, Request, RequestFailed, SampledToken, Sink
from headway.engine.sampler import Sampler
from headway.engine.scheduler import Planned, Scheduler
from headway.engine.sequence import Sequence
from headway.engine.speculation import Drafter, Known, PromptLookup
from headway.engine.stats import EngineStats
from headway.engine.stream import RequestStream
from headway.errors import DeadlineError, HeadwayError, OptionError, OverloadedError, ResourceError, expect_adapter
from headway.memory_check import available_bytes

FALLBACK_BYTES = 4 << 30
"""Free memory that is assumed where the system does not say."""


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Limits of an engine.

    cache_bytes          memory for keys and values of a runner with pages; half of the free memory if None
    max_running          maximum number of requests that run at the same time
    max_waiting          maximum number of requests that wait; None for no limit
    max_gap_seconds      time budget of a pass: prompts are read in chunks that keep a running sequence waiting no longer
    uses_prompt_lookup   True to guess tokens that occurred before in the text, where it pays; the result is the same
    """

    cache_bytes: int | None = None
    max_running: int = 256
    max_waiting: int | None = None
    max_gap_seconds: float = 0.2
    uses_prompt_lookup: bool = True


class Engine:
    """Runs requests on a model.

    `add` and `abort` may be called from any thread, and do not wait for a pass to end. `step` computes a pass; only one thread
    at a time is in it. The events of a request go to its sink, from the thread that called `step`.

    runner        computes passes
    limits        bounds of the model
    sampling_ops  functions that samplers call on NumPy arrays: headway.functions, or headway.kernels.operations("numpy")
    """

    def __init__(
        self, runner: Runner, limits: ModelLimits, *, sampling_ops: Operations = functions, options: EngineOptions | None = None
    ) -> None:
        """Start without requests; no memory is allocated yet."""
        self.runner, self.limits, self.sampling_ops = runner, limits, sampling_ops
        self.options = options or EngineOptions()
        is_paged = runner.page_size is not None
        self.pool: Pool = PagePool(cast(PagedRunner, runner), self._max_pages()) if is_paged else Unpaged(cast(UnpagedRunner, runner))
        self._limits = RequestLimits(limits, self.pool, runner)
        self._scheduler = Scheduler(
            self.pool,
            max_rows=runner.max_rows,
            max_running=self.options.max_running,
            max_gap_seconds=self.options.max_gap_seconds,
            has_chunks=is_paged,
        )
        self._active: dict[int, ActiveRequest] = {}
        self._aborted: list[tuple[int, int | None]] = []
        # Other threads add and abort requests during a pass, without waiting for its end.
        self._arrived = deque[ActiveRequest]()
        self._numbers, self._num_deadlines = count(), 0
        self._num_passes = self._num_rows = self._num_drafted = self._num_accepted = 0
        self._model_seconds = self._total_seconds = 0.0
        self.lock = threading.RLock()

    @property
    def has_requests(self) -> bool:
        """True if a request waits or runs."""
        return bool(self._active or self._arrived)

    @property
    def stats(self) -> EngineStats:
        """Counts since the start, and the present state."""
        scheduler = self._scheduler
        return EngineStats(
            len(scheduler.running),
            len(scheduler.waiting) + len(self._arrived),
            sum(len(each.request.token_ids) for each in [*scheduler.waiting, *self._arrived]),
            self.pool.usage,
            scheduler.num_prefix_tokens,
            scheduler.num_prefix_hits,
            scheduler.num_preemptions,
            self._num_passes,
            self._num_rows,
            self._num_drafted,
            self._num_accepted,
            self._model_seconds,
            self._total_seconds,
        )

    @property
    def max_cached_tokens(self) -> int | None:
        """Number of tokens whose keys and values fit in the memory of the KV cache; None for a runner without pages."""
        return self.pool.max_pages * self.pool.page_size if isinstance(self.pool, PagePool) else None

    def stream(self, requests: SequenceOf[Request]) -> RequestStream:
        """Add requests together; return an iterable over their tokens, which runs the engine in the thread that iterates.

        Errors   as add_all.
        """
        return RequestStream(self, requests)

    def add(self, request: Request, sink: Sink, *, index: int | None = None) -> int:
        """Add a request; return its number, which `abort` takes.

        sink    receives the events: tokens, the last of each choice with a finish reason, or a RequestFailed as the only last one
        index   number of the request in the events; by default the returned one

        Errors   OverloadedError if too many requests wait; else as RequestLimits.check.
        """
        return self._add([request], sink, None if index is None else [index])[0]

    def add_all(self, requests: SequenceOf[Request], sink: Sink) -> list[int]:
        """Add requests together, or none if one of them is refused; return their numbers.

        sink    receives the events; the index of an event is the place of its request

        Errors   as add.
        """
        return self._add(requests, sink, range(len(requests)))

    def abort(self, number: int, choice: int | None = None) -> None:
        """End a request, or one of its choices, before the next pass and without an event. Does nothing if it has ended."""
        self._aborted.append((number, choice))

    def step(self) -> bool:
        """Compute one pass, and pass its events to the sinks; return True if a request waits or runs afterwards.

        An error of one request, such as NaN among its logits, ends that request alone. An error of the runner ends all that run,
        and the engine can be used further.
        """
        with self.lock:
            started = time.perf_counter()
            num_aborted = len(self._aborted)  # requests of later aborts may not have been taken
            if self._arrived:
                self._take_arrived()
            if num_aborted:
                self._remove_aborted(num_aborted)
            if self._num_deadlines:
                self._end_late()
            try:
                planned = self._scheduler.plan()
                logits = self._run(planned) if planned else None
            except Exception as error:
                self._fail_running(error)
            else:
                if logits is not None:
                    self._commit(planned, logits)
            self._total_seconds += time.perf_counter() - started
            return self.has_requests

    def clear_prefix_cache(self) -> None:
        """Forget the prefixes that no running request uses."""
        with self.lock:
            self.pool.clear_prefixes()

    def remove_adapter(self, name: str) -> None:
        """Remove an adapter from the runner, and the cached prefixes that were computed with it. Waits for the end of a pass.

        Errors   OptionError for an adapter that the runner does not have, or that a request uses, which waits or runs.
        """
        with self.lock:
            expect_adapter(name, self.runner.adapters)
            self._take_arrived()
            self._remove_aborted(len(self._aborted))
            num_users = sum(active.request.adapter == name for active in self._active.values())
            if num_users:
                raise OptionError(
                    f"got the adapter {name!r:.200} in use, requests: {num_users}, expected one that no request uses",
                    hint="wait for the end of its requests, or end them",
                )
            self.runner.remove_adapter(name)
            self.pool.remove_prefixes(lambda cache_key: cast(tuple[str | None, str], cache_key)[0] == name)

    def verify(self) -> None:
        """Check that each page of the KV cache is in one place; for tests, since it looks at all of them.

        Errors   HeadwayError.
        """
        if isinstance(self.pool, PagePool):
            self.pool.check([sequence for active in self._scheduler.running for sequence in active.sequences])

    def _max_pages(self) -> int:
        size = self.options.cache_bytes or (available_bytes() or FALLBACK_BYTES) // 2
        return max(1, size // cast(PagedRunner, self.runner).page_bytes)

    def _add(self, requests: SequenceOf[Request], sink: Sink, indices: SequenceOf[int] | None) -> list[int]:
        for request in requests:
            self._limits.check(request)
        limit, num_waiting = self.options.max_waiting, len(self._scheduler.waiting) + len(self._arrived)
        if limit is not None and num_waiting + len(requests) > limit:
            raise OverloadedError(f"got a request while {num_waiting} are waiting, expected fewer than {limit}", hint="try again later")
        numbers = [next(self._numbers) for _ in requests]
        places = numbers if indices is None else indices
        arrived = [self._activate(*each, sink) for each in zip(numbers, places, requests, strict=True)]
        self._arrived.extend(arrived)
        return numbers

    def _activate(self, number: int, index: int, request: Request, sink: Sink) -> ActiveRequest:
        prompt = [int(token_id) for token_id in self._limits.decoder_prompt(request)]
        max_new_tokens = self._limits.max_new_tokens(request)
        make: type[BeamSearch] | type[Sampler] = BeamSearch if request.options.num_beams > 1 else Sampler
        begun = map(int, request.resumption.token_ids) if request.resumption else ()
        given = prompt[: len(prompt) - request.num_scored]
        strategy: DecodingStrategy = make(index, request, Sequence([*given, *begun], len(prompt)), max_new_tokens, self.sampling_ops)
        return ActiveRequest(
            number,
            index,
            request,
            strategy,
            len(prompt) + max_new_tokens,
            sink,
            (request.adapter, request.cache_key),
            tuple(request.token_ids) if self.limits.is_encoder_decoder else (),
            None if request.timeout_seconds is None else time.monotonic() + request.timeout_seconds,
            drafts=self._drafts(strategy, request) if isinstance(strategy, Sampler) and self.runner.page_size is not None else None,
        )

    def _drafts(self, strategy: Sampler, request: Request) -> Drafter | None:
        """Return what finds the next tokens of a request in advance; None for nothing."""
        if request.num_scored:
            return Known(strategy.scored_tokens)
        if request.num_choices > 1:
            return None
        if (forcing := strategy.forcing_processor) is not None:
            return Known(forcing.forced_tokens)
        return PromptLookup() if self.options.uses_prompt_lookup else None

    def _run(self, planned: list[Planned]) -> numpy.ndarray:
        """Return the wanted logits of the planned rows, in one or more passes of at most max_rows rows."""
        batches: list[list[SequenceRows]] = []
        batch: list[SequenceRows] = []
        num_rows = total = 0
        for each in planned:
            added = len(each.rows.token_ids)
            if num_rows + added > self.runner.max_rows:
                batches.append(batch)
                batch, num_rows = [], 0
            batch.append(each.rows)
            num_rows += added
            total += added
        started = time.perf_counter()
        logits = self.runner.run(batch) if not batches else numpy.concatenate([self.runner.run(each) for each in [*batches, batch]])
        seconds = time.perf_counter() - started
        if not batches:
            self._scheduler.pass_time.add(total, seconds)
        self._model_seconds += seconds
        self._num_passes += 1
        self._num_rows += total
        return logits

    def _commit(self, planned: list[Planned], logits: numpy.ndarray) -> None:
        """Hand the logits to the requests, and the tokens to the sinks."""
        first = 0
        drafted: dict[int, tuple[numpy.ndarray, list[int]]] = {}
        for each in planned:
            sequence, rows = each.sequence, each.rows
            sequence.num_computed += len(rows.token_ids) - each.num_drafted
            sequence.parent_id = sequence.id
            if each.num_drafted:
                drafted[each.active.id] = logits[first : first + rows.num_wanted], list(rows.token_ids[-each.num_drafted :])
            elif rows.num_wanted:
                sequence.logits = logits[first]
            first += rows.num_wanted
            self.pool.commit(sequence, each.active.cache_key)
        for active in dict.fromkeys([each.active for each in planned]):
            before = active.sequences
            try:
                events = self._advance(active, before, drafted.get(active.id))
            except Exception as error:
                self._end(active, before)
                events = [RequestFailed(active.index, _as_headway_error(error))]
            if events:
                if active.num_cached and isinstance(events[0], SampledToken):
                    events[0], active.num_cached = replace(events[0], num_cached=active.num_cached), 0
                active.sink(events)

    def _advance(self, active: ActiveRequest, before: list[Sequence], drafted: tuple[numpy.ndarray, list[int]] | None) -> list[Event]:
        """Return the tokens of a request after a pass; [] if some of its sequences have no logits yet."""
        strategy = active.strategy
        if drafted is not None:
            assert isinstance(strategy, Sampler)
            assert active.drafts is not None
            (sequence,), (rows, guesses) = before, drafted
            tokens = strategy.advance_drafted(rows, guesses)
            num_accepted = len(tokens) - 1
            sequence.num_computed += num_accepted
            active.drafts.update(len(guesses), num_accepted)
            self._num_drafted += len(guesses)
            self._num_accepted += num_accepted
        elif any(sequence.logits is None for sequence in before):
            return []
        else:
            tokens = strategy.advance()
        after = strategy.sequences
        if not after:
            self._end(active, before)
        elif after != before:
            old = {sequence.id for sequence in before}
            for sequence in after:
                if sequence.id not in old:
                    self.pool.fork(sequence)
            for sequence in before:
                if sequence not in after:
                    self.pool.release(sequence, active.cache_key)
        return [*tokens]

    def _end(self, active: ActiveRequest, sequences: SequenceOf[Sequence]) -> None:
        """Forget a request, and give back the memory of its sequences."""
        self._active.pop(active.id, None)
        self._num_deadlines -= active.deadline is not None
        self._scheduler.remove(active)
        for sequence in sequences:
            self.pool.release(sequence, active.cache_key)

    def _fail(self, active: ActiveRequest, error: HeadwayError) -> None:
        self._end(active, active.sequences)
        active.sink([RequestFailed(active.index, error)])

    def _fail_running(self, error: Exception) -> None:
        """End the running requests after an error of the runner, whose cache may be incomplete."""
        reason = _as_headway_error(error)
        for active in list(self._scheduler.running):
            self._fail(active, reason)
        self.pool.clear()

    def _take_arrived(self) -> None:
        while self._arrived:
            active = self._arrived.popleft()
            self._active[active.id] = active
            self._num_deadlines += active.deadline is not None
            self._scheduler.add(active)
            try:
                expect_adapter(active.request.adapter, self.runner.adapters)
            except OptionError as error:  # it was removed after the request was checked
                self._fail(active, error)

    def _remove_aborted(self, count: int) -> None:
        for _ in range(count):
            number, choice = self._aborted.pop(0)
            active = self._active.get(number)
            if active is None:
                continue
            if choice is None or not isinstance(active.strategy, Sampler):
                self._end(active, active.sequences)
                continue
            for sequence in active.strategy.drop(choice):
                self.pool.release(sequence, active.cache_key)
            if not active.sequences:
                self._end(active, [])

    def _end_late(self) -> None:
        """End the requests whose deadline has passed."""
        now = time.monotonic()
        for active in list(self._active.values()):
            if active.deadline is not None and now > active.deadline:
                message = f"got no end within {active.request.timeout_seconds:g} s, expected one"
                self._fail(active, DeadlineError(message, hint="allow more time, or ask for fewer tokens"))


def _as_headway_error(error: Exception) -> HeadwayError:
    if isinstance(error, HeadwayError):
        return error
    if isinstance(error, MemoryError):
        return ResourceError("got less memory than a pass needs", hint="set a smaller max_new_tokens, or use fewer prompts")
    result = HeadwayError(f"got {type(error).__name__} in a pass: {error}")
    result.__cause__ = error
    return result
