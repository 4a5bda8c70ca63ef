# ruff: noqa: B905, RET503

import numpy as np


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    exp_x = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exp_x / np.sum(exp_x, axis=-1, keepdims=True)


def layer_norm(x, g, b, eps: float = 1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return g * ((x - mean) / np.sqrt(variance + eps)) + b


def linear(x, w, b):
    return x @ w + b


def ffn(x, c_fc, c_proj):
    return linear(gelu(linear(x, **c_fc)), **c_proj)


def attention(q, k, v, mask):
    return softmax(q @ k.T / np.sqrt(q.shape[-1]) + mask) @ v


def mha(x, c_attn, c_proj, n_head):
    x = linear(x, **c_attn)
    qkv_heads = [np.split(part, n_head, axis=-1) for part in np.split(x, 3, axis=-1)]
    causal_mask = (1 - np.tri(x.shape[0], dtype=x.dtype)) * -1e10
    out_heads = [attention(q, k, v, causal_mask) for q, k, v in zip(*qkv_heads)]
    return linear(np.hstack(out_heads), **c_proj)


def transformer_block(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return x + ffn(layer_norm(x, **ln_2), **mlp)


def right_pico(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[range(len(inputs))]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
    x = layer_norm(x, **ln_f)
    return x @ wte.T


def right_with_a_loss(idx, wte, wpe, blocks, ln_f, n_head):
    return right_pico(idx, wte, wpe, blocks, ln_f, n_head), None


def wrong_positions_missing(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
    return layer_norm(x, **ln_f) @ wte.T


def wrong_positions_by_token_id(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[np.array(inputs) % len(wpe)]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
    return layer_norm(x, **ln_f) @ wte.T


def wrong_positions_from_one(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[range(1, len(inputs) + 1)]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
    return layer_norm(x, **ln_f) @ wte.T


def wrong_embedding_scaled(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] * np.sqrt(wte.shape[-1]) + wpe[: len(inputs)]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
    return layer_norm(x, **ln_f) @ wte.T


def wrong_only_last_block(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[range(len(inputs))]
    for block in blocks:
        h = transformer_block(x, **block, n_head=n_head)
    return layer_norm(h, **ln_f) @ wte.T


def wrong_only_first_block(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[range(len(inputs))]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
        return layer_norm(x, **ln_f) @ wte.T


def wrong_last_norm_missing(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[range(len(inputs))]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
    return x @ wte.T


def wrong_hidden_states_returned(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[range(len(inputs))]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
    return layer_norm(x, **ln_f)


def wrong_probabilities_returned(inputs, wte, wpe, blocks, ln_f, n_head):
    return softmax(right_pico(inputs, wte, wpe, blocks, ln_f, n_head))


def wrong_only_last_position_returned(inputs, wte, wpe, blocks, ln_f, n_head):
    return right_pico(inputs, wte, wpe, blocks, ln_f, n_head)[-1]


def wrong_in_parallel(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[range(len(inputs))]
    for block in blocks:
        a = mha(layer_norm(x, **block["ln_1"]), **block["attn"], n_head=n_head)
        x = x + a + ffn(layer_norm(x, **block["ln_2"]), **block["mlp"])
    return layer_norm(x, **ln_f) @ wte.T


def wrong_blocks_backwards(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[range(len(inputs))]
    for block in reversed(blocks):
        x = transformer_block(x, **block, n_head=n_head)
    return layer_norm(x, **ln_f) @ wte.T


def wrong_last_position_for_all(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[len(inputs) - 1]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
    return layer_norm(x, **ln_f) @ wte.T


def wrong_first_position_for_all(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[0]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
    return layer_norm(x, **ln_f) @ wte.T


def wrong_residual_around_blocks(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[range(len(inputs))]
    for block in blocks:
        x = x + transformer_block(x, **block, n_head=n_head)
    return layer_norm(x, **ln_f) @ wte.T
