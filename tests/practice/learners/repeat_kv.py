import numpy as np


def right_repeat(x, n_rep):
    return np.repeat(x, n_rep, axis=1)


def right_as_in_transformers(hidden_states, n_rep):
    batch, heads, length, width = hidden_states.shape
    if n_rep == 1:
        return hidden_states
    expanded = np.broadcast_to(hidden_states[:, :, None], (batch, heads, n_rep, length, width))
    return expanded.reshape(batch, heads * n_rep, length, width)


def right_as_in_llama(x, n_rep):
    batch, length, heads, width = x.shape
    expanded = np.broadcast_to(x[:, :, :, None], (batch, length, heads, n_rep, width))
    return expanded.reshape(batch, length, heads * n_rep, width)


def wrong_tiled(x, n_rep):
    return np.concatenate([x] * n_rep, axis=1)


def wrong_tiled__by_numpy(x, n_rep):
    return np.tile(x, (1, n_rep, 1, 1))


def wrong_features_repeated(x, n_rep):
    return np.repeat(x, n_rep, axis=-1)


def wrong_batch_repeated(x, n_rep):
    return np.repeat(x, n_rep, axis=0)


def wrong_positions_spread(x, n_rep):
    batch, heads, length, width = x.shape
    expanded = np.broadcast_to(x[:, :, :, None], (batch, heads, length, n_rep, width))
    return expanded.reshape(batch, heads * n_rep, length, width)


def wrong_once_more(x, n_rep):
    return np.repeat(x, n_rep + 1, axis=1)


def wrong_not_repeated(x, n_rep):
    return x
