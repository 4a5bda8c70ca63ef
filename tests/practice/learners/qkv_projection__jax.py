import jax.numpy as jnp


def right_dots(x, w_q, w_k, w_v):
    return jnp.dot(x, w_q), jnp.dot(x, w_k), jnp.dot(x, w_v)


def right_einsum(x, w_q, w_k, w_v):
    return tuple(jnp.einsum("...d,de->...e", x, w) for w in (w_q, w_k, w_v))


def wrong_key_from_the_query_projection(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_q, x @ w_v
