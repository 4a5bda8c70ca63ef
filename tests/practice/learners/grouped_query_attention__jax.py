import jax
import jax.numpy as jnp


def right_repeated(query, key, value):
    n = query.shape[1] // key.shape[1]
    k, v = jnp.repeat(key, n, axis=1), jnp.repeat(value, n, axis=1)
    return jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", query, k) / jnp.sqrt(query.shape[-1])) @ v


def wrong_tiled_not_repeated(query, key, value):
    n = query.shape[1] // key.shape[1]
    k, v = jnp.tile(key, (1, n, 1, 1)), jnp.tile(value, (1, n, 1, 1))
    return jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", query, k) / jnp.sqrt(query.shape[-1])) @ v
