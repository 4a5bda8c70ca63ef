"""Modules that add position embeddings to token embeddings."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from headway import functions
from headway.errors import ShapeError
from headway.functions.dropout import check_rate


class Positions(torch.nn.Module):
    """Base class: a table with one row per position, added to the embeddings.

    dropout   dropout rate of the sum; 0 by default
    """

    table: Tensor

    def __init__(self, dropout: float) -> None:
        super().__init__()
        check_rate("dropout", dropout)
        self.dropout = dropout

    def forward(self, x: Tensor, *, offset: int = 0) -> Tensor:
        """Add the position embeddings to x (..., seq_len, hidden_size); the result has the dtype of x.

        offset   position of the first token; 0 by default

        Errors   ShapeError for a sequence longer than the table, or of another width.
        """
        seq_len, (max_seq_len, hidden_size) = x.shape[-2], self.table.shape
        if x.shape[-1] != hidden_size:
            raise ShapeError(f"got x {tuple(x.shape)}, expected (..., seq_len, {hidden_size}), the width of the position table")
        if offset < 0 or offset + seq_len > max_seq_len:
            raise ShapeError(
                f"got {seq_len} positions starting at {offset}, expected positions from 0 to {max_seq_len - 1}",
                hint="shorten the sequence, or make the module with a larger max_seq_len",
            )
        return F.dropout(x + self.table[offset : offset + seq_len].to(x.dtype), self.dropout, self.training)

    def extra_repr(self) -> str:
        """Return the options that print shows."""
        max_seq_len, hidden_size = self.table.shape
        return f"max_seq_len={max_seq_len}, hidden_size={hidden_size}, dropout={self.dropout}"


class SinusoidalPositions(Positions):
    """Sinusoidal position embeddings: functions.sinusoidal_positions.

    The table is a buffer: it is part of the state_dict and moves with `.to`, but it is not a parameter.

    max_seq_len   maximum number of positions
    base          the longest wavelength is close to 2π · base positions; 10000 by default
    dropout       dropout rate of the sum; 0 by default

    >>> import torch
    >>> SinusoidalPositions(10, 12)(torch.zeros(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(self, max_seq_len: int, hidden_size: int, *, base: float = 10000.0, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        self.register_buffer("table", functions.sinusoidal_positions(max_seq_len, hidden_size, base=base, like=torch.empty(0)))


class LearnedPositions(Positions):
    """Learned position embeddings: functions.learned_positions.

    max_seq_len   maximum number of positions
    dropout       dropout rate of the sum; 0 by default

    >>> import torch
    >>> LearnedPositions(10, 12)(torch.zeros(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(self, max_seq_len: int, hidden_size: int, *, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        self.table = torch.nn.Parameter(torch.normal(0.0, 0.02, (max_seq_len, hidden_size)))
