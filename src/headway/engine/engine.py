"""The engine: requests are added and aborted at any time, and each step computes one pass for those that run."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
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
from headway.engine.pages import PagePool, Pool, Unpaged
from headway.engine.request import Event, Request, RequestFailed, Resumption, SampledToken, Sink
from headway.engine.sampler import Sampler
from headway.engine.scheduler import Planned, Scheduler
from headway.engine.sequence import Sequence
from headway.engine.speculation import PromptLookup
from headway.engine.stream import RequestStream
from headway.errors import DeadlineError, HeadwayError, OptionError, OverloadedError, PromptError, ResourceError, TokenIdError
from headway.memory_check import available_bytes

DEFAULT_MAX_NEW_TOKENS = 512
"""Limit for requests without max_new_tokens on models without a maximum sequence length."""
FALLBACK_BYTES = 4 << 30
"""Free memory that is assumed where the system does not say."""


@dataclass(frozen=True)
class ModelLimits:
    """Bounds of a model on token ids and lengths.

    vocab_size              number of token ids of the prompt
    max_seq_len             longest sequence that the model supports; None for no limit
    is_encoder_decoder      True if an encoder reads the prompt and a decoder answers it
    decoder_vocab_size      number of token ids of the completion; vocab_size if None
    decoder_start_token_id  first token of an encoder–decoder's decoder
    """

    vocab_size: int
    max_seq_len: int | None = None
    is_encoder_decoder: bool = False
    decoder_vocab_size: int | None = None
    decoder_start_token_id: int | None = None


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


@dataclass(frozen=True)
class EngineStats:
    """Counts since the start, and the present state.

    cache_usage        share of the KV cache in use by running requests, 0 to 1
    num_prefix_tokens  number of prompt tokens that were looked up in the prefix cache; num_prefix_hits of them were found
    """

    num_running: int
    num_waiting: int
    num_waiting_tokens: int
    cache_usage: float
    num_prefix_tokens: int
    num_prefix_hits: int
    num_preemptions: int
    num_passes: int
    num_rows: int
    num_drafted: int
    num_accepted: int
    model_seconds: float
    total_seconds: float


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

        Errors   as add; none of the requests is added then.
        """
        for request in requests:
            self.check(request)
        return RequestStream(self, requests)

    def add(self, request: Request, sink: Sink, *, index: int | None = None) -> int:
        """Add a request; return its number, which `abort` takes.

        sink    receives the events: tokens, the last of each choice with a finish reason, or a RequestFailed as the only last one
        index   number of the request in the events; by default the returned one

        Errors   PromptError for an empty prompt, one that fills the context, or a request that could never fit in the KV cache;
                 TokenIdError for a token id out of range; OptionError for an encoder–decoder without a start token, or options
                 that cannot be combined; OverloadedError if too many requests wait.
        """
        self.check(request)
        limit = self.options.max_waiting
        if limit is not None and len(self._scheduler.waiting) + len(self._arrived) >= limit:
            raise OverloadedError(f"got a request while {limit} are waiting, expected fewer", hint="try again later")
        number = next(self._numbers)
        self._arrived.append(self._activate(number, request, sink, number if index is None else index))
        return number

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
            self._take_arrived()
            self._remove_aborted()
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

    def max_new_tokens(self, request: Request) -> int:
        """Return the number of tokens after which a request ends: its option, or what the context and the KV cache allow."""
        num_prompt = len(self._decoder_prompt(request))
        context = self.limits.max_seq_len
        bounds = [request.options.max_new_tokens, None if context is None else context - num_prompt]
        bound = min((each for each in bounds if each is not None), default=DEFAULT_MAX_NEW_TOKENS)
        if request.options.max_new_tokens is None:
            bound = int(min(bound, max(1, self._longest(request) - num_prompt)))
        return bound

    def check(self, request: Request) -> None:
        """Raise the error of a request that can never run; see add."""
        limits, options = self.limits, request.options
        if not len(request.token_ids):
            raise PromptError("got an empty prompt, expected at least one token")
        _check_token_ids(request.token_ids, limits.vocab_size, "in the prompt", "use the tokenizer of this model")
        vocab_size = limits.decoder_vocab_size or limits.vocab_size
        _check_token_ids(self._decoder_prompt(request), vocab_size, "as decoder_start_token_id")
        _check_token_ids(options.logit_bias or (), vocab_size, "in logit_bias")
        _check_token_ids(() if options.suppress_tokens is None else options.suppress_tokens, vocab_size, "in suppress_tokens")
        _check_token_ids([options.forced_bos_token_id or 0], vocab_size, "as forced_bos_token_id")
        _check_token_ids([options.forced_eos_token_id or 0], vocab_size, "as forced_eos_token_id")
        if request.num_choices > 1 and options.num_beams > 1:
            raise OptionError(
                f"num_choices={request.num_choices} and num_beams={options.num_beams} cannot be combined",
                hint="set num_best for several texts of a beam search",
            )
        limit, length = limits.max_seq_len, len(request.token_ids)
        if limit is not None and limits.is_encoder_decoder and length > limit:
            raise PromptError(f"got a prompt of {length} tokens, expected at most {limit}", hint="shorten the prompt")
        if limit is not None and not limits.is_encoder_decoder and length >= limit:
            raise PromptError(
                f"got a prompt of {length} tokens, expected at most {limit - 1}",
                hint=f"shorten the prompt; the context of {limit} tokens also holds the completion",
            )
        num_tokens = len(self._decoder_prompt(request)) + self.max_new_tokens(request)
        if num_tokens > self._longest(request):
            raise PromptError(
                f"got a request for {num_tokens:,} tokens, expected at most {int(self._longest(request)):,}, which the KV cache holds",
                hint="set a smaller max_new_tokens, shorten the prompt, or give the cache more memory",
            )
        if request.resumption is not None:
            self._check_resumption(request, request.resumption, vocab_size)

    def verify(self) -> None:
        """Check that each page of the KV cache is in one place; for tests, since it looks at all of them.

        Errors   HeadwayError.
        """
        if isinstance(self.pool, PagePool):
            self.pool.check([sequence for active in self._scheduler.running for sequence in active.sequences])

    def _max_pages(self) -> int:
        size = self.options.cache_bytes or (available_bytes() or FALLBACK_BYTES) // 2
        return max(1, size // cast(PagedRunner, self.runner).page_bytes)

    def _longest(self, request: Request) -> float:
        """Return the number of tokens up to which the sequences of a request fit in the KV cache."""
        num_sequences = max(request.options.num_beams, request.num_choices)
        return self.pool.longest(len(self._decoder_prompt(request)), num_sequences)

    def _decoder_prompt(self, request: Request) -> SequenceOf[int]:
        """Return the first tokens of the decoder: the start token of an encoder–decoder, else the prompt."""
        if not self.limits.is_encoder_decoder:
            return request.token_ids
        if self.limits.decoder_start_token_id is None:
            raise OptionError(
                "got an encoder–decoder without decoder_start_token_id, expected the first token of its decoder",
                hint="add decoder_start_token_id to the model's config.json",
            )
        return [self.limits.decoder_start_token_id]

    def _check_resumption(self, request: Request, resumption: Resumption, vocab_size: int) -> None:
        _check_token_ids(resumption.token_ids, vocab_size, "in resumption")
        if request.num_choices > 1 or request.options.num_beams > 1:
            raise OptionError("got a resumption with several choices or beams, expected one completion")
        bound = self.max_new_tokens(request)
        if len(resumption.token_ids) >= bound:
            raise OptionError(f"got a resumption of {len(resumption.token_ids)} tokens, expected fewer than max_new_tokens={bound}")

    def _activate(self, number: int, request: Request, sink: Sink, index: int) -> ActiveRequest:
        prompt = [int(token_id) for token_id in self._decoder_prompt(request)]
        max_new_tokens = self.max_new_tokens(request)
        make: type[BeamSearch] | type[Sampler] = BeamSearch if request.options.num_beams > 1 else Sampler
        begun = map(int, request.resumption.token_ids) if request.resumption else ()
        strategy: DecodingStrategy = make(index, request, Sequence([*prompt, *begun], len(prompt)), max_new_tokens, self.sampling_ops)
        can_draft = self.options.uses_prompt_lookup and self.runner.page_size is not None
        return ActiveRequest(
            number,
            index,
            request,
            strategy,
            len(prompt) + max_new_tokens,
            sink,
            tuple(request.token_ids) if self.limits.is_encoder_decoder else (),
            None if request.timeout_seconds is None else time.monotonic() + request.timeout_seconds,
            drafts=PromptLookup() if can_draft and isinstance(strategy, Sampler) and request.num_choices == 1 else None,
        )

    def _run(self, planned: list[Planned]) -> numpy.ndarray:
        """Return the wanted logits of the planned rows, in one or more passes of at most max_rows rows."""
        started = time.perf_counter()
        results, batch, num_rows = [], list[SequenceRows](), 0
        for each in planned:
            if num_rows + len(each.rows.token_ids) > self.runner.max_rows:
                results.append(self.runner.run(batch))
                batch, num_rows = [], 0
            batch.append(each.rows)
            num_rows += len(each.rows.token_ids)
        results.append(self.runner.run(batch))
        seconds = time.perf_counter() - started
        if len(results) == 1:
            self._scheduler.pass_time.add(num_rows, seconds)
        self._model_seconds += seconds
        self._num_passes += 1
        self._num_rows += sum(len(each.rows.token_ids) for each in planned)
        return results[0] if len(results) == 1 else numpy.concatenate(results)

    def _commit(self, planned: list[Planned], logits: numpy.ndarray) -> None:
        """Hand the logits to the requests, and the tokens to the sinks."""
        first, drafted = 0, dict[int, tuple[numpy.ndarray, list[int]]]()
        for each in planned:
            sequence, rows = each.sequence, each.rows
            sequence.num_computed += len(rows.token_ids) - each.num_drafted
            sequence.parent_id = sequence.id
            if each.num_drafted:
                drafted[each.active.id] = logits[first : first + rows.num_wanted], list(rows.token_ids[-each.num_drafted :])
            elif rows.num_wanted:
                sequence.logits = logits[first]
            first += rows.num_wanted
            self.pool.commit(sequence, each.active.request.cache_key)
        for active in dict.fromkeys(each.active for each in planned):
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
                    self.pool.release(sequence, active.request.cache_key)
        return list[Event](tokens)

    def _end(self, active: ActiveRequest, sequences: SequenceOf[Sequence]) -> None:
        """Forget a request, and give back the memory of its sequences."""
        self._active.pop(active.id, None)
        self._num_deadlines -= active.deadline is not None
        self._scheduler.remove(active)
        for sequence in sequences:
            self.pool.release(sequence, active.request.cache_key)

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

    def _remove_aborted(self) -> None:
        while self._aborted:
            number, choice = self._aborted.pop()
            active = self._active.get(number)
            if active is None:
                continue
            if choice is None or not isinstance(active.strategy, Sampler):
                self._end(active, active.sequences)
                continue
            for sequence in active.strategy.drop(choice):
                self.pool.release(sequence, active.request.cache_key)
            if not active.sequences:
                self._end(active, [])

    def _end_late(self) -> None:
        """End the requests whose deadline has passed."""
        now = time.monotonic()
        for active in list(self._active.values()):
            if active.deadline is not None and now > active.deadline:
                message = f"got no end within {active.request.timeout_seconds:g} seconds, expected one"
                self._fail(active, DeadlineError(message, hint="allow more time, or ask for fewer tokens"))


def _as_headway_error(error: Exception) -> HeadwayError:
    if isinstance(error, HeadwayError):
        return error
    if isinstance(error, MemoryError):
        return ResourceError("got less memory than a pass needs", hint="set a smaller max_new_tokens, or use fewer prompts")
    result = HeadwayError(f"got {type(error).__name__} in a pass: {error}")
    result.__cause__ = error
    return result


def _check_token_ids(token_ids: Iterable[int], vocab_size: int, where: str, hint: str | None = None) -> None:
    wrong = next((token_id for token_id in token_ids if not 0 <= token_id < vocab_size), None)
    if wrong is not None:
        raise TokenIdError(f"got token id {wrong} {where}, expected 0 to {vocab_size - 1}", hint=hint)
