import mlx.core as mx


def right_plain(
    x: mx.array, g: mx.array, m: mx.array, v: mx.array, t: int, lr: float, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
):
    m = (1 - b1) * g + b1 * m
    v = (1 - b2) * mx.square(g) + b2 * v
    return x - lr * (m / (1 - b1**t)) / (mx.sqrt(v / (1 - b2**t)) + eps), m, v


def wrong_no_bias_correction(x: mx.array, g: mx.array, m: mx.array, v: mx.array, t: int, lr: float, b1: float = 0.9, b2: float = 0.999):
    m, v = (1 - b1) * g + b1 * m, (1 - b2) * mx.square(g) + b2 * v
    return x - lr * m / (mx.sqrt(v) + 1e-8), m, v
