"""PyTorch's own fused operations, under the definitions' names and signatures.

Their errors are torch's. Where a call asks for what the fused operation cannot do, the definition answers.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from headway import functions
from headway.arrays import Array
from headway.functions.embedding import check_token_ids

__all__ = [
    "cross_entropy",
    "embed",
    "gelu",
    "gelu_tanh",
    "layer_norm",
    "linear",
    "rms_norm",
    "scaled_dot_product_attention",
    "silu",
    "softmax",
    "unembed",
]


def softmax(x: Array, *, axis: int = -1) -> Array:
    """Twin of functions.softmax."""
    return functions.softmax(x, axis=axis) if not x.is_floating_point() else F.softmax(x, dim=axis)


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Twin of functions.linear."""
    return F.linear(x, weight, bias)


def embed(token_ids: Array, table: Array) -> Array:
    """Twin of functions.embed; on a GPU the ids are not looked at, because that would wait for the device."""
    if token_ids.device.type == "cpu":
        check_token_ids(token_ids, table.shape[0])
    return F.embedding(token_ids, table)


def unembed(x: Array, table: Array) -> Array:
    """Twin of functions.unembed."""
    return F.linear(x, table)


def silu(x: Array) -> Array:
    """Twin of functions.silu."""
    return F.silu(x)


def gelu(x: Array) -> Array:
    """Twin of functions.gelu."""
    return F.gelu(x)


def gelu_tanh(x: Array) -> Array:
    """Twin of functions.gelu_tanh."""
    return F.gelu(x, approximate="tanh")


def layer_norm(x: Array, weight: Array | None = None, bias: Array | None = None, *, eps: float = 1e-5) -> Array:
    """Twin of functions.layer_norm."""
    return F.layer_norm(x, x.shape[-1:], weight, bias, eps)


def rms_norm(x: Array, weight: Array | None = None, *, eps: float = 1e-6) -> Array:
    """Twin of functions.rms_norm."""
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    soft_cap: float | None = None,
) -> Array:
    """Twin of functions.scaled_dot_product_attention; a soft cap, fewer than three axes or fewer values than keys run the definition."""
    if soft_cap is not None or query.ndim < 3 or key.shape[-2] != value.shape[-2]:
        return functions.scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal, scale=scale, soft_cap=soft_cap)
    query_len, key_len = query.shape[-2], key.shape[-2]
    if query_len == 1:  # a single newest query may see every key
        is_causal = False
    if is_causal and (mask is not None or query_len != key_len):  # torch's own is top-left, and takes no mask beside
        causal = functions.causal_mask(query_len, key_len, like=query)
        mask, is_causal = causal if mask is None else _both(mask, causal), False
    grouped = query.shape[-3] != key.shape[-3]
    if grouped and query_len == 1 and (mask is None or mask.ndim < 3 or mask.shape[-3] == 1):
        queries = query.squeeze(-2).unflatten(-2, (key.shape[-3], -1))  # a group's heads are the queries of one head: nothing is repeated
        return F.scaled_dot_product_attention(queries, key, value, mask, scale=scale).flatten(-3, -2).unsqueeze(-2)
    return F.scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal, scale=scale, enable_gqa=grouped)


def cross_entropy(logits: Array, targets: Array, *, ignored: int | None = None) -> Array:
    """Twin of functions.cross_entropy."""
    loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=-100 if ignored is None else ignored)
    return torch.where(torch.isnan(loss) & (targets == ignored).all(), torch.zeros_like(loss), loss) if ignored is not None else loss


def _both(mask: Array, causal: Array) -> Array:
    """What a mask allows and the causal one too."""
    if mask.dtype == torch.bool:
        return mask & causal
    return functions.apply_mask(mask.expand(torch.broadcast_shapes(mask.shape, causal.shape)), causal)
