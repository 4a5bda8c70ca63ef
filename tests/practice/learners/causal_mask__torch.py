import torch


def right_square_subsequent(sz):
    mask = (torch.triu(torch.ones(sz, sz)) == 1).transpose(0, 1)
    return mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, 0.0)


def right_on_a_device(seq_len, device):
    return torch.tril(torch.ones(seq_len, seq_len, device=device)).view(1, 1, seq_len, seq_len)


def right_subsequent_of_tokens(seq):
    _, len_s = seq.size()
    return (1 - torch.triu(torch.ones((1, len_s, len_s), device=seq.device), diagonal=1)).bool()


def right_make_trg_mask(trg):
    n, trg_len = trg.shape
    return torch.tril(torch.ones((trg_len, trg_len))).expand(n, 1, trg_len, trg_len)


def right_of_embeddings(x):
    batch, tokens, width = x.shape
    return torch.triu(torch.ones(tokens, tokens), diagonal=1).bool()


def right_of_scores(attn_scores):
    q, k = attn_scores.size(-2), attn_scores.size(-1)
    return torch.ones(q, k, dtype=torch.bool).tril(diagonal=k - q)


def right_make_trg_mask_padded(trg, pad_idx):
    pad = (trg != pad_idx).unsqueeze(1).unsqueeze(2)
    return pad & torch.tril(torch.ones((trg.size(1), trg.size(1)))).bool()


def right_smallest_number(seq_len: int, past: int, dtype: torch.dtype) -> torch.Tensor:
    mask = torch.full((seq_len, seq_len + past), torch.finfo(dtype).min, dtype=dtype)
    return torch.triu(mask, diagonal=past + 1)


def wrong_diagonal_hidden(sz):
    return torch.triu(torch.ones(sz, sz), diagonal=0).bool()


def wrong_one_later_visible(seq):
    return torch.tril(torch.ones(seq.size(1), seq.size(1)), diagonal=1)


def wrong_upper_triangle_kept(sz):
    mask = torch.triu(torch.ones(sz, sz)) == 1
    return mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, 0.0)


def wrong_inverted(sz):
    mask = torch.tril(torch.ones(sz, sz))
    return torch.zeros(sz, sz).masked_fill(mask == 1, float("-inf"))


def wrong_aligned_top_left(seq_len, past_len):
    return torch.triu(torch.full((seq_len, past_len + seq_len), float("-inf")), diagonal=1)
