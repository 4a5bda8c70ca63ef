"""A thread that runs one request after another, with the interface of the engine's thread."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from headway.engine import FinishReason, GenerationOptions
from headway.engine import Request as EngineRequest
from headway.errors import HeadwayError
from headway.language_model import LanguageModel


@dataclass(frozen=True)
class Request:
    """A prompt to continue."""

    token_ids: Sequence[int]
    options: GenerationOptions = field(default_factory=GenerationOptions)
    end_token_ids: Sequence[int] = ()
    num_choices: int = 1
    priority: int = 0
    cache_key: str = ""
    timeout_seconds: float | None = None
    make_processors: Callable[[], Sequence[Any]] = tuple


@dataclass(frozen=True, slots=True)
class SampledToken:
    """One token of one choice of a request."""

    index: int
    token_id: int
    finish_reason: FinishReason | None = None
    log_prob: float | None = None
    top_log_probs: Any = field(default_factory=dict)
    choice: int = 0


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """End of a request by an error."""

    index: int
    error: BaseException


Event: TypeAlias = SampledToken | RequestFailed
Sink: TypeAlias = Callable[[list[Event]], None]


class SequentialThread:
    """A thread that runs one request after another."""

    def __init__(self, model: LanguageModel) -> None:
        """Start the thread."""
        self.model, self._queue, self._ids = model, queue.SimpleQueue[Any](), itertools.count()
        self._aborted: set[int] = set()
        self._thread = threading.Thread(target=self._run, name="headway-engine", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """True while requests can be run."""
        return self._thread.is_alive()

    def submit(self, request: Request, sink: Sink) -> int:
        """Queue a request; `sink` gets its events, in the engine's thread."""
        own = EngineRequest(request.token_ids, request.options, request.end_token_ids, request.make_processors)
        self.model.engine._check(own)
        index = next(self._ids)
        self._queue.put((index, request, sink))
        return index

    def abort(self, index: int) -> None:
        """Stop a request; it gets no more events."""
        self._aborted.add(index)

    def close(self) -> None:
        """End the thread after the current token."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            index, request, sink = item
            try:
                self._generate(index, request, sink)
            except HeadwayError as error:
                sink([RequestFailed(index, error)])

    def _generate(self, index: int, request: Request, sink: Sink) -> None:
        for choice in range(request.num_choices):
            seed = request.options.seed
            options = replace(request.options, seed=None if seed is None else seed + choice)
            for token in self.model.engine.start(
                [EngineRequest(request.token_ids, options, request.end_token_ids, request.make_processors)]
            ):
                if index in self._aborted:
                    return
                sink([SampledToken(index, token.token_id, token.finish_reason, token.log_prob, token.top_log_probs, choice)])
                time.sleep(0)
