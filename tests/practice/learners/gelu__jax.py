import jax
import jax.numpy as jnp


def right_tanh(x):
    return 0.5 * x * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (x + 0.044715 * x**3)))


def right_exact(x):
    return x * jax.scipy.stats.norm.cdf(x)


def wrong_erf_without_root(x):
    return 0.5 * x * (1 + jax.scipy.special.erf(x))
