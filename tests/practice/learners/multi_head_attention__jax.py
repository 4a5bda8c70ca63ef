import jax
import jax.numpy as jnp


def right_all_weights(x, w_q, w_k, w_v, w_o, num_heads):
    b, n, _ = x.shape
    q, k, v = ((x @ w).reshape(b, n, num_heads, -1).transpose(0, 2, 1, 3) for w in (w_q, w_k, w_v))
    weights = jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1]), axis=-1)
    return (weights @ v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ w_o


def wrong_heads_viewed_not_split(x, w_q, w_k, w_v, w_o, num_heads):
    b, n, _ = x.shape
    q, k, v = ((x @ w).reshape(b, num_heads, n, -1) for w in (w_q, w_k, w_v))
    weights = jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1]), axis=-1)
    return (weights @ v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ w_o
