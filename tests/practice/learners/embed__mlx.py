import mlx.core as mx


class Right_tiny_llm:  # noqa: N801
    def __init__(self, vocab_size: int, embedding_dim: int, weight: mx.array):
        self.weight = weight

    def __call__(self, x: mx.array) -> mx.array:
        return self.weight[x, :]


def wrong_averaged(x: mx.array, weight: mx.array) -> mx.array:
    return weight[x].mean(axis=-2)
