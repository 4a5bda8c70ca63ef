import mlx.core as mx


def right_grouped(query, key, value, scale=None, mask=None):
    factor = mx.rsqrt(query.shape[-1]) if scale is None else scale
    expected_shape = query.shape
    H_q, L, D = query.shape[-3:]
    H, S, _ = key.shape[-3:]
    B = query.shape[:-3]
    n_repeats = H_q // H
    query = query.reshape(*B, H, n_repeats, L, D)
    key = key.reshape(*B, H, 1, S, D)
    value = value.reshape(*B, H, 1, S, D)
    scores = mx.matmul(query, key.swapaxes(-2, -1)) * factor
    if mask is not None:
        mask = mx.broadcast_to(mask, (*B, H_q, L, S)).reshape(*B, H, n_repeats, L, S)
        scores = scores + mask
    return mx.matmul(mx.softmax(scores, axis=-1), value).reshape(expected_shape)


def wrong_tiled_not_repeated(query, key, value, scale=None, mask=None):
    n = query.shape[-3] // key.shape[-3]
    key, value = mx.concatenate([key] * n, axis=-3), mx.concatenate([value] * n, axis=-3)
    scores = query @ key.swapaxes(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    return mx.softmax(scores if mask is None else scores + mask, axis=-1) @ value


def wrong_scale(query, key, value, scale=None, mask=None):
    n = query.shape[-3] // key.shape[-3]
    key, value = mx.repeat(key, n, axis=-3), mx.repeat(value, n, axis=-3)
    scores = query @ key.swapaxes(-2, -1) * (1.0 if scale is None else scale)
    return mx.softmax(scores if mask is None else scores + mask, axis=-1) @ value
