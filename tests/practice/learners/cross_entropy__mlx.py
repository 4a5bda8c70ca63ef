import mlx.core as mx


def right_logsumexp(logits: mx.array, targets: mx.array) -> mx.array:
    picked = mx.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return mx.mean(mx.logsumexp(logits, axis=-1) - picked)


def wrong_sign_missing(logits: mx.array, targets: mx.array) -> mx.array:
    picked = mx.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return mx.mean(picked - mx.logsumexp(logits, axis=-1))
