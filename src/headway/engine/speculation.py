"""Drafts: tokens that probably come next, which are computed in the pass of the token before them.

Prompt lookup guesses that the text continues as it did after the same n tokens before. A grammar often allows one continuation only.
The tokens of a prompt that is scored are known.

A guess costs rows in a pass, and is checked against the token that the request's own sampler chooses, so the result is the same
as without it.

Source   Saxena 2023, "Prompt Lookup Decoding"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

NGRAM = 3
"""Number of tokens that must have occurred before for a draft."""
MAX_DRAFT = 12
"""Most tokens of a draft."""
FIRST_DRAFT = 4
MAX_PAUSE = 256
"""Most tokens without a draft after drafts that were rejected."""
MAX_KNOWN = 32
"""Most tokens of a draft that is known to be right. Each has logits over the vocabulary."""


class Drafter(Protocol):
    """Finds drafts for one sequence.

    is_guess   True if drafts are often wrong, so that they cost rows that others could have
    """

    is_guess: ClassVar[bool]

    def draft(self, token_ids: list[int], max_tokens: int) -> list[int]:
        """Return the tokens that may follow, at most max_tokens; [] for none."""

    def update(self, num_drafted: int, num_accepted: int) -> None:
        """Adapt to the result of a draft."""


@dataclass
class Known:
    """Drafts that are right, or nearly always: those of a function that returns the tokens after all tokens so far.

    A model may prefer other tokens for the text that a grammar prescribes, so the length is adapted.

    length   most tokens of the next draft
    """

    is_guess: ClassVar[bool] = False
    following: Callable[[list[int]], list[int]]
    length: int = MAX_KNOWN

    def draft(self, token_ids: list[int], max_tokens: int) -> list[int]:
        """See Drafter."""
        return self.following(token_ids)[: max(0, min(max_tokens, self.length))]

    def update(self, num_drafted: int, num_accepted: int) -> None:
        """See Drafter."""
        self.length = MAX_KNOWN if num_accepted else max(self.length // 2, 1)


@dataclass
class PromptLookup:
    """Drafts of prompt lookup, whose length is adapted.

    length   number of tokens of the next draft
    pause    number of tokens to wait before it, which doubles with each draft that is rejected at its first token
    """

    is_guess: ClassVar[bool] = True
    length: int = FIRST_DRAFT
    pause: int = 0
    _last_pause: int = 1
    _ends: dict[tuple[int, ...], int] = field(default_factory=dict)
    _num_indexed: int = 0

    def draft(self, token_ids: list[int], max_tokens: int) -> list[int]:
        """Return the tokens after the last earlier occurrence of the last NGRAM tokens, at most max_tokens; [] for none.

        A draft that reaches the end of the text continues with its own tokens, as a text does that repeats itself.
        """
        self._index(token_ids)
        if self.pause:
            self.pause -= 1
            return []
        start = self._ends.get(tuple(token_ids[-NGRAM:]))
        if start is None:
            return []
        period = token_ids[start:]
        number = min(self.length, max_tokens)
        return (period * -(-number // len(period)))[:number] if number > 0 else []

    def update(self, num_drafted: int, num_accepted: int) -> None:
        """Adapt to the result of a draft."""
        if num_accepted == num_drafted:
            self.length, self._last_pause = min(2 * self.length, MAX_DRAFT), 1
        elif num_accepted:
            self.length, self._last_pause = max(num_accepted, 1), 1
        else:
            self.length = FIRST_DRAFT
            self.pause = self._last_pause = min(4 * self._last_pause, MAX_PAUSE)

    def _index(self, token_ids: list[int]) -> None:
        """Record the position after each n-gram, except after the last one, which is what drafts are looked up for."""
        for end in range(max(self._num_indexed, NGRAM), len(token_ids)):
            self._ends[tuple(token_ids[end - NGRAM : end])] = end
        self._num_indexed = len(token_ids)
