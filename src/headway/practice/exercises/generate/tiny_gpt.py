"""A GPT-2 with two layers, for functions that take a model's weights instead of a model."""

from __future__ import annotations

from typing import Any

import numpy


class TinyGPT:
    """A GPT-2 with two layers and picoGPT's weight names, for functions that take params instead of a model."""

    context_size, num_heads = 16, 2

    def __init__(self) -> None:
        random = numpy.random.default_rng(41)
        width = 8

        def linear(inner: int, outer: int) -> dict[str, Any]:
            return {"w": random.standard_normal((inner, outer)) * 0.7, "b": random.standard_normal(outer) * 0.3}

        def norm() -> dict[str, Any]:
            return {"g": 1 + 0.3 * random.standard_normal(width), "b": 0.3 * random.standard_normal(width)}

        def block() -> dict[str, Any]:
            return {
                "attn": {"c_attn": linear(width, 3 * width), "c_proj": linear(width, width)},
                "mlp": {"c_fc": linear(width, 4 * width), "c_proj": linear(4 * width, width)},
                "ln_1": norm(),
                "ln_2": norm(),
            }

        self.params = {
            "wte": random.standard_normal((11, width)),
            "wpe": random.standard_normal((self.context_size, width)),
            "blocks": [block(), block()],
            "ln_f": norm(),
        }

    def logits(self, token_ids: numpy.ndarray) -> numpy.ndarray:
        """Return the logits as the exercise gpt2 defines them."""
        from headway.practice.exercises.gpt2 import EXERCISE as GPT2

        if len(token_ids) > self.context_size:
            raise IndexError(f"index {len(token_ids) - 1} is out of bounds for the {self.context_size} positions of the model")
        return GPT2.answer({"token_ids": token_ids, "num_heads": self.num_heads, **self.params})


TINY_GPT = TinyGPT()
