import jax.numpy as jnp


def right_plain(x, weight, eps=1e-6):
    return x / jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + eps) * weight


def wrong_weight_missing(x, weight, eps=1e-6):
    return x / jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + eps)
