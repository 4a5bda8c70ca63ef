import math

import numpy as np


class Norm:
    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * self.weight


class Attention:
    def __init__(self, q_weight, k_weight, v_weight, o_weight, args):
        self.q_weight, self.k_weight, self.v_weight, self.o_weight = q_weight.T, k_weight.T, v_weight.T, o_weight.T
        self.n_heads = args.n_heads

    def __call__(self, x, mask):
        batch, length, width = x.shape
        split = lambda y: y.reshape(batch, length, self.n_heads, -1).transpose(0, 2, 1, 3)
        q, k, v = split(x @ self.q_weight), split(x @ self.k_weight), split(x @ self.v_weight)
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(width // self.n_heads)
        if mask is not None:
            scores = scores + mask
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = weights / weights.sum(-1, keepdims=True) @ v
        return mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ self.o_weight


class FeedForward:
    def __init__(self, up_weight, gate_weight, down_weight):
        self.up_weight, self.gate_weight, self.down_weight = up_weight.T, gate_weight.T, down_weight.T

    def __call__(self, x):
        gate = x @ self.gate_weight
        return (gate / (1 + np.exp(-gate)) * (x @ self.up_weight)) @ self.down_weight


class right_by_name:  # noqa: N801
    def __init__(self, weight, layer_id, args):
        self.attention = Attention(
            weight.get(f"model.layers.{layer_id}.self_attn.q_proj.weight"),
            weight.get(f"model.layers.{layer_id}.self_attn.k_proj.weight"),
            weight.get(f"model.layers.{layer_id}.self_attn.v_proj.weight"),
            weight.get(f"model.layers.{layer_id}.self_attn.o_proj.weight"),
            args,
        )
        self.feed_forward = FeedForward(
            weight.get(f"model.layers.{layer_id}.mlp.up_proj.weight"),
            weight.get(f"model.layers.{layer_id}.mlp.gate_proj.weight"),
            weight.get(f"model.layers.{layer_id}.mlp.down_proj.weight"),
        )
        self.input_layernorm = Norm(weight.get(f"model.layers.{layer_id}.input_layernorm.weight"))
        self.post_attention_layernorm = Norm(weight.get(f"model.layers.{layer_id}.post_attention_layernorm.weight"))

    def __call__(self, x, mask):
        x = x + self.attention(self.input_layernorm(x), mask)
        return x + self.feed_forward(self.post_attention_layernorm(x))


class wrong_residual_from_input(right_by_name):  # noqa: N801
    def __call__(self, x, mask):
        h = x + self.attention(self.input_layernorm(x), mask)
        return x + self.feed_forward(self.post_attention_layernorm(h))
