import mlx.core as mx


def right_shifted(x: mx.array, axis: int = -1) -> mx.array:
    e = mx.exp(x - mx.max(x, axis=axis, keepdims=True))
    return e / mx.sum(e, axis=axis, keepdims=True)


def wrong_no_shift(x: mx.array) -> mx.array:
    e = mx.exp(x)
    return e / mx.sum(e, axis=-1, keepdims=True)


def wrong_sums_everything(x: mx.array) -> mx.array:
    e = mx.exp(x - mx.max(x, axis=-1, keepdims=True))
    return e / mx.sum(e)
