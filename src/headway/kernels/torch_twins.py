"""PyTorch's fused operations, with the names and signatures of functions.

Errors are torch's own. A call that the fused operation does not support runs the definition.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from headway import functions
from headway.functions import Matrix
from headway.functions.embedding import check_token_ids
from headway.kernels.chosen_experts import mixture_of_experts

__all__ = [
    "cross_entropy",
    "embed",
    "gelu",
    "gelu_tanh",
    "layer_norm",
    "linear",
    "mixture_of_experts",
    "rms_norm",
    "scaled_dot_product_attention",
    "silu",
    "softmax",
    "unembed",
]


def softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """Twin of functions.softmax."""
    return functions.softmax(x, axis=axis) if not x.is_floating_point() else F.softmax(x, dim=axis)


def linear(x: Tensor, weight: Tensor | Matrix, bias: Tensor | None = None) -> Tensor:
    """Twin of functions.linear."""
    return functions.linear(x, weight, bias) if isinstance(weight, Matrix) else F.linear(x, weight, bias)


def embed(token_ids: Tensor, table: Tensor | Matrix) -> Tensor:
    """Twin of functions.embed; ids on a GPU are not checked, because reading them would wait for the device."""
    if isinstance(table, Matrix):
        return functions.embed(token_ids, table)
    if token_ids.device.type == "cpu":
        check_token_ids(token_ids, table.shape[0])
    return F.embedding(token_ids, table)


def unembed(x: Tensor, table: Tensor | Matrix) -> Tensor:
    """Twin of functions.unembed."""
    return linear(x, table)


def silu(x: Tensor) -> Tensor:
    """Twin of functions.silu."""
    return F.silu(x)


def gelu(x: Tensor) -> Tensor:
    """Twin of functions.gelu."""
    return F.gelu(x)


def gelu_tanh(x: Tensor) -> Tensor:
    """Twin of functions.gelu_tanh."""
    return F.gelu(x, approximate="tanh")


def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, *, eps: float = 1e-5) -> Tensor:
    """Twin of functions.layer_norm."""
    return F.layer_norm(x, x.shape[-1:], weight, bias, eps)


def rms_norm(x: Tensor, weight: Tensor | None = None, *, eps: float = 1e-6) -> Tensor:
    """Twin of functions.rms_norm."""
    if weight is not None and weight.dtype != x.dtype:  # torch has no fused kernel for two dtypes, and warns
        return functions.rms_norm(x, weight, eps=eps)
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    soft_cap: float | None = None,
) -> Tensor:
    """Twin of functions.scaled_dot_product_attention; runs the definition for a soft cap, fewer than three axes, or unequal key_len."""
    if soft_cap is not None or query.ndim < 3 or key.shape[-2] != value.shape[-2]:
        return functions.scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal, scale=scale, soft_cap=soft_cap)
    query_len, key_len = query.shape[-2], key.shape[-2]
    if query_len == 1:  # a single query is the last one and may attend to every key
        is_causal = False
    if is_causal and (mask is not None or query_len != key_len):  # torch aligns is_causal top-left, and does not combine it with a mask
        causal = functions.causal_mask(query_len, key_len, like=query)
        mask, is_causal = causal if mask is None else _combine(mask, causal), False
    grouped = query.shape[-3] != key.shape[-3]
    if grouped and query_len == 1 and (mask is None or mask.ndim < 3 or mask.shape[-3] == 1):
        queries = query.squeeze(-2).unflatten(
            -2, (key.shape[-3], -1)
        )  # the heads of a group become queries of one head, so keys are not repeated
        return F.scaled_dot_product_attention(queries, key, value, mask, scale=scale).flatten(-3, -2).unsqueeze(-2)
    return F.scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal, scale=scale, enable_gqa=grouped)


def cross_entropy(logits: Tensor, targets: Tensor, *, ignored: int | None = None) -> Tensor:
    """Twin of functions.cross_entropy."""
    loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=-100 if ignored is None else ignored)
    return torch.where(torch.isnan(loss) & (targets == ignored).all(), torch.zeros_like(loss), loss) if ignored is not None else loss


def _combine(mask: Tensor, causal: Tensor) -> Tensor:
    """Return a mask that hides what either mask hides."""
    if mask.dtype == torch.bool:
        return mask & causal
    return functions.apply_mask(mask.expand(torch.broadcast_shapes(mask.shape, causal.shape)), causal)
