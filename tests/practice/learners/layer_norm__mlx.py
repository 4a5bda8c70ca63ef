import mlx.core as mx


class Right_plain_class:  # noqa: N801
    def __init__(self, dim: int, weight: mx.array, bias: mx.array, eps: float = 1e-5):
        self.dim, self.weight, self.bias, self.eps = dim, weight, bias, eps

    def __call__(self, x: mx.array) -> mx.array:
        mean = mx.mean(x, axis=-1, keepdims=True)
        var = mx.var(x, axis=-1, keepdims=True)
        return (x - mean) * mx.rsqrt(var + self.eps) * self.weight + self.bias


def right_fast(x: mx.array, weight: mx.array, bias: mx.array) -> mx.array:
    return mx.fast.layer_norm(x, weight, bias, 1e-6)


def wrong_weight_missing(x: mx.array, weight: mx.array, bias: mx.array) -> mx.array:
    return mx.fast.layer_norm(x, None, bias, 1e-5)
