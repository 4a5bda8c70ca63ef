import numpy as np


def right_indexing(token_ids, table):
    return table[token_ids]


def right_take(ids, weight):
    return np.take(weight, ids, axis=0)


def right_one_hot(ids, E):
    return np.eye(E.shape[0])[ids] @ E


def right_loop(tokens, emb):
    out = np.zeros((len(tokens), emb.shape[1]))
    for i, t in enumerate(tokens):
        out[i] = emb[t]
    return out


def right_lists(tokens, table):
    return [table[t] for t in tokens]


def right_scaled(x, w):
    return w[x] * np.sqrt(w.shape[1])


def right_run_embedding(vocab_size, d_model, weights, token_ids):
    return weights[token_ids]


class Right_plain_class:  # noqa: N801
    def __init__(self, vocab_size, dim):
        self.table = np.random.randn(vocab_size, dim) * 0.02

    def forward(self, ids):
        return self.table[ids]


def wrong_axes_exchanged(ids, table):
    return table[ids.T]


def wrong_columns_taken(ids, table):
    return table.T[ids]


def wrong_columns_taken_as_they_lie(ids, table):
    return np.take(table, ids, axis=1)


def wrong_ids_counted_from_one(ids, table):
    return table[np.asarray(ids) - 1]


def wrong_one_row_too_far(ids, table):
    return np.take(table, ids + 1, axis=0, mode="wrap")


def wrong_next_row(ids, table):
    return table[ids + 1]


def wrong_positions_for_ids(ids, table):
    return np.stack([table[i] for i, _ in enumerate(ids)])


def wrong_flattened(ids, table):
    return table[np.asarray(ids).ravel()]


def wrong_one_hot_too_narrow(ids, table):
    one_hot = np.zeros((ids.size, ids.max() + 1))
    one_hot[np.arange(ids.size), ids.ravel()] = 1
    return (one_hot @ table).reshape(*ids.shape, -1)


def wrong_one_hot_returned(ids, table):
    return np.eye(len(table))[ids]


def wrong_averaged(ids, table):
    return table[ids].mean(axis=-2)


def wrong_summed(ids, table):
    return np.bincount(ids, minlength=len(table)) @ table


def wrong_row_zero_is_zeros(ids, table):
    return table[ids] * (ids != 0)[..., None]


def wrong_normalised(ids, table):
    v = table[ids]
    return v / np.sqrt((v**2).sum(-1, keepdims=True))


def wrong_repeats_left_out(ids, table):
    return np.array([table[i] for i in dict.fromkeys(ids.tolist())])


def wrong_scale(ids, table):
    return table[ids] * np.sqrt(table.shape[0])


def wrong_scale__divided(ids, table):
    return table[ids] / np.sqrt(table.shape[1])


def wrong_not_repeatable(token_ids, vocab_size=7, dim=5):
    table = np.random.randn(vocab_size, dim)
    return table[token_ids]


def wrong_changes_inputs(ids, table):
    table /= 2
    return 2 * table[ids]


class Right_sizes_as_in_keras:  # noqa: N801
    def __init__(self, input_dim, output_dim):
        self.weights = np.random.normal(0, input_dim**-0.5, (input_dim, output_dim))

    def forward(self, ids):
        return np.eye(len(self.weights))[ids] @ self.weights
