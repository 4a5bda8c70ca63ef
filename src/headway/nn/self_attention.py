"""Self-attention."""

from __future__ import annotations

from torch import Tensor

from headway.nn.dropout import DropoutRates
from headway.nn.multi_head_attention import Attention


class SelfAttention(Attention):
    """Self-attention: every position attends to all positions of the sequence.

    hidden_size, num_heads, num_kv_heads, has_bias, dropout     as in MultiHeadAttention; one head by default

    >>> import torch
    >>> SelfAttention(12, 3)(torch.ones(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    is_causal = False

    def __init__(
        self,
        hidden_size: int,
        num_heads: int = 1,
        *,
        num_kv_heads: int | None = None,
        has_bias: bool = True,
        dropout: float | DropoutRates = 0.0,
    ) -> None:
        super().__init__(hidden_size, num_heads, num_kv_heads=num_kv_heads, has_bias=has_bias, dropout=dropout)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        rotary: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        """Map x (..., seq_len, hidden_size) to the same shape; masks and rotary as in MultiHeadAttention."""
        return self._attend(x, x, x, mask=mask, attention_mask=attention_mask, is_causal=self.is_causal, rotary=rotary)


class CausalSelfAttention(SelfAttention):
    """Causal self-attention: every position attends to itself and to earlier positions of the sequence.

    hidden_size, num_heads, num_kv_heads, has_bias, dropout     as in MultiHeadAttention; one head by default

    >>> import torch
    >>> attention = CausalSelfAttention(12, 3)
    >>> x = torch.randn(2, 5, 12)
    >>> bool(torch.allclose(attention(x)[:, :2], attention(x[:, :2]), atol=1e-6))
    True
    """

    is_causal = True
