"""The parts of GPT-2 that differ in PyTorch by more than the name of the library, as shown by `headway practice solution`."""
# ruff: noqa: D103
# mypy: ignore-errors

import torch

from headway.practice.workbook.solutions.in_numpy import linear


def softmax(x, *, axis=-1):
    weights = torch.exp(x - x.amax(dim=axis, keepdim=True))
    return weights / weights.sum(dim=axis, keepdim=True)


def gelu(x):
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


def layer_norm(x, weight=None, bias=None, *, eps=1e-5):
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = (centred**2).mean(dim=-1, keepdim=True)
    normed = centred / torch.sqrt(variance + eps)
    if weight is not None:
        normed = normed * weight
    return normed if bias is None else normed + bias


def scaled_dot_product_attention(query, key, value, mask=None, *, is_causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.transpose(-1, -2) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    if is_causal:
        query_len, key_len = scores.shape[-2:]
        allowed = torch.ones(query_len, key_len, dtype=torch.bool).tril(key_len - query_len)
        scores = scores.masked_fill(~allowed, -torch.inf)
    return softmax(scores) @ value


def multi_head_attention(x, c_attn, c_proj, num_heads):
    seq_len, n_embd = x.shape

    def split(part):
        return part.reshape(seq_len, num_heads, n_embd // num_heads).transpose(0, 1)

    query, key, value = linear(x, c_attn["w"].T, c_attn["b"]).chunk(3, dim=-1)
    heads = scaled_dot_product_attention(split(query), split(key), split(value), is_causal=True)
    merged = heads.transpose(0, 1).reshape(seq_len, n_embd)
    return linear(merged, c_proj["w"].T, c_proj["b"])


def generate(model, prompt, max_new_tokens, context_size):
    token_ids = list(prompt)
    for _ in range(max_new_tokens):
        logits = model(torch.tensor(token_ids[-context_size:]))
        token_ids.append(int(logits[-1].argmax()))
    return token_ids
