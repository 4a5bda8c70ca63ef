"""Pages of the KV cache: who holds them, and which are free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from collections.abc import Sequence as SequenceOf
from typing import Protocol

from headway.engine.batch import PagedRunner, UnpagedRunner
from headway.engine.prefix_cache import PrefixCache
from headway.engine.sequence import Sequence
from headway.errors import HeadwayError

INITIAL_PAGES = 8
"""Number of pages that are allocated first; the number is doubled when they are used up."""


class Pool(Protocol):
    """The memory of a runner's KV cache, as the scheduler sees it."""

    @property
    def usage(self) -> float:
        """Share of the memory in use by running sequences, 0 to 1."""

    def longest(self, num_prompt: int, num_sequences: int) -> float:
        """Return the number of tokens up to which num_sequences sequences fit that begin with the same num_prompt tokens."""

    def can_start(self, sequence: Sequence, num_running: int) -> bool:
        """Return True if there is memory for the tokens of a sequence, and some for those that are running."""

    def start(self, sequence: Sequence, cache_key: Hashable) -> int:
        """Let a sequence use the cached prefix of its tokens; return the number of its tokens that are computed."""

    def reserve(self, sequence: Sequence, num_tokens: int) -> bool:
        """Provide memory for the first num_tokens tokens; return False, with nothing changed, if there is not enough."""

    def commit(self, sequence: Sequence, cache_key: Hashable) -> None:
        """Note that the computed tokens of a sequence are final: full pages can be shared, and those outside of the window are freed."""

    def fork(self, child: Sequence) -> None:
        """Let a copy of a sequence hold the same memory."""

    def release(self, sequence: Sequence, cache_key: Hashable) -> None:
        """Take the memory of a sequence back; what it computed may be found again by a sequence that begins the same."""

    def clear_prefixes(self) -> None:
        """Free what is kept for later requests only."""

    def remove_prefixes(self, is_removed: Callable[[Hashable], bool]) -> None:
        """Free what is kept under the cache keys for which is_removed is true. No sequence may use it."""

    def clear(self) -> None:
        """Forget everything, after a failure of the runner."""


class Unpaged:
    """The pool of a runner that keeps the cache of each sequence itself, and is limited by nothing but memory."""

    usage = 0.0

    def __init__(self, runner: UnpagedRunner) -> None:
        """Store the runner, which forgets sequences when they are released."""
        self._runner = runner

    def longest(self, num_prompt: int, num_sequences: int) -> float:
        """See Pool."""
        return float("inf")

    def can_start(self, sequence: Sequence, num_running: int) -> bool:
        """See Pool."""
        return True

    def start(self, sequence: Sequence, cache_key: Hashable) -> int:
        """See Pool."""
        return 0

    def reserve(self, sequence: Sequence, num_tokens: int) -> bool:
        """See Pool."""
        return True

    def commit(self, sequence: Sequence, cache_key: Hashable) -> None:
        """See Pool."""

    def fork(self, child: Sequence) -> None:
        """See Pool."""

    def release(self, sequence: Sequence, cache_key: Hashable) -> None:
        """See Pool."""
        self._runner.release([sequence.id])

    def clear_prefixes(self) -> None:
        """See Pool."""

    def remove_prefixes(self, is_removed: Callable[[Hashable], bool]) -> None:
        """See Pool."""

    def clear(self) -> None:
        """See Pool."""


