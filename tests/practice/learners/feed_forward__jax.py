import jax


def right_gelu(x, w1, b1, w2, b2):
    return jax.nn.gelu(x @ w1 + b1) @ w2 + b2


def wrong_up_bias_missing(x, w1, b1, w2, b2):
    return jax.nn.relu(x @ w1) @ w2 + b2
