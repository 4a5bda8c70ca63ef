"""The exercises, one file or folder each: the definition, the probes, and the common mistakes."""

from importlib import import_module

from headway.practice.exercise import Exercise

NAMES = (
    "softmax",
    "log_softmax",
    "linear",
    "embed",
    "relu",
    "gelu",
    "silu",
    "layer_norm",
    "rms_norm",
    "scaled_dot_product_attention",
    "causal_mask",
    "padding_mask",
    "qkv_projection",
    "self_attention",
    "causal_self_attention",
    "cross_attention",
    "stacked_heads_attention",
    "multi_head_attention",
    "grouped_query_attention",
    "sinusoidal_positions",
    "learned_positions",
    "rotary_tables",
    "rotary",
    "feed_forward",
    "gated_feed_forward",
    "transformer_block",
    "encoder_layer",
    "decoder_layer",
    "gpt2",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "sample",
    "generate",
    "kv_cache",
    "pair_counts",
    "merge_pair",
    "bpe_train",
    "bpe_encode",
    "bpe_decode",
    "bpe_tokenizer",
    "cross_entropy",
    "gradient_descent",
    "linear_regression",
    "adam_step",
    "adam",
    "adam_optimizer",
    "adamw",
)
"""The names of the exercises, in the order in which they build on each other; each is a file or folder here with EXERCISE."""


def exercise(name: str) -> Exercise:
    """Return one exercise by its name."""
    return import_module(f"headway.practice.exercises.{name}").EXERCISE


def exercises() -> list[Exercise]:
    """Return all exercises, in order."""
    return [exercise(name) for name in NAMES]
