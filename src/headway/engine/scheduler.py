"""Planning of a pass: admission, prompt chunks within a time budget, preemption."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from headway.engine.active import ActiveRequest
from headway.engine.batch import SequenceRows
from headway.engine.pages import Pool
from headway.engine.pass_time import PassTime
from headway.engine.sequence import Sequence
from headway.errors import ResourceError

FIRST_CHUNK = 64
"""Rows for prompts next to running sequences as long as no pass has been measured."""
MARGIN = 0.9
"""Share of the time budget that is planned for: a pass takes longer than the one before, because its rows attend to more keys."""
MIN_CHUNK = 16
"""Rows for prompts that a pass always has, so that prompts progress whatever the time budget."""
AGEING = 64
"""Number of tokens by which a prompt counts as shorter for each request that arrived after it."""
MAX_DRAFTING = 3
"""Drafts are made for at most this number of running requests; with more, their rows are worth more to the others."""


@dataclass(slots=True)
class Planned:
    """The rows of one sequence in the planned pass.

    num_drafted  number of tokens at the end of the rows that are guesses
    """

    active: ActiveRequest
    sequence: Sequence
    rows: SequenceRows
    num_drafted: int = 0


class Scheduler:
    """Requests that wait and requests that run, each in order of priority, then of arrival.

    A pass has one row for each running sequence, and those of its draft, then chunks of prompts within what is left of the time budget, shortest
    first. Where memory runs out, the last request is preempted: its pages are given back, and it waits in its old place. The
    request that has run longest is never preempted, and fits alone, so every request ends.

    max_rows           maximum number of rows in a pass
    max_running        maximum number of running requests
    max_gap_seconds    time budget of a pass while sequences are running
    has_chunks         False for a runner that computes each prompt in one pass
    """

    def __init__(self, pool: Pool, *, max_rows: int, max_running: int, max_gap_seconds: float, has_chunks: bool) -> None:
        """Start without requests."""
        self.pool, self.pass_time = pool, PassTime()
        self.max_rows, self.max_running, self.max_gap_seconds, self.has_chunks = max_rows, max_running, max_gap_seconds, has_chunks
        self.waiting: list[ActiveRequest] = []
        self.running: list[ActiveRequest] = []
        self.num_preemptions = self.num_prefix_tokens = self.num_prefix_hits = 0

    def add(self, active: ActiveRequest) -> None:
        """Let a request wait for its turn."""
        bisect.insort(self.waiting, active, key=lambda each: each.order)

    def remove(self, active: ActiveRequest) -> None:
        """Take a request out, wherever it is."""
        requests = self.running if active.is_running else self.waiting
        requests.remove(active)
        active.is_running = False

    def plan(self) -> list[Planned]:
        """Return the rows of the next pass; [] if nothing waits or runs."""
        planned: list[Planned] = []
        if self.waiting:
            self._admit()
        prompts = self._plan_running(planned)
        if prompts:
            self._plan_prompts(prompts, planned)
        return planned

    def _plan_running(self, planned: list[Planned]) -> list[tuple[ActiveRequest, Sequence]]:
        """Plan one row, and perhaps drafted ones, for each sequence that has only its last token left to compute; return the others."""
        prompts: list[tuple[ActiveRequest, Sequence]] = []
        num_left = self._draft_rows()
        for active in list(self.running):
            for sequence in active.sequences:
                if not active.is_running:
                    break  # preempted for one of the sequences before it
                if sequence.logits is not None:
                    continue
                num_tokens = len(sequence.token_ids)
                if num_tokens - sequence.num_computed > 1:
                    prompts.append((active, sequence))
                    continue
                drafted = self._draft(active, sequence.token_ids, num_left)
                num_left -= len(drafted)
                if self._reserve(active, sequence, num_tokens + len(drafted), planned):
                    planned.append(_planned(active, sequence, num_tokens, drafted))
        return prompts

    def _draft(self, active: ActiveRequest, token_ids: list[int], num_left: int) -> list[int]:
        """Return at most num_left tokens that may follow those of a sequence; [] for none."""
        drafts = active.drafts
        if drafts is None or (drafts.is_guess and (len(self.running) > MAX_DRAFTING or self.waiting)):
            return []
        try:
            drafted = drafts.draft(token_ids, min(active.max_len - len(token_ids) - 1, num_left))
        except Exception:
            return []  # an error of a request must not end the others; its processor meets it again
        return drafted if not drafted or not drafts.is_guess or self._pays(len(drafted)) else []

    def _draft_rows(self) -> int:
        """Return the number of rows for drafts in a pass, which leaves some for prompts, and keeps within the time budget of the others."""
        num_known = 0
        for active in self.running:
            num_known += active.drafts is not None and not active.drafts.is_guess
        if not num_known:  # guesses are short, few, and made only where they pay
            return self.max_rows - 1
        sequences = [sequence for active in self.running for sequence in active.sequences]
        has_prompts = any(_num_left(sequence) > 1 for sequence in sequences)
        left = self.max_rows - len(sequences) - (MIN_CHUNK if has_prompts else 0)
        if num_known == len(self.running):  # requests with known drafts wait for nobody else
            return left
        within = self.pass_time.rows_within(MARGIN * self.max_gap_seconds)
        return min(left, FIRST_CHUNK if within is None else max(within - len(sequences), MIN_CHUNK))

    def _plan_prompts(self, prompts: list[tuple[ActiveRequest, Sequence]], planned: list[Planned]) -> None:
        """Plan chunks of prompts, shortest first."""
        budget = self._prompt_rows(sum(len(each.rows.token_ids) for each in planned))
        # A waiting prompt gets nearer to the front with each request that arrives after it.
        prompts.sort(key=lambda pair: (pair[0].request.priority, _num_left(pair[1]) + AGEING * pair[0].id))
        for active, sequence in prompts:
            if not active.is_running:
                continue  # preempted for one of the prompts before it
            end = min(len(sequence.token_ids), sequence.num_computed + budget)
            if end > sequence.num_computed and self._reserve(active, sequence, end, planned, waits=True):
                budget -= end - sequence.num_computed
                planned.append(_planned(active, sequence, end, []))

    def _admit(self) -> None:
        """Start waiting requests, as long as there is memory for the next one."""
        num_needed = sum(len(each.sequences) for each in self.running)
        while self.waiting and len(self.running) < self.max_running:
            active = self.waiting[0]
            if self.running and not all(self.pool.can_start(sequence, num_needed) for sequence in active.sequences):
                return
            self.waiting.pop(0)
            bisect.insort(self.running, active, key=lambda each: each.order)
            active.is_running = True
            for sequence in active.sequences:
                num_hits = self.pool.start(sequence, active.cache_key)
                if not active.is_started:
                    self.num_prefix_tokens += len(sequence.token_ids)
                    self.num_prefix_hits += num_hits
                    active.num_cached = num_hits
            active.is_started = True
            num_needed += len(active.sequences)

    def _reserve(self, active: ActiveRequest, sequence: Sequence, num_tokens: int, planned: list[Planned], *, waits: bool = False) -> bool:
        """Provide memory for a sequence, preempting requests that go after it; return False if there is none for it.

        planned  rows planned so far, from which those of preempted requests are removed
        waits    True for a request that waits without memory, False for one that is preempted itself
        """
        while not self.pool.reserve(sequence, num_tokens):
            oldest = min(self.running, key=lambda each: each.id)
            if active is not oldest and waits:
                return False
            last = next((each for each in reversed(self.running) if each is not oldest and each is not active), None)
            victim = active if active is not oldest and (last is None or last.order < active.order) else last
            if victim is None:
                raise ResourceError("got a request that does not fit in the KV cache alone, expected it to be refused")
            planned[:] = [each for each in planned if each.active is not victim]
            self._preempt(victim)
            if victim is active:
                return False
        return True

    def _preempt(self, active: ActiveRequest) -> None:
        self.running.remove(active)
        active.is_running = False
        for sequence in active.sequences:
            self.pool.release(sequence, active.cache_key)
            sequence.logits = None
        self.num_preemptions += 1
        self.add(active)

    def _prompt_rows(self, num_rows: int) -> int:
        """Return the number of rows for prompts in a pass that has num_rows others."""
        left = self.max_rows - num_rows
        if not num_rows or not self.has_chunks:
            return left
        within = self.pass_time.rows_within(MARGIN * self.max_gap_seconds)
        return min(left, FIRST_CHUNK if within is None else max(within - num_rows, MIN_CHUNK))

    def _pays(self, num_drafted: int) -> bool:
        """Return True if a draft that is right saves a fifth of the time per token."""
        alone, drafted = self.pass_time.seconds(1), self.pass_time.seconds(1 + num_drafted)
        return alone is None or drafted is None or drafted < 0.8 * alone * (1 + num_drafted)


def _num_left(sequence: Sequence) -> int:
    return len(sequence.token_ids) - sequence.num_computed


def _planned(active: ActiveRequest, sequence: Sequence, end: int, drafted: list[int]) -> Planned:
    """Return the rows of a sequence up to token number `end`, and of drafted tokens after them."""
    token_ids = sequence.token_ids
    start = sequence.num_computed
    rows = SequenceRows(
        sequence.id,
        sequence.parent_id,
        start,
        token_ids[start:end] + drafted,
        sequence.pages,
        (1 + len(drafted)) if end == len(token_ids) else 0,
        active.max_len,
        active.source_ids if start == 0 else (),
        active.request.adapter,
    )
    return Planned(active, sequence, rows, len(drafted))
