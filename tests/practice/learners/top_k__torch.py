# ruff: noqa: RUF059

import torch


def right_in_generate(logits, top_k):
    v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
    logits = logits.clone()
    logits[logits < v[..., [-1]]] = -float("Inf")
    return logits


def right_where(logits, top_k):
    top_logits, _ = torch.topk(logits, top_k)
    return torch.where(logits < top_logits[..., -1:], torch.tensor(float("-inf")).to(logits.device), logits)


def right_rows_only(logits, k):
    top_logits, _ = torch.topk(logits, k)
    min_val = top_logits[:, -1]
    return torch.where(logits < min_val[:, None], torch.tensor(float("-inf")), logits)


def right_scatter(logits, k):
    values, ids = logits.topk(k, dim=-1)
    return torch.full_like(logits, float("-inf")).scatter(-1, ids, values)


def right_draws(logits, k, temperature=1.0):
    values, ids = torch.topk(logits / temperature, k)
    drawn = torch.multinomial(torch.softmax(values, dim=-1), num_samples=1)
    return ids.gather(-1, drawn)


def wrong_sorted_not_put_back(logits, k):
    values, ids = torch.topk(logits, k)
    return torch.multinomial(torch.softmax(values, dim=-1), num_samples=1)


def right_writes_into_logits(logits, top_k):
    v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
    logits[logits < v[..., [-1]]] = -float("Inf")
    return logits


def wrong_threshold_of_the_first_row(logits, top_k):
    v, _ = torch.topk(logits, top_k)
    kth = v[0, -1] if v.dim() == 2 else v[-1]
    return logits.masked_fill(logits < kth, float("-inf"))
