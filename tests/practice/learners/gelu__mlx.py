import math

import mlx.core as mx


def right_exact(x: mx.array) -> mx.array:
    return x * (1 + mx.erf(x / math.sqrt(2))) / 2


def wrong_one_missing(x: mx.array) -> mx.array:
    return x * mx.erf(x / math.sqrt(2)) / 2
