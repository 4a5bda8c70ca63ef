import mlx.core as mx


def right_logsumexp(x: mx.array) -> mx.array:
    return x - mx.logsumexp(x, axis=-1, keepdims=True)


def wrong_logarithm_of_softmax(x: mx.array) -> mx.array:
    return mx.log(mx.softmax(x, axis=-1))
