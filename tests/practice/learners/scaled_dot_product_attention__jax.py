import jax
import jax.numpy as jnp


def right_plain(q, k, v, mask=None):
    s = jnp.einsum("...qd,...kd->...qk", q, k) / jnp.sqrt(q.shape[-1])
    if mask is not None:
        s = jnp.where(mask, s, -jnp.inf)
    return jax.nn.softmax(s, axis=-1) @ v


@jax.jit
def right_compiled(q, k, v):
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5) @ v


def right_over_the_batch(Q, K, V):
    def single(q, k, v):
        return jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1]), axis=-1) @ v

    for _ in range(Q.ndim - 2):
        single = jax.vmap(single)
    return single(Q, K, V)


def wrong_scale(q, k, v):
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(k.shape[-2]), axis=-1) @ v


def wrong_softmax_over_queries(q, k, v):
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1]), axis=-2) @ v
