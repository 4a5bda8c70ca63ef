"""Matching of stop strings against text that arrives in pieces, in linear time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


class StopMatcher:
    """Find the stop string that is complete first in a text that arrives in pieces.

    If several are complete at the same character, the longest counts. The result does not depend on how the text is divided.

    Each character costs amortized constant time per stop string, whatever the lengths of the stop strings.

    Source   Knuth, Morris and Pratt 1977
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Prepare the failure tables; the stop strings are not empty."""
        self.stops = list(stops)
        self._tables = [_failure_table(stop) for stop in self.stops]
        self.restart()

    def restart(self) -> None:
        """Forget the text."""
        self._num_matched = [0] * len(self.stops)
        self._pending: deque[str] = deque()

    def copy(self) -> StopMatcher:
        """Return a matcher of the same stop strings for another text; the tables are shared."""
        other = object.__new__(StopMatcher)
        other.stops, other._tables = self.stops, self._tables
        other.restart()
        return other

    def add(self, text: str) -> tuple[str, bool]:
        """Append text; return the text that is final, and True if a stop string is complete.

        Final text contains no part of a stop string. What may be the start of one is kept back: see flush.
        """
        if not self.stops:
            return text, False
        final: list[str] = []
        for character in text:
            self._pending.append(character)
            for index, (stop, table) in enumerate(zip(self.stops, self._tables, strict=True)):
                self._num_matched[index] = _next_match(stop, table, self._num_matched[index], character)
            complete = [n for n, stop in zip(self._num_matched, self.stops, strict=True) if n == len(stop)]
            if complete:
                final += [self._pending.popleft() for _ in range(len(self._pending) - max(complete))]
                return "".join(final), True
            num_kept = max(self._num_matched)
            while len(self._pending) > num_kept:
                final.append(self._pending.popleft())
        return "".join(final), False

    def flush(self) -> str:
        """Return the text that was kept back, at the end of the text."""
        text = "".join(self._pending)
        self.restart()
        return text


def _failure_table(stop: str) -> list[int]:
    """Return, for each n, the length of the longest proper prefix of stop[:n] that is also its suffix; the first entry is -1."""
    table, length = [-1, 0], 0
    for character in stop[1:]:
        while length >= 0 and stop[length] != character:
            length = table[length]
        length += 1
        table.append(length)
    return table


def _next_match(stop: str, table: list[int], num_matched: int, character: str) -> int:
    """Return the length of the longest prefix of `stop` that the text ends with, after one more character."""
    while num_matched >= 0 and (num_matched == len(stop) or stop[num_matched] != character):
        num_matched = table[num_matched]
    return num_matched + 1
