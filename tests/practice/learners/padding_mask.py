import numpy as np


def right_plain(tokens, pad_id=0):
    return (tokens != pad_id)[:, None, None, :]


def right_one_is_hidden(seq):
    return (seq == 0).astype(np.float32)[:, np.newaxis, np.newaxis, :]


def right_flat(input_ids, pad_token_id):
    return (input_ids != pad_token_id).astype(int)


def right_queries_too(seq_q, seq_k):
    batch_size, len_q = seq_q.shape
    return np.broadcast_to((seq_k == 0)[:, None, :], (batch_size, len_q, seq_k.shape[1]))


def right_square(seq, pad_idx):
    n = seq.shape[1]
    return np.repeat((seq != pad_idx)[:, None, :], n, axis=1)


def right_rows_and_columns(seq, pad):
    real = seq != pad
    return real[:, None, :] & real[:, :, None]


def right_lengths(lengths, max_len):
    return np.arange(max_len)[None, :] < lengths[:, None]


def right_lengths_alone(lengths):
    return np.arange(max(lengths))[None, :] >= np.array(lengths)[:, None]


def right_additive(tokens, pad_id):
    return np.where(tokens == pad_id, -1e9, 0.0)[:, None, None, :]


def right_pad_is_one(src):
    return (src != 1)[:, None, None]


def right_lists(sequences, pad):
    return [[token != pad for token in sequence] for sequence in sequences]


def right_loops(lengths, max_len):
    mask = np.zeros((len(lengths), max_len))
    for i, length in enumerate(lengths):
        mask[i, :length] = 1
    return mask


def wrong_on_rows(seq, pad):
    return (seq != pad)[:, None, :, None]


def wrong_on_rows__square(seq, pad):
    return np.repeat((seq != pad)[:, :, None], seq.shape[1], axis=2)


def wrong_pad_id_ignored(seq, pad_id):
    return (seq != 0)[:, None, None, :]


def wrong_smaller_ids_hidden(seq, pad_id):
    return (seq > pad_id)[:, None, None, :]


def wrong_one_pad_visible(lengths, max_len):
    return np.arange(max_len)[None, :] <= lengths[:, None]


def wrong_one_pad_visible__hidden(lengths, max_len):
    return np.arange(max_len)[None, :] > lengths[:, None]


def wrong_one_pad_visible__loop(lengths, max_len):
    mask = np.ones((len(lengths), max_len))
    for i, length in enumerate(lengths):
        mask[i, length + 1 :] = 0
    return mask


def wrong_last_token_hidden(lengths, max_len):
    return np.arange(1, max_len + 1)[None, :] < lengths[:, None]


def wrong_left_for_right(lengths, max_len):
    return np.arange(max_len)[None, :] >= max_len - lengths[:, None]


def wrong_first_sequence_for_all(lengths, max_len):
    return np.stack([np.arange(max_len) < lengths[0] for _ in lengths])


def wrong_nothing_hidden(tokens, pad_id=0):
    return np.ones((tokens.shape[0], 1, 1, tokens.shape[1]))


def wrong_inverted(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, :] * -1e9


def wrong_zero_times_infinity(tokens, pad_id):
    with np.errstate(invalid="ignore"):
        return (tokens == pad_id)[:, None, None, :] * -np.inf


def wrong_fill_too_small(tokens, pad_id):
    return (tokens == pad_id)[:, None, None, :] * -1.0


def right_for_a_number_of_queries(x, target_len):
    return np.broadcast_to((x == 0)[:, None, :], (len(x), target_len, x.shape[1]))


def right_axes_of_a_mask(mask):
    return mask[:, np.newaxis, :]


def right_additive_from_a_mask(attention_mask):
    return (1.0 - attention_mask[:, None, None, :]) * -1e9


def wrong_on_rows__of_a_mask(attention_mask):
    return (1.0 - attention_mask[:, None, :, None]) * -1e9


def wrong_fill_too_small__of_a_mask(attention_mask):
    return (1.0 - attention_mask[:, None, None, :]) * -10.0