class PagePool:
    """The pages of a paged runner.

    A page is free, in use (by one sequence or, after a fork, by several), or in the prefix cache (in use or not). Memory for
    pages is allocated when the first ones are needed, and doubled until max_pages.
    """

    def __init__(self, runner: PagedRunner, max_pages: int) -> None:
        """Start with no memory."""
        assert runner.page_size is not None
        self._runner, self.max_pages, self.page_size = runner, max_pages, runner.page_size
        self._num_pages = 0
        self.clear()

    def clear(self) -> None:
        """See Pool."""
        self.prefixes = PrefixCache(self.page_size)
        self._num_users: Counter[int] = Counter()
        self._free = list(range(self._num_pages - 1, -1, -1))

    @property
    def num_available(self) -> int:
        """Number of pages that can be given out: free, evictable, or not allocated yet."""
        return len(self._free) + self.prefixes.num_unused + self.max_pages - self._num_pages

    @property
    def num_bytes(self) -> int:
        """Memory of the pages that are allocated."""
        return self._num_pages * self._runner.page_bytes

    @property
    def max_bytes(self) -> int:
        """Most memory that the pages may have."""
        return self.max_pages * self._runner.page_bytes

    @property
    def usage(self) -> float:
        """See Pool."""
        return 1 - self.num_available / self.max_pages

    def longest(self, num_prompt: int, num_sequences: int) -> float:
        """See Pool."""
        common = min(num_prompt // self.page_size, self.max_pages)
        return (common + (self.max_pages - common) // num_sequences) * self.page_size

    def can_start(self, sequence: Sequence, num_running: int) -> bool:
        """See Pool."""
        return self._num_pages_for(max(len(sequence.token_ids), sequence.num_prompt) + 1) + num_running <= self.num_available

    def start(self, sequence: Sequence, cache_key: Hashable) -> int:
        """See Pool. The last token is always computed, because its logits are wanted."""
        if self._runner.window is not None:
            return 0
        wanted = sequence.token_ids[:-1]
        pages, partial, num_matching = self.prefixes.match(wanted, cache_key)
        for page in pages:
            self.prefixes.use(page)
        sequence.pages, sequence.num_shared = pages, len(pages)
        sequence.num_computed = len(pages) * self.page_size
        if num_matching and self.num_available > 1:
            self.prefixes.use(partial)
            copy = self._take()
            self._runner.copy_page(partial, copy)
            self.prefixes.release(partial)
            sequence.pages.append(copy)
            sequence.num_computed += num_matching
        return sequence.num_computed

    def reserve(self, sequence: Sequence, num_tokens: int) -> bool:
        """See Pool. The page that the next token is written to must not be shared with a fork."""
        first = sequence.num_computed // self.page_size
        is_shared = first < len(sequence.pages) and self._num_users[sequence.pages[first]] > 1
        num_more = self._num_pages_for(num_tokens) - len(sequence.pages)
        if num_more <= 0 and not is_shared:
            return True
        if max(num_more, 0) + is_shared > self.num_available:
            return False
        if is_shared:
            copy = self._take()
            if sequence.num_computed % self.page_size:
                self._runner.copy_page(sequence.pages[first], copy)
            self._drop(sequence.pages[first])
            sequence.pages[first] = copy
        sequence.pages.extend(self._take() for _ in range(num_more))
        return True

    def commit(self, sequence: Sequence, cache_key: Hashable) -> None:
        """See Pool."""
        window, num_full = self._runner.window, sequence.num_computed // self.page_size
        if window is not None:
            for index in range(max(sequence.num_computed - window, 0) // self.page_size - 1, -1, -1):
                if sequence.pages[index] < 0:
                    return
                self._drop(sequence.pages[index])
                sequence.pages[index] = -1
        elif num_full > sequence.num_shared:
            self._share(sequence, num_full, cache_key)

    def fork(self, child: Sequence) -> None:
        """See Pool."""
        for page in child.pages[: child.num_shared]:
            self.prefixes.use(page)
        for page in child.pages[child.num_shared :]:
            if page >= 0:
                self._num_users[page] += 1

    def release(self, sequence: Sequence, cache_key: Hashable) -> None:
        """See Pool. The last page is kept too, with the tokens that it holds."""
        if self._runner.window is None:
            num_used = self._num_pages_for(sequence.num_computed)
            for page in reversed(sequence.pages[num_used:]):
                self._drop(page)
            del sequence.pages[num_used:]
            self._share(sequence, num_used, cache_key)
        for index in range(len(sequence.pages) - 1, -1, -1):
            page = sequence.pages[index]
            if index < sequence.num_shared:
                self.prefixes.release(page)
            elif page >= 0:
                self._drop(page)
        sequence.pages, sequence.num_shared, sequence.num_computed = [], 0, 0

    def clear_prefixes(self) -> None:
        """See Pool."""
        while self.prefixes.num_unused:
            self._free.append(self.prefixes.evict())

    def remove_prefixes(self, is_removed: Callable[[Hashable], bool]) -> None:
        """See Pool."""
        self._free += self.prefixes.remove(is_removed)

    def check(self, sequences: SequenceOf[Sequence]) -> None:
        """Verify that each page is in one place, and that the counts are those of the sequences.

        Errors   HeadwayError if they are not, which is a defect of the engine.
        """
        own = Counter(page for sequence in sequences for page in sequence.pages[sequence.num_shared :] if page >= 0)
        shared = Counter(page for sequence in sequences for page in sequence.pages[: sequence.num_shared])
        cached = dict(self.prefixes.pages())
        places = [*self._free, *own, *cached]
        if sorted(places) != list(range(self._num_pages)) or own != +self._num_users or shared != +Counter(cached):
            raise HeadwayError(f"got pages {sorted(places)} in use, cached and free, expected each of {self._num_pages} once")

    def _share(self, sequence: Sequence, num_pages: int, cache_key: Hashable) -> None:
        """Put the first pages of a sequence into the prefix cache, except those that a fork holds too."""
        last = sequence.num_shared
        while last < num_pages and self._num_users[sequence.pages[last]] == 1:
            last += 1
        if last == sequence.num_shared:
            return
        token_ids, first = sequence.token_ids[: sequence.num_computed], sequence.num_shared
        pages = self.prefixes.insert(token_ids, sequence.pages[:last], first, cache_key)
        for index, page in enumerate(pages, first):
            own = sequence.pages[index]
            if page == own:
                del self._num_users[own]
            else:
                self._drop(own)
                sequence.pages[index] = page
        sequence.num_shared = first + len(pages)

    def _num_pages_for(self, num_tokens: int) -> int:
        return -(-num_tokens // self.page_size)

    def _take(self) -> int:
        """Return a page that nobody holds. There must be one available."""
        if not self._free and self._num_pages < self.max_pages:
            num_pages = min(max(2 * self._num_pages, INITIAL_PAGES), self.max_pages)
            self._runner.allocate(num_pages)
            self._free = list(range(num_pages - 1, self._num_pages - 1, -1))
            self._num_pages = num_pages
        page = self._free.pop() if self._free else self.prefixes.evict()
        self._num_users[page] = 1
        return page

    def _drop(self, page: int) -> None:
        """Count one holder less of a page that is not in the prefix cache."""
        self._num_users[page] -= 1
        if not self._num_users[page]:
            del self._num_users[page]
            self._free.append(page)
