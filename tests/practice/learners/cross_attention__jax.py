import jax
import jax.numpy as jnp


def right_functions(x, context, w_q, w_k, w_v):
    q, k, v = x @ w_q, context @ w_k, context @ w_v
    return jax.nn.softmax(jnp.einsum("...qd,...kd->...qk", q, k) / jnp.sqrt(q.shape[-1])) @ v


def wrong_sequences_exchanged(x, context, w_q, w_k, w_v):
    q, k, v = context @ w_q, x @ w_k, x @ w_v
    return jax.nn.softmax(jnp.einsum("...qd,...kd->...qk", q, k) / jnp.sqrt(q.shape[-1])) @ v
