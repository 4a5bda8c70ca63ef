import jax
import jax.numpy as jnp


def right_sigmoid(x):
    return x * jax.nn.sigmoid(x)


def wrong_tanh_for_sigmoid(x):
    return x * jnp.tanh(x)
