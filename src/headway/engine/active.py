"""A request in progress."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from headway.engine.decoding import DecodingStrategy
from headway.engine.request import Request, Sink
from headway.engine.sequence import Sequence
from headway.engine.speculation import Drafter


@dataclass(eq=False, slots=True)
class ActiveRequest:
    """A request that waits or runs.

    id         number of the request in the engine, in the order of arrival
    index      number of the request in its events
    strategy   sampling or beam search over its sequences
    cache_key  requests with the same one share cached prefixes
    source_ids prompt of an encoder–decoder's encoder
    max_len    maximum number of tokens of a sequence
    sink       receives the events
    deadline   time.monotonic() at which the request fails; None for never
    is_started True once it has run, also if it was preempted
    is_running True while it has memory and is computed
    num_cached number of prompt tokens that were found in the prefix cache, until the first event reports it
    drafts     finds the next tokens in advance; None for no drafts of this request
    """

    id: int
    index: int
    request: Request
    strategy: DecodingStrategy
    max_len: int
    sink: Sink
    cache_key: Hashable
    source_ids: tuple[int, ...] = ()
    deadline: float | None = None
    is_started: bool = False
    is_running: bool = False
    num_cached: int = 0
    drafts: Drafter | None = None

    @property
    def sequences(self) -> list[Sequence]:
        """The sequences that continue."""
        return self.strategy.sequences

    @property
    def order(self) -> tuple[int, int]:
        """Sort key: requests with a smaller one go first."""
        return self.request.priority, self.id
