import jax
import jax.numpy as jnp


def right_params(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1]), axis=-1) @ v


def right_projected(Q, K, V):
    return jax.nn.softmax(jnp.matmul(Q, K.T) / jnp.sqrt(K.shape[-1])) @ V


def wrong_scale(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2), axis=-1) @ v


def wrong_softmax_over_queries(Q, K, V):
    return jax.nn.softmax(Q @ K.T / jnp.sqrt(K.shape[-1]), axis=0) @ V
