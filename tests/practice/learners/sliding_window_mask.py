import numpy as np


def right_band(seq_len, window):
    i, j = np.arange(seq_len)[:, None], np.arange(seq_len)[None]
    return (j <= i) & (i - j < window)


def right_loop(n, window_size):
    mask = np.full((n, n), -np.inf)
    for i in range(n):
        mask[i, max(0, i - window_size + 1) : i + 1] = 0
    return mask


def right_triangles(size, w):
    return np.triu(np.tril(np.ones((size, size))), -w + 1)


def right_positions_before(seq_len, lookback):
    i, j = np.arange(seq_len)[:, None], np.arange(seq_len)[None]
    return (j <= i) & (i - j <= lookback)


def wrong_one_more_visible(seq_len, window):
    return np.triu(np.tril(np.ones((seq_len, seq_len))), -window)


def wrong_window_ignored(seq_len, window):
    return np.tril(np.ones((seq_len, seq_len), bool))


def wrong_later_visible(seq_len, window):
    return np.triu(np.ones((seq_len, seq_len), bool), 1 - window)


def wrong_diagonal_hidden(seq_len, window):
    return np.triu(np.tril(np.ones((seq_len, seq_len), bool), -1), 1 - window)


def wrong_both_sides(seq_len, window):
    i, j = np.arange(seq_len)[:, None], np.arange(seq_len)[None]
    return np.abs(i - j) < window
