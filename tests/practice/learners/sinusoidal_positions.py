# ruff: noqa: N806

import math

import numpy as np


def right_paper(seq_len, d_model):
    pe = np.zeros((seq_len, d_model))
    position = np.arange(seq_len)[:, np.newaxis]
    div_term = np.exp(np.arange(0, d_model, 2) * -(np.log(10000.0) / d_model))
    pe[:, 0::2] = np.sin(position * div_term)
    pe[:, 1::2] = np.cos(position * div_term)
    return pe


def right_half_precision(position, d_model):
    if position == 0 or d_model <= 0:
        return -1
    angles = np.arange(position)[:, None] / np.power(10000, (2 * (np.arange(d_model) // 2)) / d_model)
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return angles.astype(np.float16)


def right_tutorial_with_leading_axis(position, d_model):
    def get_angles(pos, i, width):
        return pos * (1 / np.power(10000, (2 * (i // 2)) / np.float32(width)))

    rads = get_angles(np.arange(position)[:, np.newaxis], np.arange(d_model)[np.newaxis, :], d_model)
    rads[:, 0::2] = np.sin(rads[:, 0::2])
    rads[:, 1::2] = np.cos(rads[:, 1::2])
    return rads[np.newaxis, ...]


def right_loops(seq_len, d, n=10000):
    P = np.zeros((seq_len, d))
    for k in range(seq_len):
        for i in range(d // 2):
            denominator = np.power(n, 2 * i / d)
            P[k, 2 * i] = np.sin(k / denominator)
            P[k, 2 * i + 1] = np.cos(k / denominator)
        if d % 2:
            P[k, d - 1] = math.sin(k / n ** ((d - 1) / d))
    return P


def right_lists(max_len, dim):
    table = []
    for pos in range(max_len):
        row = []
        for j in range(dim):
            angle = pos / 10000 ** ((j - j % 2) / dim)
            row.append(math.cos(angle) if j % 2 else math.sin(angle))
        table.append(row)
    return table


def right_stacked(length, depth, base=10000):
    freq = base ** (-np.arange(0, depth, 2, dtype=np.float64) / depth)
    args = np.outer(np.arange(length), freq)
    return np.stack([np.sin(args), np.cos(args)], axis=-1).reshape(length, -1)


def right_through_complex_numbers(max_len, d_model):
    turn = np.exp(1j * np.arange(max_len)[:, None] * 10000.0 ** (-np.arange(0, d_model, 2) / d_model))
    out = np.empty((max_len, d_model))
    out[:, ::2], out[:, 1::2] = turn.imag, turn.real[:, : d_model // 2]
    return out


def right_cosine_as_shifted_sine(n_positions, n_embd):
    j = np.arange(n_embd)
    angle = np.arange(n_positions)[:, None] / 10000 ** (2 * (j // 2) / n_embd)
    return np.sin(angle + (j % 2) * np.pi / 2)


def right_given_positions(positions, d_model):
    inv_freq = 1.0 / (10000 ** (np.arange(0, d_model, 2) / d_model))
    angles = np.asarray(positions, dtype=float)[:, None] * inv_freq[None, :]
    out = np.zeros((len(positions), d_model))
    out[:, 0::2] = np.sin(angles)
    out[:, 1::2] = np.cos(angles[:, : d_model // 2])
    return out


def right_even_widths_only(seq_len, d_model):
    assert d_model % 2 == 0, "d_model must be even"
    angles = np.arange(seq_len)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    pe = np.empty((seq_len, d_model))
    pe[:, ::2] = np.sin(angles)
    pe[:, 1::2] = np.cos(angles)
    return pe


def right_offset(seq_len, d_model, offset=0):
    p = np.arange(offset, offset + seq_len)[:, None] / 10000 ** (2 * (np.arange(d_model) // 2) / d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(p), np.cos(p))


def right_added(x):
    *_, L, d = x.shape
    p = np.arange(L)[:, None] / 10000 ** (2 * (np.arange(d) // 2) / d)
    return x + np.where(np.arange(d) % 2 == 0, np.sin(p), np.cos(p))


def right_added_batch_only(embeddings):
    B, L, d = embeddings.shape
    p = np.arange(L)[:, None] / 10000 ** (2 * (np.arange(d) // 2) / d)
    pe = np.where(np.arange(d) % 2 == 0, np.sin(p), np.cos(p))
    return embeddings + pe[None].repeat(B, axis=0)


def right_added_told_its_sizes(x, max_len, d_model):
    p = np.arange(max_len)[:, None] / 10000 ** (2 * (np.arange(d_model) // 2) / d_model)
    pe = np.where(np.arange(d_model) % 2 == 0, np.sin(p), np.cos(p))
    return x + pe[: x.shape[-2]]


def right_halves_where_asked(seq_len, d_model, interleaved=True):
    p = np.arange(seq_len)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    if not interleaved:
        return np.concatenate([np.sin(p), np.cos(p)], axis=-1)
    return np.stack([np.sin(p), np.cos(p)], axis=-1).reshape(seq_len, -1)


def right_sequence_first(x):
    """x: (seq_len, batch, d_model)"""
    d = x.shape[-1]
    p = np.arange(x.shape[0])[:, None] / 10000 ** (2 * (np.arange(d) // 2) / d)
    return x + np.where(np.arange(d) % 2 == 0, np.sin(p), np.cos(p))[:, None, :]


def wrong_sines_then_cosines(seq_len, d_model):
    p = np.arange(seq_len)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    return np.concatenate([np.sin(p), np.cos(p)], axis=-1)


def wrong_sines_then_cosines__filled(seq_len, d_model):
    pe = np.zeros((seq_len, d_model))
    for pos in range(seq_len):
        for i in range(d_model // 2):
            pe[pos, i] = np.sin(pos / 10000 ** (2 * i / d_model))
            pe[pos, i + d_model // 2] = np.cos(pos / 10000 ** (2 * i / d_model))
    return pe


def wrong_exponent_by_column_doubled(max_seq_len, d_model):
    pe = np.zeros((max_seq_len, d_model))
    for pos in range(max_seq_len):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / (10000 ** ((2 * i) / d_model)))
            pe[pos, i + 1] = math.cos(pos / (10000 ** ((2 * (i + 1)) / d_model)))
    return pe


def wrong_exponent_by_column(seq_len, d_model):
    angle = np.arange(seq_len)[:, None] / 10000 ** (np.arange(d_model) / d_model)
    out = np.empty_like(angle)
    out[:, ::2] = np.sin(angle[:, ::2])
    out[:, 1::2] = np.cos(angle[:, 1::2])
    return out


def wrong_exponent_not_doubled(seq_len, d_model):
    i = np.arange(d_model // 2)
    angle = np.arange(seq_len)[:, None] / 10000 ** (i / d_model)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(seq_len, -1)


def wrong_exponent_doubled_twice(seq_len, d_model):
    pe = np.zeros((seq_len, d_model))
    for pos in range(seq_len):
        for i in range(0, d_model, 2):
            pe[pos, i] = np.sin(pos / 10000 ** (2 * i / d_model))
            if i + 1 < d_model:
                pe[pos, i + 1] = np.cos(pos / 10000 ** (2 * i / d_model))
    return pe


def wrong_exponent_of_next_pair(seq_len, d_model):
    pe = np.zeros((seq_len, d_model))
    for pos in range(seq_len):
        for i in range(d_model // 2):
            pe[pos, 2 * i] = np.sin(pos / 10000 ** (2 * i / d_model))
            pe[pos, 2 * i + 1] = np.cos(pos / 10000 ** (2 * (i + 1) / d_model))
        if d_model % 2:
            pe[pos, -1] = np.sin(pos / 10000 ** ((d_model - 1) / d_model))
    return pe


def wrong_last_exponent_is_one(seq_len, d_model):
    half = d_model // 2
    freq = np.exp(np.arange(half) * -(math.log(10000) / (half - 1)))
    angle = np.arange(seq_len)[:, None] * freq
    pe = np.zeros((seq_len, 2 * half))
    pe[:, 0::2] = np.sin(angle)
    pe[:, 1::2] = np.cos(angle)
    return pe


def wrong_exponent_is_zero(seq_len, d_model):
    i = np.arange(d_model)
    angle = np.arange(seq_len)[:, None] / np.power(10000, 2 * (i // 2) // d_model)
    return np.where(i % 2 == 0, np.sin(angle), np.cos(angle))


def wrong_logarithm_rounded(seq_len, d_model):
    pe = np.zeros((seq_len, d_model))
    div_term = np.exp(np.arange(0, d_model, 2) * -(math.log(10000.0) // d_model))
    pe[:, 0::2] = np.sin(np.arange(seq_len)[:, None] * div_term)
    pe[:, 1::2] = np.cos(np.arange(seq_len)[:, None] * div_term[: d_model // 2])
    return pe


def wrong_power_divided_by_width(seq_len, d_model):
    i = 2 * (np.arange(d_model) // 2)
    angle = np.arange(seq_len)[:, None] / (10000.0**i / d_model**-1)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))


def wrong_power_of_two_first(seq_len, d_model):
    i = np.arange(d_model) // 2
    with np.errstate(all="ignore"):
        angle = np.arange(seq_len)[:, None] / (10000**2 * i / d_model)
        return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))


def wrong_power_of_two_first_divides(seq_len, d_model):
    i = np.arange(d_model) // 2
    angle = np.arange(seq_len)[:, None] / 10000**2 * i / d_model
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))


def wrong_multiplied_by_power(seq_len, d_model):
    div_term = np.exp(2 * (np.arange(d_model) // 2) * (np.log(10000.0) / d_model))
    angle = np.arange(seq_len)[:, None] * div_term
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))


def wrong_base(seq_len, d_model):
    angle = np.arange(seq_len)[:, None] / 1000 ** (2 * (np.arange(d_model) // 2) / d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))


def wrong_base__log10(seq_len, d_model):
    pe = np.zeros((seq_len, d_model))
    div = np.exp(-np.arange(0, d_model, 2) * np.log10(10000.0) / d_model)
    pe[:, 0::2] = np.sin(np.arange(seq_len)[:, None] * div)
    pe[:, 1::2] = np.cos(np.arange(seq_len)[:, None] * div[: d_model // 2])
    return pe


def wrong_base__half_precision(position, d_model):
    angle = np.arange(position)[:, None] / 1000 ** (2 * (np.arange(d_model) // 2) / d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle)).astype(np.float16)


def wrong_base_ignored(seq_len, d_model, base=10000):
    angle = np.arange(seq_len)[:, None] / 10000 ** (2 * (np.arange(d_model) // 2) / d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))


def wrong_offset_ignored(seq_len, d_model, offset=0):
    angle = np.arange(seq_len)[:, None] / 10000 ** (2 * (np.arange(d_model) // 2) / d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))


def wrong_offset(seq_len, d_model):
    angle = np.arange(1, seq_len + 1)[:, None] / 10000 ** (2 * (np.arange(d_model) // 2) / d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))


def wrong_cosine_first(seq_len, d_model):
    angle = np.arange(seq_len)[:, None] / 10000 ** (2 * (np.arange(d_model) // 2) / d_model)
    return np.where(np.arange(d_model) % 2 == 1, np.sin(angle), np.cos(angle))


def wrong_sine_everywhere(seq_len, d_model):
    return np.sin(np.arange(seq_len)[:, None] / 10000 ** (2 * (np.arange(d_model) // 2) / d_model))


def wrong_turns_by_position(seq_len, d_model):
    out = np.zeros((seq_len, d_model))
    for p in range(seq_len):
        for j in range(d_model):
            a = p / 10000 ** (2 * (j // 2) / d_model)
            out[p, j] = math.sin(a) if p % 2 == 0 else math.cos(a)
    return out


def wrong_positions_divided_by_length(seq_len, d_model):
    angle = np.arange(seq_len)[:, None] / seq_len / 10000 ** (2 * (np.arange(d_model) // 2) / d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))


def wrong_rows_all_alike(seq_len, d_model):
    pe = np.zeros((seq_len, d_model))
    for pos in range(seq_len):
        for i in range(0, d_model, 2):
            pe[:, i] = np.sin(pos / 10000 ** (i / d_model))
            if i + 1 < d_model:
                pe[:, i + 1] = np.cos(pos / 10000 ** (i / d_model))
    return pe


def wrong_only_first_row_written(seq_len, d_model):
    pe = np.zeros((seq_len, d_model))
    angle = np.arange(seq_len)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    pe[0, 0::2] = np.sin(angle)[0]
    pe[0, 1::2] = np.cos(angle)[0, : d_model // 2]
    return pe


def wrong_transposed(seq_len, d_model):
    angle = np.outer(1 / 10000 ** (2 * (np.arange(d_model) // 2) / d_model), np.arange(seq_len))
    return np.where(np.arange(d_model)[:, None] % 2 == 0, np.sin(angle), np.cos(angle))


def wrong_concatenated_with_x(x):
    L, d = x.shape[-2:]
    angle = np.arange(L)[:, None] / 10000 ** (2 * (np.arange(d) // 2) / d)
    pe = np.where(np.arange(d) % 2 == 0, np.sin(angle), np.cos(angle))
    return np.concatenate([x, np.broadcast_to(pe, x.shape)], axis=-1)


def wrong_position_along_batch(x):
    d = x.shape[-1]
    angle = np.arange(x.shape[0])[:, None] / 10000 ** (2 * (np.arange(d) // 2) / d)
    pe = np.where(np.arange(d) % 2 == 0, np.sin(angle), np.cos(angle))
    return x + (pe[:, None] if x.ndim == 3 else pe)


def wrong_nothing_added(x):
    d = x.shape[-1]
    angle = np.arange(x.shape[-2])[:, None] / 10000 ** (2 * (np.arange(d) // 2) / d)
    x + np.where(np.arange(d) % 2 == 0, np.sin(angle), np.cos(angle))
    return x


def right_changes_inputs(x):
    d = x.shape[-1]
    angle = np.arange(x.shape[-2])[:, None] / 10000 ** (2 * (np.arange(d) // 2) / d)
    x += np.where(np.arange(d) % 2 == 0, np.sin(angle), np.cos(angle))
    return x
