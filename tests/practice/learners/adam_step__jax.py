import jax.numpy as jnp


def right_plain(x, g, m, v, t, lr, b1=0.9, b2=0.999, eps=1e-8):
    m = (1 - b1) * g + b1 * m
    v = (1 - b2) * jnp.square(g) + b2 * v
    return x - lr * (m / (1 - b1**t)) / (jnp.sqrt(v / (1 - b2**t)) + eps), m, v


def wrong_ascent(x, g, m, v, t, lr, b1=0.9, b2=0.999, eps=1e-8):
    m = (1 - b1) * g + b1 * m
    v = (1 - b2) * jnp.square(g) + b2 * v
    return x + lr * (m / (1 - b1**t)) / (jnp.sqrt(v / (1 - b2**t)) + eps), m, v
