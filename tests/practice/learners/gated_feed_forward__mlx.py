import mlx.core as mx


def silu(x: mx.array) -> mx.array:
    return x * mx.sigmoid(x)


class Right_tiny_llm:  # noqa: N801
    def __init__(self, dim: int, hidden_dim: int, w_gate: mx.array, w_up: mx.array, w_down: mx.array):
        self.w_gate, self.w_up, self.w_down = w_gate, w_up, w_down

    def __call__(self, x: mx.array) -> mx.array:
        return (silu(x @ self.w_gate.T) * (x @ self.w_up.T)) @ self.w_down.T


def wrong_branches_added(x: mx.array, w_gate: mx.array, w_up: mx.array, w_down: mx.array) -> mx.array:
    return (silu(x @ w_gate.T) + (x @ w_up.T)) @ w_down.T
