import jax
import jax.numpy as jnp


def right_plain(x, gamma, beta, eps=1e-6):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    var = jnp.var(x, axis=-1, keepdims=True)
    return gamma * (x - mean) * jax.lax.rsqrt(var + eps) + beta


def wrong_variance_unbiased(x, gamma, beta, eps=1e-6):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    return gamma * (x - mean) / jnp.sqrt(jnp.var(x, axis=-1, ddof=1, keepdims=True) + eps) + beta
