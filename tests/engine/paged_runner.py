"""A runner with pages whose logits depend on every token that the pages hold, so a wrong page changes the result."""

from __future__ import annotations

import zlib

import numpy

from headway.engine import Engine, EngineOptions, ModelLimits

VOCAB_SIZE = 23


class PagedRunner:
    """Stores token ids in the pages instead of keys and values, and reads a sequence back from them."""

    def __init__(self, *, page_size=4, max_rows=16, window=None, vocab_size=VOCAB_SIZE):
        self.page_size, self.max_rows, self.window, self.vocab_size = page_size, max_rows, window, vocab_size
        self.page_bytes = 1
        self.pages = numpy.zeros((0, page_size), int)
        self.passes = []
        self.adapters = ()
        self.fails = False

    def remove_adapter(self, name):
        self.adapters = tuple(each for each in self.adapters if each != name)

    def allocate(self, num_pages):
        more = numpy.full((num_pages - len(self.pages), self.page_size), -1)
        self.pages = numpy.concatenate([self.pages, more])

    def copy_page(self, source, target):
        self.pages[target] = self.pages[source]

    def run(self, batch):
        if self.fails:
            raise RuntimeError("the runner failed")
        assert sum(len(rows.token_ids) for rows in batch) <= self.max_rows
        self.passes.append([len(rows.token_ids) for rows in batch])
        written, logits = [], []
        for rows in batch:
            end = rows.start + len(rows.token_ids)
            written += {rows.pages[position // self.page_size] for position in range(rows.start, end)}
            for position, token_id in enumerate(rows.token_ids, rows.start):
                page = rows.pages[position // self.page_size]
                assert 0 <= page < len(self.pages)
                self.pages[page, position % self.page_size] = token_id
        assert len(written) == len(set(written)), "two sequences write to one page"
        for rows in batch:
            end = rows.start + len(rows.token_ids)
            for last in range(end - rows.num_wanted, end):
                first = 0 if self.window is None else max(last + 1 - self.window, 0)
                seen = [int(self.pages[rows.pages[p // self.page_size], p % self.page_size]) for p in range(first, last + 1)]
                assert min(seen) >= 0
                logits.append(logits_after(seen, last, self.vocab_size))
        return numpy.array(logits, numpy.float32).reshape(-1, self.vocab_size)


def logits_after(token_ids, position, vocab_size=VOCAB_SIZE):
    seed = zlib.crc32(numpy.array([position, *token_ids], numpy.int64).tobytes())
    return numpy.random.default_rng(seed).standard_normal(vocab_size).astype(numpy.float32) * 3


def paged_engine(*, max_pages=1000, max_seq_len=64, runner=None, **options):
    runner = runner or PagedRunner()
    return Engine(runner, ModelLimits(runner.vocab_size, max_seq_len), options=EngineOptions(cache_bytes=max_pages, **options))
