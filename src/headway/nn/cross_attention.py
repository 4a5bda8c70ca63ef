"""Cross-attention."""

from __future__ import annotations

from torch import Tensor

from headway.nn.dropout import DropoutRates
from headway.nn.multi_head_attention import Attention


class CrossAttention(Attention):
    """Cross-attention: queries from one sequence, keys and values from another, which may have another length and width.

    source_width   width of the other sequence; hidden_size by default
    hidden_size, num_heads, num_kv_heads, has_bias, dropout     as in MultiHeadAttention; one head by default

    >>> import torch
    >>> CrossAttention(12, 3, source_width=8)(torch.ones(2, 5, 12), torch.ones(2, 7, 8)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int = 1,
        *,
        source_width: int | None = None,
        num_kv_heads: int | None = None,
        has_bias: bool = True,
        dropout: float | DropoutRates = 0.0,
    ) -> None:
        super().__init__(hidden_size, num_heads, num_kv_heads=num_kv_heads, key_width=source_width, has_bias=has_bias, dropout=dropout)

    def forward(self, x: Tensor, source: Tensor, *, mask: Tensor | None = None, attention_mask: Tensor | None = None) -> Tensor:
        """Map x (..., query_len, hidden_size) and source (..., source_len, source_width) to (..., query_len, hidden_size).

        mask             as in MultiHeadAttention
        attention_mask   (batch_size, source_len): 1 for tokens of the source, 0 for padding
        """
        return self._attend(x, source, source, mask=mask, attention_mask=attention_mask, is_causal=False, rotary=None)
