# ruff: noqa: N806, RUF059
import numpy as np


def right_rows(positions, table):
    return table[positions]


def right_rows_by_one_hot(positions, weights):
    return np.eye(len(weights))[positions] @ weights


def right_how_many(seq_len, table):
    return table[:seq_len]


def right_gpt(inputs, wte, wpe):
    return wte[inputs] + wpe[range(len(inputs))]


def right_gpt_in_batches(x, wte, wpe):
    B, T = x.shape
    return wte[x] + wpe[np.arange(T)][None]


def right_added(x, wpe):
    return x + wpe[: x.shape[-2]]


def right_added_with_take(x, pos_table, start_pos=0):
    return x + np.take(pos_table, np.arange(start_pos, start_pos + x.shape[-2]), axis=0)


def right_loop(x, table):
    out = x.copy()
    for p in range(x.shape[-2]):
        out[..., p, :] += table[p]
    return out


def right_at_positions(x, table, positions):
    return x + table[positions]


def right_scaled(idx, wte, wpe):
    return wte[idx] * np.sqrt(wte.shape[1]) + wpe[: idx.shape[-1]]


def wrong_counted_from_one(x, table):
    return x + table[1 : x.shape[-2] + 1] if x.shape[-2] < len(table) else x + table[np.arange(1, x.shape[-2] + 1)]


def wrong_counted_from_one__tokens(ids, wte, wpe):
    return wte[ids] + wpe[np.arange(ids.shape[-1]) + 1]


def wrong_counted_backwards(x, table):
    return x + table[: x.shape[-2]][::-1]


def wrong_last_rows_taken(x, table):
    return x + table[-x.shape[-2] :]


def wrong_row_zero_for_all(x, table):
    return x + table[0]


def wrong_last_row_for_all(x, table):
    return x + table[x.shape[-2] - 1]


def wrong_positions_from_zero_always(positions, table):
    return table[: len(positions)]


def wrong_offset_ignored(x, table, offset=0):
    return x + table[: x.shape[-2]]


def wrong_token_ids_as_positions(token_ids, wte, wpe):
    return wte[token_ids] + wpe[token_ids]


def wrong_tables_exchanged(token_ids, wte, wpe):
    return wpe[token_ids]


def wrong_position_along_batch(x, table):
    rows = table[: x.shape[0]]
    return x + (rows[:, None, :] if x.ndim == 3 else rows)


def wrong_table_not_cropped(x, table):
    return x + table


def wrong_positions_not_added(x, table):
    return x


def wrong_positions_not_added__tokens(inputs, wte, wpe):
    return wte[inputs]


def wrong_x_not_added(idx, wte, wpe):
    return np.broadcast_to(wpe[: idx.shape[-1]], (*idx.shape, wpe.shape[1]))


def wrong_multiplied(x, table):
    return x * table[: x.shape[-2]]


def wrong_concatenated(x, table):
    return np.concatenate([x, np.broadcast_to(table[: x.shape[-2]], x.shape)], axis=-1)


class right_of_the_shape_of_tokens:
    def __init__(self, n_timesteps, embed_size):
        self.E = np.random.randn(n_timesteps, embed_size)

    def forward(self, x):
        B, T = x.shape
        return self.E[:T]
