import jax
import jax.numpy as jnp


def right_params(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    n = x.shape[-2]
    scores = q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1])
    return jax.nn.softmax(jnp.where(jnp.tri(n, dtype=bool), scores, -jnp.inf), axis=-1) @ v


def wrong_sees_one_ahead(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    n = x.shape[-2]
    scores = q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1])
    return jax.nn.softmax(jnp.where(jnp.tri(n, k=1, dtype=bool), scores, -jnp.inf), axis=-1) @ v
