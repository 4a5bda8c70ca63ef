import torch


def right_make_src_mask(src, src_pad_idx):
    return (src != src_pad_idx).unsqueeze(1).unsqueeze(2)


def right_get_pad_mask(seq, pad_idx):
    return (seq != pad_idx).unsqueeze(-2)


def right_get_attn_pad_mask(seq_q, seq_k):
    batch_size, len_q = seq_q.size()
    batch_size, len_k = seq_k.size()
    pad_attn_mask = seq_k.data.eq(0).unsqueeze(1)
    return pad_attn_mask.expand(batch_size, len_q, len_k)


def right_lengths_to_mask(lengths, max_len=None):
    max_len = max_len or int(lengths.max())
    return torch.arange(max_len, device=lengths.device).expand(len(lengths), max_len) < lengths.unsqueeze(1)


def right_key_padding_mask(input_ids: torch.Tensor, pad_token_id: int, dtype: torch.dtype):
    mask = torch.zeros(input_ids.shape, dtype=dtype)
    return mask.masked_fill(input_ids == pad_token_id, torch.finfo(dtype).min)[:, None, None]


def right_queries_and_keys(q, k, pad):
    len_q, len_k = q.size(1), k.size(1)
    k = k.ne(pad).unsqueeze(1).unsqueeze(2).repeat(1, 1, len_q, 1)
    q = q.ne(pad).unsqueeze(1).unsqueeze(3).repeat(1, 1, 1, len_k)
    return k & q


def wrong_on_rows(src, src_pad_idx):
    return (src != src_pad_idx).unsqueeze(1).unsqueeze(3)


def wrong_one_pad_visible(lengths, max_len):
    return torch.arange(max_len).unsqueeze(0) <= lengths.unsqueeze(1)


def wrong_pad_id_ignored(src, src_pad_idx):
    return src.ne(0).unsqueeze(1).unsqueeze(2)


def wrong_inverted(seq, pad_idx):
    return torch.zeros(seq.shape).masked_fill(seq != pad_idx, float("-inf")).unsqueeze(1)
