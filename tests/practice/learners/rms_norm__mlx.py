import mlx.core as mx


class Right_tiny_llm:  # noqa: N801
    def __init__(self, dim: int, weight: mx.array, eps: float = 1e-5):
        self.dim = dim
        self.weight = weight.astype(mx.float32)
        self.eps = eps

    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        return (self.weight * wide * mx.rsqrt(mx.mean(mx.square(wide), axis=-1, keepdims=True) + self.eps)).astype(x.dtype)


def wrong_no_keepdims(x: mx.array, weight: mx.array, eps: float = 1e-5) -> mx.array:
    return x * mx.rsqrt(mx.mean(x * x, axis=-1) + eps) * weight
