"""A small GPT-2, for functions that take a model's weights instead of a model."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Steps
from headway.practice.recipes import blocks


class TinyGPT:
    """A GPT-2 with two layers and picoGPT's weight names."""

    context_size, num_heads = 16, 2

    def __init__(self) -> None:
        random, width = numpy.random.default_rng(41), 8
        self.params: dict[str, Any] = {
            "wte": random.standard_normal((11, width)),
            "wpe": random.standard_normal((self.context_size, width)),
            "blocks": [blocks.weights(random, width, 4 * width) for _ in range(2)],
            "ln_f": {"g": 1 + 0.3 * random.standard_normal(width), "b": 0.3 * random.standard_normal(width)},
        }

    def logits(self, token_ids: numpy.ndarray) -> numpy.ndarray:
        """Return the logits as the exercise gpt2 defines them.

        Errors   IndexError for more tokens than context_size.
        """
        wte, wpe = self.params["wte"], self.params["wpe"]
        x = wte[token_ids] + wpe[numpy.arange(len(token_ids))]
        for weights in self.params["blocks"]:
            x = blocks.block(Steps(blocks.STEPS), x, **weights, num_heads=self.num_heads)
        return numpy.asarray(blocks.layer_norm(x, self.params["ln_f"]) @ wte.T)


TINY_GPT = TinyGPT()
