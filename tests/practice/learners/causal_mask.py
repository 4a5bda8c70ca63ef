import numpy as np


def right_plain(n):
    return np.tril(np.ones((n, n), dtype=bool))


def right_zeros_and_ones(seq_len):
    return np.tril(np.ones((seq_len, seq_len)))


def right_subsequent(size):
    attn_shape = (1, size, size)
    subsequent_mask = np.triu(np.ones(attn_shape), k=1).astype("uint8")
    return subsequent_mask == 0


def right_look_ahead(size):
    return 1 - np.tril(np.ones((size, size)))


def right_additive(seq_len, dtype=np.float32):
    return np.triu(np.full((seq_len, seq_len), -np.inf, dtype), k=1)


def right_picogpt(n_seq):
    return (1 - np.tri(n_seq)) * -1e10


def right_ten_thousand(T):
    return np.where(np.tri(T) == 1, 0.0, -1e4)


def right_from_token_ids(seq):
    return np.triu(np.ones([seq.shape[0], seq.shape[1], seq.shape[1]]), k=1)


def right_four_axes(L, batch_size):
    return np.broadcast_to(np.tri(L, dtype=bool), (batch_size, 1, L, L))


def right_loops(n):
    return [[j <= i for j in range(n)] for i in range(n)]


def right_two_lengths(query_len, key_len):
    return np.arange(key_len)[None] <= np.arange(query_len)[:, None] + key_len - query_len


def right_top_left(tgt_len, src_len):
    return np.tril(np.ones((tgt_len, src_len), bool))


def right_start_pos(seqlen, start_pos=0):
    mask = np.triu(np.full((seqlen, seqlen), float("-inf")), k=1)
    return np.hstack([np.zeros((seqlen, start_pos)), mask])


def right_tokens_and_padding(tgt, pad):
    tgt_mask = (tgt != pad)[:, None, :]
    return tgt_mask & np.tril(np.ones((1, tgt.shape[-1], tgt.shape[-1]), bool))


def right_rows_of_padding_see_nothing(trg, trg_pad_idx):
    trg_pad_mask = (trg != trg_pad_idx)[:, None, :, None]
    return trg_pad_mask & np.tri(trg.shape[1], dtype=bool)


def wrong_diagonal_hidden(n):
    return np.tril(np.ones((n, n)), k=-1).astype(bool)


def wrong_diagonal_hidden__one_is_hidden(size):
    return np.triu(np.ones((size, size)))


def wrong_diagonal_hidden__additive(n):
    return np.triu(np.full((n, n), -np.inf))


def wrong_one_later_visible(n):
    return np.tril(np.ones((n, n)), k=1)


def wrong_one_later_visible__one_is_hidden(n):
    return np.triu(np.ones((n, n)), k=2) == 1


def wrong_nothing_hidden(n):
    return np.ones((n, n), bool)


def wrong_inverted(n):
    return np.where(np.tri(n) == 1, -1e9, 0.0)


def wrong_inverted__times(n):
    return np.tri(n) * -1e9


def wrong_upper_triangle_kept(n):
    return np.tril(np.full((n, n), -np.inf), k=-1)


def right_of_the_shape_of_the_ids(input_ids_shape, dtype, past_key_values_length=0):
    batch, length = input_ids_shape
    mask = np.triu(np.full((length, length), np.finfo(dtype).min, dtype), k=1)
    mask = np.concatenate([np.zeros((length, past_key_values_length), dtype), mask], axis=1)
    return np.broadcast_to(mask, (batch, 1, *mask.shape))


def wrong_one_later_visible__shape(input_ids_shape, dtype):
    batch, length = input_ids_shape
    return np.broadcast_to(np.triu(np.full((length, length), -1e9, dtype), k=2), (batch, 1, length, length))


def wrong_zero_times_infinity(n):
    with np.errstate(invalid="ignore"):
        return (1 - np.tri(n)) * -np.inf


def wrong_zero_times_infinity__inverted(n):
    with np.errstate(invalid="ignore"):
        return np.tri(n) * -np.inf


def wrong_fill_too_small(n):
    return np.tri(n) - 1


def wrong_fill_too_small__hundred(n):
    return np.where(np.tri(n) == 0, -100.0, 0.0)


def wrong_fill_too_small__exponent(n):
    return (1 - np.tri(n)) * 1e-9


def wrong_aligned_top_left(seqlen, start_pos):
    return np.where(np.tri(seqlen, start_pos + seqlen), 0.0, -np.inf)


def wrong_cache_hidden(seqlen, start_pos):
    mask = np.triu(np.full((seqlen, seqlen), float("-inf")), k=1)
    return np.hstack([np.full((seqlen, start_pos), float("-inf")), mask])


def wrong_cache_left_out(seqlen, start_pos):
    return np.triu(np.full((seqlen, seqlen), float("-inf")), k=1)


def wrong_nothing_hidden__joined_by_or(tgt, pad):
    return (tgt != pad)[:, None, :] | np.tri(tgt.shape[-1], dtype=bool)
