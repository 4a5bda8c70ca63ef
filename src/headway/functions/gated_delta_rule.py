"""Linear attention with the gated delta rule, and the short convolution before it."""

from __future__ import annotations

import math

from headway.arrays import ArrayT, array_namespace, as_floating, at_least_float32, cast
from headway.errors import ShapeError


def causal_conv(x: ArrayT, kernel: ArrayT, bias: ArrayT | None = None, previous: ArrayT | None = None) -> ArrayT:
    """Causal depthwise convolution: each channel is a weighted sum of its last kernel_size values.

        out[t, channel] = Σ kernel[channel, i] · x[t - (kernel_size - 1) + i, channel] + bias[channel]

    Shapes
        x         (..., seq_len, num_channels)
        kernel    (num_channels, kernel_size)
        bias      (num_channels,) optional
        previous  (..., kernel_size - 1, num_channels) optional
        return    (..., seq_len, num_channels)

    previous  the values before x, which a decode step needs; zeros by default

    float16 and bfloat16 are computed in float32.

    Errors   ShapeError if the shapes do not match.

    >>> import numpy as np
    >>> causal_conv(np.array([[1.0], [2.0], [3.0]]), np.array([[10.0, 1.0]])).tolist()
    [[1.0], [12.0], [23.0]]

    Source   van den Oord et al. 2016 (WaveNet), section 2.1; depthwise before linear attention: Yang et al. 2024
    """
    xp = array_namespace(x, kernel)
    seq_len, num_channels, size = x.shape[-2], x.shape[-1], kernel.shape[-1]
    before = (*x.shape[:-2], size - 1, num_channels)
    if kernel.ndim != 2 or kernel.shape[0] != num_channels or (previous is not None and tuple(previous.shape) != before):
        raise ShapeError(
            f"got x {tuple(x.shape)}, kernel {tuple(kernel.shape)} and previous {previous if previous is None else tuple(previous.shape)}, "
            f"expected a kernel ({num_channels}, kernel_size) and previous (..., kernel_size - 1, {num_channels})"
        )
    upcast, weights = at_least_float32(x), at_least_float32(kernel)
    start = xp.zeros_like(xp.broadcast_to(upcast[..., :1, :], before)) if previous is None else at_least_float32(previous)
    padded = xp.concat([start, upcast], axis=-2)
    mixed = sum(padded[..., index : index + seq_len, :] * weights[:, index] for index in range(size))
    return cast(mixed if bias is None else mixed + at_least_float32(bias), as_floating(x).dtype)


def gated_delta_rule(
    query: ArrayT, key: ArrayT, value: ArrayT, decay: ArrayT, strength: ArrayT, state: ArrayT | None = None, *, scale: float | None = None
) -> tuple[ArrayT, ArrayT]:
    """Linear attention with the gated delta rule: a matrix that maps keys to values, corrected at every position.

        state ← decay_t · state
        state ← state + k_t ⊗ strength_t · (v_t - state(k_t)),   state(k) = stateᵀ k
        out_t = state(scale · q_t)

    Shapes
        query     (..., num_heads, seq_len, head_dim)
        key       (..., num_heads, seq_len, head_dim)
        value     (..., num_heads, seq_len, value_dim)
        decay     (..., num_heads, seq_len)
        strength  (..., num_heads, seq_len)
        state     (..., num_heads, head_dim, value_dim) optional
        return    (..., num_heads, seq_len, value_dim), (..., num_heads, head_dim, value_dim)

    decay     part of the state that is kept, from 0 to 1
    strength  part of the old value that is replaced, from 0 (nothing is written) to 1
    state     state before the first position; zeros by default
    scale     factor of the queries; 1/√head_dim by default

    Returns the outputs and the state after the last position, from which the next positions continue. Keys usually have length 1.
    The state has at least float32; float16 and bfloat16 are computed in float32.

    Errors   ShapeError if the shapes do not match.

    >>> import numpy as np
    >>> one = np.ones((1, 2, 1))
    >>> outputs, state = gated_delta_rule(one, one, np.array([[[4.0], [8.0]]]), one[..., 0], 0.5 * one[..., 0])
    >>> outputs.tolist(), state.tolist()
    ([[[2.0], [5.0]]], [[[5.0]]])

    Source   Yang et al. 2025 (Gated Delta Networks), equation 10
    """
    xp = array_namespace(query, key, value, decay, strength)
    shapes = [tuple(each.shape) for each in (query, key, value, decay, strength)]
    if shapes[0] != shapes[1] or len(shapes[2]) != len(shapes[0]) or any(shape[: query.ndim - 1] != shapes[0][:-1] for shape in shapes[2:]):
        raise ShapeError(
            f"got query, key, value, decay and strength {', '.join(map(str, shapes))}, "
            "expected (..., seq_len, head_dim) twice, (..., seq_len, value_dim), and (..., seq_len) twice"
        )
    q, k, v, kept, written = (at_least_float32(each) for each in (query, key, value, decay, strength))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    now = xp.zeros_like(k[..., 0, :, None] * v[..., 0, None, :]) if state is None else at_least_float32(state)
    outputs = []
    for t in range(query.shape[-2]):
        now = now * kept[..., t, None, None]
        recalled = xp.sum(now * k[..., t, :, None], axis=-2)
        correction = (v[..., t, :] - recalled) * written[..., t, None]
        now = now + k[..., t, :, None] * correction[..., None, :]
        outputs.append(xp.sum(now * (scale * q[..., t, :, None]), axis=-2))
    return cast(xp.stack(outputs, axis=-2), as_floating(value).dtype), now
