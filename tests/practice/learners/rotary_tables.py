import numpy as np


def _frequencies(dim, base=10000.0):
    return 1.0 / base ** (np.arange(0, dim, 2) / dim)


def right_cos_and_sin(head_dim, max_len, theta=10000.0):
    angles = np.outer(np.arange(max_len), _frequencies(head_dim, theta))
    return np.cos(angles), np.sin(angles)


def right_wide_halves(dim, seq_len, base=10000.0):
    angles = np.outer(np.arange(seq_len), _frequencies(dim, base))
    angles = np.concatenate([angles, angles], axis=-1)
    return np.cos(angles), np.sin(angles)


def right_wide_repeats(dim, seq_len, base=10000.0):
    angles = np.repeat(np.outer(np.arange(seq_len), _frequencies(dim, base)), 2, axis=-1)
    return np.cos(angles), np.sin(angles)


def right_complex(dim, end, theta=10000.0):
    return np.exp(1j * np.outer(np.arange(end), _frequencies(dim, theta)))


def right_angles(dim, end, theta=10000.0):
    return np.outer(np.arange(end), _frequencies(dim, theta))


def right_stacked(seq_len, n_elem, base=10000.0):
    angles = np.outer(np.arange(seq_len), _frequencies(n_elem, base))
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def right_with_axes_for_batch_and_heads(dim, seq_len):
    angles = np.outer(np.arange(seq_len), _frequencies(dim))
    return np.cos(angles)[None, :, None], np.sin(angles)[None, :, None]


def right_joined(dim, seq_len):
    angles = np.outer(np.arange(seq_len), _frequencies(dim))
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=-1)


def right_inverse_frequencies(dim, base=10000.0):
    return _frequencies(dim, base)


def right_inverse_frequencies__by_exponential(head_dim):
    return np.exp(-np.log(10000.0) * np.arange(head_dim // 2) * 2 / head_dim)


def right_of_positions(positions, dim, theta=10000.0):
    angles = positions[:, None] * _frequencies(dim, theta)
    return np.cos(angles), np.sin(angles)


def right_another_base_by_default(dim, max_len, theta=500000.0):
    angles = np.outer(np.arange(max_len), _frequencies(dim, theta))
    return np.cos(angles), np.sin(angles)


def wrong_exponent_not_doubled(dim, end, theta=10000.0):
    return np.exp(1j * np.outer(np.arange(end), 1.0 / theta ** (np.arange(dim // 2) / dim)))


def wrong_exponent_doubled_twice(dim, base=10000.0):
    return 1.0 / base ** (2 * np.arange(0, dim, 2) / dim)


def wrong_last_exponent_is_one(dim, end):
    angles = np.outer(np.arange(end), 10000.0 ** -np.linspace(0, 1, dim // 2))
    return np.cos(angles), np.sin(angles)


def wrong_exponent_is_zero(dim, base=10000.0):
    return 1.0 / base ** (np.arange(0, dim, 2) // dim)


def wrong_multiplied_by_power(dim, base=10000.0):
    return base ** (np.arange(0, dim, 2) / dim)


def wrong_exponent_counts_from_one(dim, base=10000.0):
    return 1.0 / base ** (np.arange(2, dim + 2, 2) / dim)


def wrong_theta_ignored(dim, end, theta=10000.0):
    angles = np.outer(np.arange(end), _frequencies(dim))
    return np.cos(angles), np.sin(angles)


def wrong_theta(dim, end):
    angles = np.outer(np.arange(end), _frequencies(dim, 1000.0))
    return np.cos(angles), np.sin(angles)


def wrong_positions_summed(positions, dim, theta=10000.0):
    batch, _ = positions.shape
    angles = positions.T @ np.ones((batch, 1)) * _frequencies(dim, theta)
    return np.cos(angles), np.sin(angles)


def wrong_positions_from_one(dim, end):
    angles = np.outer(np.arange(1, end + 1), _frequencies(dim))
    return np.cos(angles), np.sin(angles)


def right_rounded_on_the_way(dim, end, theta=10000.0):
    rates = 1.0 / theta ** (np.arange(0, dim, 2).astype(np.float32) / dim)
    angles = np.outer(np.arange(end, dtype=np.float32), rates)
    return np.cos(angles).astype(float), np.sin(angles).astype(float)


def wrong_sine_and_cosine_exchanged(dim, end):
    angles = np.outer(np.arange(end), _frequencies(dim))
    cos, sin = np.sin(angles), np.cos(angles)
    return cos, sin


def wrong_sine_missing(dim, end):
    angles = np.outer(np.arange(end), _frequencies(dim))
    return np.cos(angles), np.cos(angles)


def wrong_sine_negative(dim, end, theta=10000.0):
    return np.exp(-1j * np.outer(np.arange(end), _frequencies(dim, theta)))
