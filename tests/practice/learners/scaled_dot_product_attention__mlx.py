import math

import mlx.core as mx


def right_simple(query: mx.array, key: mx.array, value: mx.array, scale: float | None = None, mask: mx.array | None = None) -> mx.array:
    factor = mx.rsqrt(query.shape[-1]) if scale is None else scale
    scores = mx.matmul(query, key.swapaxes(-2, -1)) * factor
    if mask is not None:
        scores = scores + mask
    return mx.matmul(mx.softmax(scores, axis=-1), value)


def right_library(q, k, v, scale=None, mask=None):
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(q.shape[-1]) if scale is None else scale, mask=mask)


def wrong_scale(query, key, value, scale=None, mask=None):
    scores = mx.matmul(query, key.swapaxes(-2, -1)) * (1.0 if scale is None else scale)
    if mask is not None:
        scores = scores + mask
    return mx.matmul(mx.softmax(scores, axis=-1), value)


def wrong_given_scale_ignored(query, key, value, scale=None, mask=None):
    scores = mx.matmul(query, key.swapaxes(-2, -1)) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + mask
    return mx.matmul(mx.softmax(scores, axis=-1), value)


def wrong_mask_after_softmax(query, key, value, mask=None):
    weights = mx.softmax(query @ key.swapaxes(-2, -1) / math.sqrt(query.shape[-1]), axis=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value
