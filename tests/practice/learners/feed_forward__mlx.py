import mlx.core as mx


def right_relu(x: mx.array, w1: mx.array, b1: mx.array, w2: mx.array, b2: mx.array) -> mx.array:
    return mx.maximum(x @ w1.T + b1, 0) @ w2.T + b2


def wrong_activation_missing(x: mx.array, w1: mx.array, w2: mx.array) -> mx.array:
    return (x @ w1.T) @ w2.T
