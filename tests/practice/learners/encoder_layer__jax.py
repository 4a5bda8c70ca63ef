import jax
import jax.numpy as jnp


def layer_norm(x, gamma, beta, eps=1e-6):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return gamma * (x - mean) / jnp.sqrt(var + eps) + beta


def attention(x, W_q, W_k, W_v, W_o, num_heads, mask=None):
    def heads(t):
        return jnp.moveaxis(t.reshape(*t.shape[:-1], num_heads, -1), -2, -3)

    q, k, v = heads(x @ W_q), heads(x @ W_k), heads(x @ W_v)
    scores = q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1])
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    out = jnp.moveaxis(jax.nn.softmax(scores, axis=-1) @ v, -3, -2)
    return out.reshape(*out.shape[:-2], -1) @ W_o


def right_post_norm(x, W_q, W_k, W_v, W_o, W1, b1, W2, b2, gamma1, beta1, gamma2, beta2, num_heads, mask=None):
    x = layer_norm(x + attention(x, W_q, W_k, W_v, W_o, num_heads, mask), gamma1, beta1)
    return layer_norm(x + jax.nn.relu(x @ W1 + b1) @ W2 + b2, gamma2, beta2)


def right_params(params, x, num_heads, mask=None):
    attn, ff, ln1, ln2 = params["attn"], params["ff"], params["ln1"], params["ln2"]
    h = layer_norm(x, ln1["gamma"], ln1["beta"])
    x = x + attention(h, attn["W_q"], attn["W_k"], attn["W_v"], attn["W_o"], num_heads, mask)
    h = layer_norm(x, ln2["gamma"], ln2["beta"])
    return x + jax.nn.gelu(h @ ff["W1"] + ff["b1"]) @ ff["W2"] + ff["b2"]


def wrong_residual_2_missing(x, W_q, W_k, W_v, W_o, W1, b1, W2, b2, gamma1, beta1, gamma2, beta2, num_heads, mask=None):
    x = layer_norm(x + attention(x, W_q, W_k, W_v, W_o, num_heads, mask), gamma1, beta1)
    return layer_norm(jax.nn.relu(x @ W1 + b1) @ W2 + b2, gamma2, beta2)


def wrong_norm_shared(params, x, num_heads, mask=None):
    attn, ff, ln1 = params["attn"], params["ff"], params["ln1"]
    h = layer_norm(x, ln1["gamma"], ln1["beta"])
    x = x + attention(h, attn["W_q"], attn["W_k"], attn["W_v"], attn["W_o"], num_heads, mask)
    h = layer_norm(x, ln1["gamma"], ln1["beta"])
    return x + jax.nn.gelu(h @ ff["W1"] + ff["b1"]) @ ff["W2"] + ff["b2"]


def init_layer(key, d_model, d_ff):
    keys = jax.random.split(key, 6)

    def matrix(key, rows, columns):
        return jax.random.normal(key, (rows, columns)) * rows**-0.5

    return {
        "attn": {name: matrix(k, d_model, d_model) for name, k in zip(("W_q", "W_k", "W_v", "W_o"), keys)},
        "ff": {"W1": matrix(keys[4], d_model, d_ff), "b1": jnp.zeros(d_ff), "W2": matrix(keys[5], d_ff, d_model), "b2": jnp.zeros(d_model)},
        "ln1": {"gamma": jnp.ones(d_model), "beta": jnp.zeros(d_model)},
        "ln2": {"gamma": jnp.ones(d_model), "beta": jnp.zeros(d_model)},
    }
