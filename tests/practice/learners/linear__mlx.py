import mlx.core as mx


def right_tiny_llm(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
    if bias is not None:
        return mx.matmul(x, w.T) + bias
    return mx.matmul(x, w.T)


def wrong_bias_missing(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
    return mx.matmul(x, w.T)
