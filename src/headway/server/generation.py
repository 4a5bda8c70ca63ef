"""The choices of one HTTP request while they are generated."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from headway.engine import RequestFailed, SampledToken
from headway.language_model import Chunk
from headway.server.errors import from_exception, timed_out
from headway.server.metrics import Metrics
from headway.server.served_model import Prepared
from headway.server.submission import Submission


@dataclass(frozen=True, slots=True)
class Piece:
    """A step of one choice. Choices are numbered through: those of the first prompt, then those of the second."""

    choice: int
    chunk: Chunk


@dataclass
class Times:
    """Times of a request on time.perf_counter: its arrival, and those at which the engine sent its first and its last token."""

    arrived: float
    first: float = 0.0
    last: float = 0.0


class Generation:
    """The choices of one HTTP request while they are generated. Close it in every case: that aborts what still runs.

    requests     one per prompt
    num_cached   number of tokens of each prompt that were found in the prefix cache
    scored       the tokens of each prompt that have log-probabilities
    """

    def __init__(
        self,
        prepared: Sequence[Prepared],
        submission: Submission,
        metrics: Metrics,
        timeout_seconds: float,
        arrived: float | None = None,
    ) -> None:
        """Submit the requests.

        timeout_seconds   time from arrival after which they end with an error
        arrived           time of arrival on time.perf_counter; now if None

        Errors   those of the engine for a request that can never run.
        """
        self._metrics, self._timeout_seconds, self.times = (
            metrics,
            timeout_seconds,
            Times(time.perf_counter() if arrived is None else arrived),
        )
        self.num_prompt_tokens = sum(len(each.request.token_ids) for each in prepared)
        self.requests = [each.request for each in prepared]
        self.num_new_tokens, self.num_cached = 0, [0] * len(prepared)
        self.scored: list[list[SampledToken]] = [[] for _ in prepared]
        self.num_choices = prepared[0].request.num_choices
        self._texts = [each.new_text() for each in prepared for _ in range(each.request.num_choices)]
        self.num_texts = len(self._texts)
        self._running = set(range(self.num_texts))
        self._unstarted = set(self._running)
        self._last = [0.0] * self.num_texts
        metrics.num_waiting_choices += len(self._unstarted)
        metrics.num_waiting_tokens += self.num_prompt_tokens
        self._is_open = True
        try:
            self._subscription = submission.open(self.requests)
        except BaseException:
            self._release()
            raise

    async def passes(self, ping_seconds: float) -> AsyncIterator[list[Piece]]:
        """Yield the pieces as they arrive; [] if there are none for some time.

        Errors   ApiError for a request that fails, or takes too long.
        """
        deadline = self.times.arrived + self._timeout_seconds
        while self._running:
            left = deadline - time.perf_counter()
            if left <= 0:
                raise timed_out(self._timeout_seconds)
            arrivals, pieces = await self._subscription.next(min(ping_seconds, left)), []
            for seconds, events in arrivals:
                for event in events:
                    if isinstance(event, RequestFailed):
                        raise from_exception(event.error)
                    if piece := self._piece(event, seconds):
                        pieces.append(piece)
            if pieces or not arrivals:
                yield pieces
        self.close()

    async def collect(self) -> list[list[Chunk]]:
        """Return the chunks of every choice."""
        collected: list[list[Chunk]] = [[] for _ in self._texts]
        async for pieces in self.passes(self._timeout_seconds):
            for piece in pieces:
                collected[piece.choice].append(piece.chunk)
        return collected

    def close(self) -> None:
        """Abort what still runs."""
        if self._is_open:
            self._subscription.close()
            self._release()
            if self._running:
                self._metrics.finished("abort")

    def _release(self) -> None:
        self._is_open = False
        if self._unstarted:
            self._metrics.num_waiting_tokens -= self.num_prompt_tokens
        self._metrics.num_waiting_choices -= len(self._unstarted)
        self._unstarted.clear()

    def _piece(self, token: SampledToken, seconds: float) -> Piece | None:
        number = self._subscription.numbers[token.index]
        scored = self.scored[number]
        if len(scored) < self.requests[number].num_scored:
            scored.append(token)
            return None
        choice = number * self.num_choices + token.choice
        if choice not in self._running:
            return None
        self._observe(choice, seconds)
        self.num_cached[number] += token.num_cached
        chunk = self._texts[choice].add(token)
        if chunk.finish_reason:
            self._running.discard(choice)
            self._metrics.finished(chunk.finish_reason)
            if not token.finish_reason:  # at a stop string, which the engine does not know
                self._subscription.stop(token.index, token.choice)
            if not self._running:
                self._metrics.ended(self.times, self.num_prompt_tokens, self.num_new_tokens)
        return Piece(choice, chunk)

    def _observe(self, choice: int, seconds: float) -> None:
        """Count a token that the engine sent at a time."""
        if not self.times.first:
            self.times.first = seconds
            self._metrics.first_token(seconds - self.times.arrived)
        if choice in self._unstarted:
            self._unstarted.discard(choice)
            self._metrics.num_waiting_choices -= 1
            if not self._unstarted:
                self._metrics.num_waiting_tokens -= self.num_prompt_tokens
        else:
            self._metrics.next_token(seconds - self._last[choice])
        self.times.last = self._last[choice] = seconds
        self.num_new_tokens += 1

    @property
    def num_cached_tokens(self) -> int:
        """Number of prompt tokens that were found in the prefix cache."""
        return sum(self.num_cached)

    @property
    def usage(self) -> dict[str, object]:
        """Usage, with OpenAI's keys."""
        return {
            "prompt_tokens": self.num_prompt_tokens,
            "completion_tokens": self.num_new_tokens,
            "total_tokens": self.num_prompt_tokens + self.num_new_tokens,
            "prompt_tokens_details": {"cached_tokens": self.num_cached_tokens},
        }
