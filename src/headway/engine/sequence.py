"""A sequence of tokens with its place in the KV cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

import numpy

_ids = count()


@dataclass(eq=False, slots=True)
class Sequence:
    """Tokens of one row: the decoder's prompt, and the completion so far.

    token_ids     all tokens; those from num_computed on are not in the KV cache yet
    num_prompt    length of the prompt
    num_computed  number of tokens in the KV cache
    pages         numbers of the pages with the keys and values of the computed tokens, in order; -1 for a freed page
    num_shared    number of leading pages that are in the prefix cache
    logits        logits (vocab_size,) after the last token, if computed
    id            number of the sequence, unique in the process
    parent_id     sequence whose cache this one continues: its own id, except in the first pass after a fork
    """

    token_ids: list[int]
    num_prompt: int
    num_computed: int = 0
    pages: list[int] = field(default_factory=list)
    num_shared: int = 0
    logits: numpy.ndarray | None = None
    id: int = field(default_factory=lambda: next(_ids))
    parent_id: int = -1

    def __post_init__(self) -> None:
        if self.parent_id < 0:
            self.parent_id = self.id

    @property
    def num_new_tokens(self) -> int:
        """Number of tokens after the prompt."""
        return len(self.token_ids) - self.num_prompt
