"""The GPT-2 block: x + attention(norm(x)), then x + feed_forward(norm(x))."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.functions import FeedForwardWeights, LinearWeights, MultiHeadAttentionWeights, NormWeights
from headway.practice.exercise import Convention, Exercise, Probe, optional
from headway.practice.recipes.activations import relu
from headway.practice.recipes.block_mistakes import MISTAKES
from headway.practice.recipes.blocks import EPSILONS, GELUS, POST_NORM, STEPS, block, unbiased, weights
from headway.practice.recipes.conventions import RETURNS
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("transformer_block")
ROLES = Roles("transformer_block")


def recipe(steps: Any, x: Any, mlp: Any, attn: Any, ln_1: Any, ln_2: Any, num_heads: int, **rest: Any) -> Any:
    """The definition as named steps: those of recipes.blocks."""
    return block(steps, x, mlp, attn, ln_1, ln_2, num_heads)


def definition(x: Any, mlp: Any, attn: Any, ln_1: Any, ln_2: Any, num_heads: int, **rest: Any) -> Any:
    """Return headway.functions' attention and feed-forward in pre-norm order, with the same weights."""
    parts = zip(numpy.split(attn["c_attn"]["w"], 3, axis=1), numpy.split(attn["c_attn"]["b"], 3), strict=True)
    query, key, value = (LinearWeights(w.T, b) for w, b in parts)
    output, up, down = (LinearWeights(each["w"].T, each["b"]) for each in (attn["c_proj"], mlp["c_fc"], mlp["c_proj"]))
    held = MultiHeadAttentionWeights(query, key, value, output)
    norm_1, norm_2 = (NormWeights(each["g"], each["b"]) for each in (ln_1, ln_2))

    def attend(x: Any) -> Any:
        return functions.multi_head_attention(x, x, x, held, num_heads=num_heads, is_causal=True)

    def feed_forward(x: Any) -> Any:
        return functions.feed_forward(x, FeedForwardWeights(up, down), activation=functions.gelu_tanh)

    x = functions.residual(x, attend, norm_1, is_pre_norm=True)
    return functions.residual(x, feed_forward, norm_2, is_pre_norm=True)


BATCH = TEXTS["batch"]
ONE = TEXTS["one"]


def probes() -> tuple[Probe, ...]:
    """One sequence and a batch, sizes distinct and square, two heads and three, with and without biases."""
    random = numpy.random.default_rng(37)
    small, square = weights(random, 6, 24), weights(random, 4, 16)
    return (
        Probe("sequence", {"x": random.standard_normal((5, 6)), **small, "num_heads": 2}, ONE),
        Probe("three heads", {"x": random.standard_normal((4, 6)), **small, "num_heads": 3}, ONE),
        Probe("square", {"x": random.standard_normal((4, 4)), **square, "num_heads": 2}, ONE),
        Probe("batch", {"x": random.standard_normal((3, 5, 6)), **small, "num_heads": 2}, BATCH),
        Probe("batch, three heads", {"x": random.standard_normal((2, 4, 6)), **small, "num_heads": 3}, BATCH),
        Probe("batch, inner biases missing", {"x": random.standard_normal((3, 5, 6)), **unbiased(small, "c_attn"), "num_heads": 2}, BATCH),
        Probe(
            "batch, attention biases missing", {"x": random.standard_normal((3, 5, 6)), **unbiased(small, "attn"), "num_heads": 3}, BATCH
        ),
        Probe("batch, no biases", {"x": random.standard_normal((3, 5, 6)), **unbiased(small, "attn", "mlp"), "num_heads": 2}, BATCH),
        Probe("attention biases missing", {"x": random.standard_normal((5, 6)), **unbiased(small, "attn"), "num_heads": 2}, ONE),
        Probe("no biases", {"x": random.standard_normal((5, 6)), **unbiased(small, "attn", "mlp"), "num_heads": 3}, ONE),
    )


RELU = Convention(TEXTS["relu"], steps={"activation": relu}, without="mlp")
"""A convention for classes, which need not use GPT-2's weights."""

CAUSAL_NAMES = "causal|decoder|gpt|auto_?regressive"

SEES_ALL = optional(
    Convention(
        TEXTS["not_causal"],
        steps={"mask": lambda query_len, key_len: numpy.ones((query_len, key_len), bool)},
        without="mlp",
        called=rf"^(?!.*({CAUSAL_NAMES}))",
        source=rf"\A(?![\s\S]*(({CAUSAL_NAMES})(?!\S*[ -]style)|mask|tri[lu]))",
        file_names=r"\A(?=[\s\S]*(encoder|decoder_?(layer|block)))|\A(?![\s\S]*(decoder|gpt|language_?model|generate))",
    )
)
"""A convention for a class that mentions no mask, in a file that has an encoder, or no names that imply a causal block."""

EXERCISE = Exercise(
    name="transformer_block",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("x"), ROLES("mlp"), ROLES("attn"), ROLES("ln_1"), ROLES("ln_2"), ROLES("num_heads")),
    probes=probes,
    mistakes=MISTAKES,
    conventions=((*GELUS, RELU), POST_NORM, EPSILONS, SEES_ALL, RETURNS),
    related=("encoder_layer",),
    calls="block",
)
