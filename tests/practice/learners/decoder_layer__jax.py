import jax
import jax.numpy as jnp


def layer_norm(x, gamma, beta, eps=1e-6):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return gamma * (x - mean) / jnp.sqrt(var + eps) + beta


def attention(query, memory, W_q, W_k, W_v, W_o, num_heads, mask=None):
    def heads(t):
        return jnp.moveaxis(t.reshape(*t.shape[:-1], num_heads, -1), -2, -3)

    q, k, v = heads(query @ W_q), heads(memory @ W_k), heads(memory @ W_v)
    scores = q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1])
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    out = jnp.moveaxis(jax.nn.softmax(scores, axis=-1) @ v, -3, -2)
    return out.reshape(*out.shape[:-2], -1) @ W_o


def right_weights(
    x,
    enc_output,
    self_W_q,
    self_W_k,
    self_W_v,
    self_W_o,
    cross_W_q,
    cross_W_k,
    cross_W_v,
    cross_W_o,
    W1,
    b1,
    W2,
    b2,
    gamma1,
    beta1,
    gamma2,
    beta2,
    gamma3,
    beta3,
    num_heads,
    tgt_mask=None,
    src_mask=None,
):
    causal = jnp.tril(jnp.ones((x.shape[-2], x.shape[-2]), bool))
    tgt_mask = causal if tgt_mask is None else tgt_mask & causal
    x = layer_norm(x + attention(x, x, self_W_q, self_W_k, self_W_v, self_W_o, num_heads, tgt_mask), gamma1, beta1)
    x = layer_norm(x + attention(x, enc_output, cross_W_q, cross_W_k, cross_W_v, cross_W_o, num_heads, src_mask), gamma2, beta2)
    return layer_norm(x + jax.nn.relu(x @ W1 + b1) @ W2 + b2, gamma3, beta3)


def right_params(params, x, memory, num_heads, tgt_mask=None, memory_mask=None):
    h = layer_norm(x, **params["norm1"])
    x = x + attention(h, h, **params["self_attn"], num_heads=num_heads, mask=tgt_mask)
    h = layer_norm(x, **params["norm2"])
    x = x + attention(h, memory, **params["cross_attn"], num_heads=num_heads, mask=memory_mask)
    h = layer_norm(x, **params["norm3"])
    return x + jax.nn.relu(h @ params["ffn"]["W1"] + params["ffn"]["b1"]) @ params["ffn"]["W2"] + params["ffn"]["b2"]


def wrong_residual_from_input(
    x,
    enc_output,
    self_W_q,
    self_W_k,
    self_W_v,
    self_W_o,
    cross_W_q,
    cross_W_k,
    cross_W_v,
    cross_W_o,
    W1,
    b1,
    W2,
    b2,
    gamma1,
    beta1,
    gamma2,
    beta2,
    gamma3,
    beta3,
    num_heads,
    tgt_mask=None,
    src_mask=None,
):
    causal = jnp.tril(jnp.ones((x.shape[-2], x.shape[-2]), bool))
    tgt_mask = causal if tgt_mask is None else tgt_mask & causal
    h = layer_norm(x + attention(x, x, self_W_q, self_W_k, self_W_v, self_W_o, num_heads, tgt_mask), gamma1, beta1)
    h = layer_norm(x + attention(h, enc_output, cross_W_q, cross_W_k, cross_W_v, cross_W_o, num_heads, src_mask), gamma2, beta2)
    return layer_norm(x + jax.nn.relu(h @ W1 + b1) @ W2 + b2, gamma3, beta3)


def wrong_encoder_not_used(params, x, memory, num_heads, tgt_mask=None, memory_mask=None):
    h = layer_norm(x, **params["norm1"])
    x = x + attention(h, h, **params["self_attn"], num_heads=num_heads, mask=tgt_mask)
    h = layer_norm(x, **params["norm2"])
    x = x + attention(h, h, **params["cross_attn"], num_heads=num_heads)
    h = layer_norm(x, **params["norm3"])
    return x + jax.nn.relu(h @ params["ffn"]["W1"] + params["ffn"]["b1"]) @ params["ffn"]["W2"] + params["ffn"]["b2"]


def make_params(d_model, d_ff, seed=0):
    keys = iter(jax.random.split(jax.random.PRNGKey(seed), 12))

    def matrix(rows, columns):
        return jax.random.normal(next(keys), (rows, columns)) * rows**-0.5

    def norm():
        return {"gamma": jnp.ones(d_model), "beta": jnp.zeros(d_model)}

    def attn():
        return {name: matrix(d_model, d_model) for name in ("W_q", "W_k", "W_v", "W_o")}

    return {
        "self_attn": attn(),
        "cross_attn": attn(),
        "ffn": {"W1": matrix(d_model, d_ff), "b1": jnp.zeros(d_ff), "W2": matrix(d_ff, d_model), "b2": jnp.zeros(d_model)},
        "norm1": norm(),
        "norm2": norm(),
        "norm3": norm(),
    }
