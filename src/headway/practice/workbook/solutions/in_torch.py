"""GPT-2 in PyTorch, part by part, as shown by `headway practice solution`."""
# ruff: noqa: D103
# mypy: ignore-errors

import torch


def softmax(x, *, axis=-1):
    weights = torch.exp(x - x.amax(dim=axis, keepdim=True))
    return weights / weights.sum(dim=axis, keepdim=True)


def linear(x, weight, bias=None):
    product = x @ weight.T
    return product if bias is None else product + bias


def embed(token_ids, table):
    return table[token_ids]


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


def learned_positions(positions, table):
    return table[positions]


def feed_forward(x, up_weight, up_bias, down_weight, down_bias):
    hidden = gelu(linear(x, up_weight, up_bias))
    return linear(hidden, down_weight, down_bias)


def transformer_block(x, mlp, attn, ln_1, ln_2, num_heads):
    x = x + multi_head_attention(layer_norm(x, ln_1["g"], ln_1["b"]), **attn, num_heads=num_heads)
    up, down = mlp["c_fc"], mlp["c_proj"]
    return x + feed_forward(layer_norm(x, ln_2["g"], ln_2["b"]), up["w"].T, up["b"], down["w"].T, down["b"])


def gpt2(token_ids, wte, wpe, blocks, ln_f, num_heads):
    x = embed(token_ids, wte) + learned_positions(torch.arange(len(token_ids)), wpe)
    for block in blocks:
        x = transformer_block(x, **block, num_heads=num_heads)
    return linear(layer_norm(x, ln_f["g"], ln_f["b"]), wte)


def generate(model, prompt, max_new_tokens, context_size):
    token_ids = list(prompt)
    for _ in range(max_new_tokens):
        logits = model(torch.tensor(token_ids[-context_size:]))
        token_ids.append(int(logits[-1].argmax()))
    return token_ids


def story(prompt, weights, num_heads, max_new_tokens, context_size):
    def model(token_ids):
        return gpt2(token_ids, **weights, num_heads=num_heads)

    return generate(model, prompt, max_new_tokens, context_size)
