# ruff: noqa: N806, RUF059

import math

import numpy as np


def right_halves(x, theta=10000.0):
    d = x.shape[-1]
    inv_freq = 1.0 / theta ** (np.arange(0, d, 2) / d)
    angles = np.outer(np.arange(x.shape[-2]), inv_freq)
    emb = np.concatenate([angles, angles], axis=-1)
    x1, x2 = np.split(x, 2, axis=-1)
    return x * np.cos(emb) + np.concatenate([-x2, x1], axis=-1) * np.sin(emb)


def right_interleaved(x, base=10000):
    d = x.shape[-1]
    angles = np.arange(x.shape[-2])[:, None] * base ** (-np.arange(0, d, 2) / d)
    out = np.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * np.cos(angles) - x[..., 1::2] * np.sin(angles)
    out[..., 1::2] = x[..., 0::2] * np.sin(angles) + x[..., 1::2] * np.cos(angles)
    return out


def right_loops_over_one_sequence(x, positions):
    out = np.zeros_like(x)
    n, d = x.shape
    for row in range(n):
        for i in range(d // 2):
            a = positions[row] / 10000 ** (2 * i / d)
            out[row, 2 * i] = x[row, 2 * i] * math.cos(a) - x[row, 2 * i + 1] * math.sin(a)
            out[row, 2 * i + 1] = x[row, 2 * i] * math.sin(a) + x[row, 2 * i + 1] * math.cos(a)
    return out


def right_one_vector_by_a_matrix(x, position):
    d = len(x)
    R = np.zeros((d, d))
    for i in range(d // 2):
        a = position * 10000 ** (-2 * i / d)
        R[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
    return R @ x


def right_complex(x, offset=0):
    *lead, n, d = x.shape
    z = x[..., 0::2] + 1j * x[..., 1::2]
    z = z * np.exp(1j * np.outer(np.arange(offset, offset + n), 10000.0 ** (-np.arange(0, d, 2) / d)))
    return np.stack([z.real, z.imag], axis=-1).reshape(*lead, n, d)


def right_single_precision_angles(x):
    d = x.shape[-1]
    angles = np.arange(x.shape[-2], dtype=np.float32)[:, None] * (1 / 10000 ** (np.arange(0, d, 2, dtype=np.float32) / d))
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def right_given_angles(x, cos, sin):
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def right_given_wide_angles(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + np.concatenate([-x[..., half:], x[..., :half]], -1) * sin


def right_given_angles_each_twice(x, cos, sin):
    rotated = np.empty_like(x)
    rotated[..., ::2], rotated[..., 1::2] = -x[..., 1::2], x[..., ::2]
    return x * cos + rotated * sin


def right_radians(x, freqs):
    a, b = x[..., ::2], x[..., 1::2]
    return np.stack([a * np.cos(freqs) - b * np.sin(freqs), a * np.sin(freqs) + b * np.cos(freqs)], -1).reshape(x.shape)


def right_query_and_key(q, k):
    def turn(x):
        d = x.shape[-1]
        angle = np.arange(x.shape[-2])[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
        a, b = x[..., : d // 2], x[..., d // 2 :]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)

    return turn(q), turn(k)


def right_heads_last(x):
    batch, n, heads, d = x.shape
    angle = (np.arange(n)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d))[None, :, None, :]
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)


def right_told_everything(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    table = np.arange(max_seq_len)[:, None] * theta ** (-np.arange(0, d_k, 2) / d_k)
    angle = table[token_positions]
    a, b = in_query_or_key[..., 0::2], in_query_or_key[..., 1::2]
    out = np.empty_like(in_query_or_key)
    out[..., 0::2] = a * np.cos(angle) - b * np.sin(angle)
    out[..., 1::2] = a * np.sin(angle) + b * np.cos(angle)
    return out


def _angles(x, theta=10000.0, start=0):
    return np.arange(start, start + x.shape[-2])[:, None] * theta ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])


def _halves(x):
    return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]


def _turn(x, angle):
    a, b = _halves(x)
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)


def wrong_theta(x):
    return _turn(x, _angles(x, 500000.0))


def wrong_theta__million(x, positions):
    freq = 1e6 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    return _turn(x, positions[:, None] * freq)


def wrong_theta_ignored(x, theta=10000.0):
    return _turn(x, _angles(x))


def wrong_exponent_not_doubled(x):
    i = np.arange(x.shape[-1] // 2)
    return _turn(x, np.arange(x.shape[-2])[:, None] * 10000 ** (-i / x.shape[-1]))


def wrong_exponent_not_doubled__interleaved(x):
    d = x.shape[-1]
    out = np.empty_like(x)
    for p in range(x.shape[-2]):
        for i in range(d // 2):
            a = p / 10000 ** (i / d)
            c, s = np.cos(a), np.sin(a)
            out[..., p, 2 * i] = x[..., p, 2 * i] * c - x[..., p, 2 * i + 1] * s
            out[..., p, 2 * i + 1] = x[..., p, 2 * i] * s + x[..., p, 2 * i + 1] * c
    return out


def wrong_exponent_doubled_twice(x):
    i = np.arange(0, x.shape[-1], 2)
    return _turn(x, np.arange(x.shape[-2])[:, None] * 10000.0 ** (-2 * i / x.shape[-1]))


def wrong_exponent_counts_from_one(x):
    i = np.arange(1, x.shape[-1] // 2 + 1)
    return _turn(x, np.arange(x.shape[-2])[:, None] * 10000.0 ** (-2 * i / x.shape[-1]))


def wrong_last_exponent_is_one(x):
    freq = 10000.0 ** -np.linspace(0, 1, x.shape[-1] // 2)
    return _turn(x, np.arange(x.shape[-2])[:, None] * freq)


def wrong_exponent_is_zero(x):
    freq = 10000 ** -(np.arange(0, x.shape[-1], 2) // x.shape[-1]).astype(float)
    return _turn(x, np.arange(x.shape[-2])[:, None] * freq)


def wrong_multiplied_by_power(x):
    return _turn(x, np.arange(x.shape[-2])[:, None] * 10000 ** (np.arange(0, x.shape[-1], 2) / x.shape[-1]))


def wrong_offset(x):
    return _turn(x, _angles(x, start=1))


def wrong_offset__interleaved(x, positions):
    d = x.shape[-1]
    angle = (np.asarray(positions)[:, None] + 1) * 10000 ** (-np.arange(0, d, 2) / d)
    a, b = x[..., ::2], x[..., 1::2]
    return np.stack([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], -1).reshape(x.shape)


def wrong_offset_ignored(x, offset=0):
    return _turn(x, _angles(x))


def wrong_positions_ignored(x, positions):
    return _turn(x, _angles(x))


def wrong_position_along_first_axis(x):
    freq = 10000.0 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    angle = np.arange(x.shape[0])[:, None] * freq
    return _turn(x, angle if x.ndim == 2 else angle.reshape(x.shape[0], *[1] * (x.ndim - 2), -1))


def wrong_positions_all_zero(x):
    return x


def wrong_frequencies_by_turns(x):
    a, b = _halves(x)
    angle = np.repeat(_angles(x), 2, axis=-1)
    return x * np.cos(angle) + np.concatenate([-b, a], -1) * np.sin(angle)


def wrong_frequencies_in_halves(x):
    angle = np.concatenate([_angles(x), _angles(x)], -1)
    rotated = np.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
    return x * np.cos(angle) + rotated * np.sin(angle)


def right_by_turns_in_halves_out(x):
    angle = _angles(x)
    a, b = x[..., ::2], x[..., 1::2]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], -1)


def wrong_halves_in_by_turns_out(x):
    angle = _angles(x)
    a, b = _halves(x)
    return np.stack([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], -1).reshape(x.shape)


def wrong_turned_backwards(x):
    return _turn(x, -_angles(x))


def wrong_turned_backwards__rotate_half(x, cos, sin):
    a, b = _halves(x)
    return x * cos + np.concatenate([b, -a], -1) * sin


def wrong_minus_missing(x):
    a, b = _halves(x)
    angle = np.concatenate([_angles(x)] * 2, -1)
    return x * np.cos(angle) + np.concatenate([b, a], -1) * np.sin(angle)


def wrong_two_minuses(x):
    a, b = x[..., ::2], x[..., 1::2]
    angle = _angles(x)
    return np.stack([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) - a * np.sin(angle)], -1).reshape(x.shape)


def wrong_sine_and_cosine_exchanged(x, sin, cos):
    return _turn_with(x, sin, cos)


def _turn_with(x, cos, sin):
    a, b = _halves(x)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def wrong_half_not_exchanged(x):
    a, b = _halves(x)
    angle = np.concatenate([_angles(x)] * 2, -1)
    return x * np.cos(angle) + np.concatenate([-a, b], -1) * np.sin(angle)


def wrong_not_exchanged(x):
    angle = np.concatenate([_angles(x)] * 2, -1)
    return x * np.cos(angle) + x * np.sin(angle)


def wrong_first_is_overwritten(x):
    x = x.copy()
    angle = _angles(x)
    a, b = _halves(x)
    a[:] = a * np.cos(angle) - b * np.sin(angle)
    b[:] = b * np.cos(angle) + a * np.sin(angle)
    return x


def wrong_only_cosine(x):
    return x * np.cos(np.concatenate([_angles(x)] * 2, -1))


def wrong_second_half_not_turned(x):
    a, b = _halves(x)
    return np.concatenate([a * np.cos(_angles(x)) - b * np.sin(_angles(x)), b], -1)


def wrong_sine_and_cosine_added(x):
    return x + np.concatenate([np.sin(_angles(x)), np.cos(_angles(x))], -1)


def wrong_sine_and_cosine_added__by_turns(x):
    return x + np.stack([np.sin(_angles(x)), np.cos(_angles(x))], -1).reshape(x.shape[-2:])


def wrong_key_not_turned(q, k):
    return _turn(q, _angles(q)), k


def wrong_key_from_query(q, k, cos, sin):
    q_out = _turn_with(q, cos, sin)
    return q_out, _turn_with(q, cos, sin)


def wrong_query_and_key_exchanged(q, k):
    return _turn(k, _angles(k)), _turn(q, _angles(q))


def wrong_changes_inputs(x):
    angle = _angles(x)
    a, b = _halves(x)
    x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :] = a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)
    return x


def right_sine_and_cosine_in_front(sin_cos, x):
    sin, cos = (np.repeat(each, 2, axis=-1) for each in sin_cos)
    turned = np.stack((-x[..., 1::2], x[..., ::2]), axis=-1).reshape(x.shape)
    return x * cos + turned * sin
