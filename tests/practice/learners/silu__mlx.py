import mlx.core as mx


def right_sigmoid(x: mx.array) -> mx.array:
    return x * mx.sigmoid(x)


def right_quotient(x: mx.array) -> mx.array:
    return x / (1 + mx.exp(-x))


def wrong_exponent_sign(x: mx.array) -> mx.array:
    return x / (1 + mx.exp(x))
