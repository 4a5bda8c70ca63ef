"""The rows of a pass as the compiled code reads them: checked, and with the tasks of attention."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from headway.errors import HeadwayError, PromptError, TokenIdError
from headway.kernels.cpu.kv_cache import PAGE_SIZE
from headway.kernels.cpu.layout import KEYS_PER_PARTIAL, MAX_SPLIT_ROWS, ROWS_PER_TASK, TOKENS_PER_PASS


class SequenceRows(Protocol):
    """The rows of one sequence in a pass: tokens to append to its KV cache."""

    @property
    def start(self) -> int:
        """Position of the first token, which is the number of cached tokens."""

    @property
    def token_ids(self) -> Sequence[int]:
        """The tokens, at least one."""

    @property
    def pages(self) -> Sequence[int]:
        """Page numbers of the sequence in order, enough for all its positions; any number for a page that no row attends to."""

    @property
    def num_wanted(self) -> int:
        """Number of rows, at the end, whose results are wanted."""

    @property
    def adapter(self) -> str | None:
        """Name of the adapter of the rows; None for none."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a sequence: see SequenceRows."""

    start: int
    token_ids: Sequence[int]
    pages: Sequence[int]
    num_wanted: int
    adapter: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers that rows are checked against. The compiled code has no checks: a wrong index would read or write other memory.

    vocab_size     number of token ids
    num_positions  number of learned positions; None for no limit
    window         number of positions that every layer is limited to; None if a layer attends to all positions
    group_size     number of query heads per key head
    """

    vocab_size: int
    num_positions: int | None
    window: int | None
    group_size: int


_int64 = partial(array, "q")
"""Return an array of int64. It is filled and addressed in a fraction of the time that a small NumPy array takes."""


@dataclass(slots=True)
class PassPlan:
    """The rows of a pass, in the order of the batch, as arrays that the compiled code reads.

    token_ids, positions   of each row
    first_pages            index in `pages` of the first page of each row's sequence
    pages                  page numbers of all sequences; -1 for a page that no row attends to
    wanted                 indices of the rows whose results are wanted
    tasks                  tasks of attention, one after the other: see records.TASK
    first_partials         number of partial results of the rows before each row, and of all rows
    num_positions          number of positions up to the last of any sequence
    adapters               name of the adapter of each row; empty if no row has one
    """

    token_ids: array[int] = field(default_factory=_int64)
    positions: array[int] = field(default_factory=_int64)
    first_pages: array[int] = field(default_factory=_int64)
    pages: list[int] = field(default_factory=list)
    wanted: array[int] = field(default_factory=_int64)
    tasks: array[int] = field(default_factory=_int64)
    first_partials: array[int] = field(default_factory=partial(_int64, (0,)))
    num_positions: int = 0
    adapters: list[str | None] = field(default_factory=list)


def plan_pass(batch: Sequence[SequenceRows], limits: Limits, num_pages: int) -> PassPlan:
    """Check the rows of a batch and return the plan of their pass.

    Errors   PromptError for no tokens, too many, or positions out of range; TokenIdError for a token id out of range; HeadwayError for
             a page that does not exist, too few pages, or a page that is written twice.
    """
    plan = PassPlan()
    written: list[int] = []
    for rows in batch:
        first, start, num_rows = len(plan.positions), rows.start, len(rows.token_ids)
        end = start + num_rows
        if not num_rows or start < 0 or (limits.num_positions is not None and end > limits.num_positions):
            raise PromptError(
                f"got {num_rows} tokens after {start}, expected at least 1 and at most {limits.num_positions} in total",
                hint="shorten the prompt",
            )
        if not 0 <= rows.num_wanted <= num_rows:
            raise PromptError(f"got {rows.num_wanted} wanted rows, expected 0 to {num_rows}, the number of tokens")
        plan.first_pages.extend([len(plan.pages)] * num_rows)
        written += _add_pages(plan, rows.pages, start, end, limits.window, num_pages)
        try:
            plan.token_ids.extend(rows.token_ids)
        except OverflowError:
            raise TokenIdError(
                f"got token ids from {min(rows.token_ids)} to {max(rows.token_ids)}, expected 0 to {limits.vocab_size - 1}",
                hint="use the tokenizer of this model",
            ) from None
        plan.positions.extend(range(start, end))
        plan.num_positions = max(plan.num_positions, end)
        if rows.adapter is not None:
            plan.adapters += [None] * (first - len(plan.adapters)) + [rows.adapter] * num_rows
        plan.wanted.extend(range(first + num_rows - rows.num_wanted, first + num_rows))
        _add_tasks(plan, first, start, num_rows, limits.group_size)
    if len(plan.positions) > TOKENS_PER_PASS:
        raise PromptError(f"got a pass of {len(plan.positions)} tokens, expected at most {TOKENS_PER_PASS}", hint="use more passes")
    if plan.token_ids and (min(plan.token_ids) < 0 or max(plan.token_ids) >= limits.vocab_size):
        raise TokenIdError(
            f"got token ids from {min(plan.token_ids)} to {max(plan.token_ids)}, expected 0 to {limits.vocab_size - 1}",
            hint="use the tokenizer of this model",
        )
    if plan.adapters:
        plan.adapters += [None] * (len(plan.positions) - len(plan.adapters))
    if len(set(written)) < len(written):
        raise HeadwayError(f"got pages {sorted(written)} to write to, expected each of them once")
    return plan


def _add_pages(plan: PassPlan, pages: Sequence[int], start: int, end: int, window: int | None, num_pages: int) -> Sequence[int]:
    """Add the pages of a sequence that its rows attend to; return those that they write to."""
    num_needed = -(-end // PAGE_SIZE)
    num_unread = 0 if window is None else max(start + 1 - window, 0) // PAGE_SIZE
    needed = pages[num_unread:num_needed]
    if len(pages) < num_needed or min(needed) < 0 or max(needed) >= num_pages:
        raise HeadwayError(f"got pages {list(needed)} for positions up to {end - 1}, expected {num_needed} pages, 0 to {num_pages - 1}")
    plan.pages += [-1] * num_unread
    plan.pages += needed
    return needed[start // PAGE_SIZE - num_unread :]


def _add_tasks(plan: PassPlan, first: int, start: int, num_rows: int, group_size: int) -> None:
    """Add the tasks of attention of a sequence: several rows at a time, or a few rows with many keys split by keys."""
    tasks, firsts, rows_per_task = plan.tasks, plan.first_partials, max(1, ROWS_PER_TASK // group_size)
    for offset in range(0, num_rows, rows_per_task):
        row, end = first + offset, first + min(offset + rows_per_task, num_rows)
        num_keys = start + end - first
        if end - row <= MAX_SPLIT_ROWS and num_keys > KEYS_PER_PARTIAL:
            keys, num_partials = range(0, num_keys, KEYS_PER_PARTIAL), firsts[-1]
            for part, key in enumerate(keys):
                tasks.extend((row, end, key, min(key + KEYS_PER_PARTIAL, num_keys), part))
            firsts.extend(num_partials + len(keys) * (index + 1) for index in range(end - row))
        else:
            tasks.extend((row, end, 0, num_keys, -1))
            firsts.extend(firsts[-1:] * (end - row))
