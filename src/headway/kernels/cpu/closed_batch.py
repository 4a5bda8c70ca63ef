"""The KV cache of a fixed batch of sequences, for callers that do not manage pages themselves."""

from __future__ import annotations

from collections.abc import Sequence

from headway.kernels.cpu.kv_cache import PAGE_SIZE, PagedKVCache
from headway.kernels.cpu.layout import TOKENS_PER_PASS
from headway.kernels.cpu.pass_plan import Rows


class BatchCache:
    """The pages of the sequences of a batch."""

    def __init__(self, paged: PagedKVCache, num_sequences: int, max_seq_len: int) -> None:
        """Allocate the pages of empty sequences."""
        self.paged, self.max_seq_len, self._pages_each = paged, max_seq_len, -(-max_seq_len // PAGE_SIZE)
        paged.allocate(num_sequences * self._pages_each)
        self.lengths = [0] * num_sequences
        self.pages = [list(range(i * self._pages_each, (i + 1) * self._pages_each)) for i in range(num_sequences)]

    def take(self, parents: Sequence[int]) -> None:
        """Let sequence i continue what sequence parents[i] was; a parent may be taken several times or not at all."""
        chosen = [self.pages[parent] for parent in parents]
        self.paged.allocate(len(parents) * self._pages_each)
        used = {page for pages in chosen for page in pages}
        free = [page for page in range(self.paged.num_pages) if page not in used]
        self.lengths, self.pages = [self.lengths[parent] for parent in parents], []
        for pages, length in zip(chosen, self.lengths, strict=True):
            if pages in self.pages:
                copies = [free.pop() for _ in pages]
                for page, copy in zip(pages[: -(-length // PAGE_SIZE)], copies, strict=False):
                    self.paged.copy_page(page, copy)
                pages = copies
            self.pages.append(pages)

    def passes(self, token_ids: Sequence[Sequence[int]]) -> list[list[Rows]]:
        """Return the rows of each pass that appends tokens to every sequence; the last row of each sequence is wanted."""
        passes: list[list[Rows]] = [[]]
        room = TOKENS_PER_PASS
        for index, tokens in enumerate(token_ids):
            first = 0
            while first < len(tokens):
                if not room:
                    passes.append([])
                    room = TOKENS_PER_PASS
                chunk = tokens[first : first + room]
                is_last = first + len(chunk) == len(tokens)
                passes[-1].append(Rows(self.lengths[index] + first, chunk, self.pages[index], int(is_last)))
                first, room = first + len(chunk), room - len(chunk)
        return passes
