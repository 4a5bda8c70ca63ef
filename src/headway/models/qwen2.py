"""Qwen2 and Qwen2.5: Llama's layers, with biases on query, key and value, and an optional sliding window in the upper layers.

Source   Yang et al. 2024 (Qwen2); the keys and tensor names are those of Hugging Face's Qwen2ForCausalLM
"""

from __future__ import annotations

from dataclasses import dataclass

from headway import functions
from headway.arrays import Array, Operations
from headway.functions import GatedFeedForwardWeights, KVCache, MultiHeadAttentionWeights, NormWeights
from headway.models.config import (
    expect_layer_types,
    expect_multiple,
    expect_num_layers,
    expect_number,
    expect_one_of,
    expect_positive,
)
from headway.models.past import KVCaches, positions, visible
from headway.models.rope import RopeParameters, longest_seq_len, rotary_tables
from headway.models.stack import Stack, rotary_stack
from headway.models.stored import Stored, stored_linear, stored_norm, tie

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling")
ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}


@dataclass(frozen=True)
class Config:
    """The keys of config.json that affect the result."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    rope_parameters: RopeParameters
    num_key_value_heads: int = None  # type: ignore[assignment]  # num_attention_heads
    head_dim: int = None  # type: ignore[assignment]  # hidden_size // num_attention_heads
    hidden_act: str = "silu"
    max_position_embeddings: int = 32768
    rms_norm_eps: float = 1e-6
    use_sliding_window: bool = False
    sliding_window: int | None = None
    max_window_layers: int = 28
    layer_types: list[str] | None = None
    tie_word_embeddings: bool = False

    def __post_init__(self) -> None:
        expect_positive(self, "vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "max_position_embeddings")
        expect_num_layers(self, "num_hidden_layers")
        expect_one_of("hidden_act", self.hidden_act, ACTIVATIONS)
        if self.head_dim is None:
            expect_multiple(self, "hidden_size", "num_attention_heads")
            object.__setattr__(self, "head_dim", self.hidden_size // self.num_attention_heads)
        if self.num_key_value_heads is None:
            object.__setattr__(self, "num_key_value_heads", self.num_attention_heads)
        expect_positive(self, "head_dim", "num_key_value_heads", "sliding_window")
        expect_multiple(self, "num_attention_heads", "num_key_value_heads")
        expect_number("rms_norm_eps", self.rms_norm_eps, may_be_zero=True)
        expect_layer_types(self.layer_types, self.num_hidden_layers, ("full_attention", "sliding_attention"))

    @property
    def max_seq_len(self) -> int:
        """Longest sequence that the positions support."""
        return longest_seq_len(self.max_position_embeddings, self.rope_parameters)

    @property
    def windows(self) -> tuple[int | None, ...]:
        """Number of positions that a token attends to, by layer; None for all."""
        if not self.use_sliding_window:
            return (None,) * self.num_hidden_layers
        kinds = self.layer_types or [
            "full_attention" if i < self.max_window_layers else "sliding_attention" for i in range(self.num_hidden_layers)
        ]
        return tuple(self.sliding_window if kind == "sliding_attention" else None for kind in kinds)


@dataclass(frozen=True)
class LayerWeights:
    """The weights of one layer."""

    attention_norm: NormWeights
    attention: MultiHeadAttentionWeights
    feed_forward_norm: NormWeights
    feed_forward: GatedFeedForwardWeights


@dataclass(frozen=True)
class Weights:
    """token_embedding and output_head (vocab_size, hidden_size), the layers, and the final norm."""

    token_embedding: Array
    layers: tuple[LayerWeights, ...]
    norm: NormWeights
    output_head: Array


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    width, inner = config.hidden_size, config.intermediate_size
    query_size, kv_size = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    table = {"token_embedding": Stored(f"{PREFIX}embed_tokens.weight", (config.vocab_size, width))}
    for index in range(config.num_hidden_layers):
        path, name = f"layers.{index}", f"{PREFIX}layers.{index}"
        table |= stored_norm(f"{path}.attention_norm", f"{name}.input_layernorm", width)
        for part, size in (("query", query_size), ("key", kv_size), ("value", kv_size)):
            table |= stored_linear(f"{path}.attention.{part}", f"{name}.self_attn.{part[0]}_proj", size, width, has_bias=True)
        table |= stored_linear(f"{path}.attention.output", f"{name}.self_attn.o_proj", width, query_size, has_bias=False)
        table |= stored_norm(f"{path}.feed_forward_norm", f"{name}.post_attention_layernorm", width)
        for part, rows, columns in (("gate", inner, width), ("up", inner, width), ("down", width, inner)):
            table |= stored_linear(f"{path}.feed_forward.{part}", f"{name}.mlp.{part}_proj", rows, columns, has_bias=False)
    table |= stored_norm("norm", f"{PREFIX}norm", width)
    embedding, head = table["token_embedding"], Stored("lm_head.weight", (config.vocab_size, width))
    if config.tie_word_embeddings:
        embedding, head = tie(embedding, embedding, head)
    return table | {"token_embedding": embedding, "output_head": head}


def stack(config: Config) -> Stack:
    """Return the description that a compiled decoder needs."""
    return rotary_stack(config, ACTIVATIONS[config.hidden_act], config.windows)


def new_kv_cache(config: Config, batch_size: int, max_seq_len: int, like: Array) -> list[KVCache]:
    """Return an empty KV cache for batch_size sequences of up to max_seq_len tokens, one entry per layer."""
    shape = (batch_size, config.num_key_value_heads, max_seq_len, config.head_dim)
    return [KVCache.empty(shape, like) for _ in range(config.num_hidden_layers)]


def hidden_states(
    token_ids: Array,
    weights: Weights,
    config: Config,
    *,
    kv_cache: KVCaches = None,
    padding: Array | None = None,
    ops: Operations = functions,
) -> Array:
    """Compute the hidden states, which `logits` takes, from token ids.

    Shapes
        token_ids  (batch_size, seq_len) integer
        padding    (batch_size,) integer optional
        return     (batch_size, seq_len, hidden_size)

    kv_cache   the caches of the layers, which hold the tokens before token_ids and to which these are appended
    padding    number of padding tokens on the left of each sequence; none by default
    ops        the namespace of operations; headway.functions by default
    """
    windows = config.windows
    masks = {window: visible(token_ids, kv_cache, padding, window=window) for window in set(windows)}
    x = ops.embed(token_ids, weights.token_embedding)
    rotary = rotary_tables(positions(token_ids, kv_cache, padding), config.head_dim, config.rope_parameters, like=x)
    activation = getattr(ops, ACTIVATIONS[config.hidden_act])
    for index, layer in enumerate(weights.layers):
        mask = masks[windows[index]]
        normed = ops.rms_norm(x, layer.attention_norm.weight, eps=config.rms_norm_eps)
        x = x + ops.multi_head_attention(
            normed,
            normed,
            normed,
            layer.attention,
            num_heads=config.num_attention_heads,
            mask=mask,
            is_causal=mask is None,
            rotary=rotary,
            kv_cache=kv_cache[index] if kv_cache else None,
            ops=ops,
        )
        normed = ops.rms_norm(x, layer.feed_forward_norm.weight, eps=config.rms_norm_eps)
        x = x + ops.gated_feed_forward(normed, layer.feed_forward, activation=activation, ops=ops)
    return ops.rms_norm(x, weights.norm.weight, eps=config.rms_norm_eps)


def logits(hidden: Array, weights: Weights, config: Config, *, ops: Operations = functions) -> Array:
    """Compute the logits (..., vocab_size) from hidden states (..., hidden_size)."""
    return ops.unembed(hidden, weights.output_head)


def forward(
    token_ids: Array,
    weights: Weights,
    config: Config,
    *,
    kv_cache: KVCaches = None,
    padding: Array | None = None,
    ops: Operations = functions,
) -> Array:
    """Compute the logits (batch_size, seq_len, vocab_size) of token ids (batch_size, seq_len); arguments as in hidden_states."""
    return logits(hidden_states(token_ids, weights, config, kv_cache=kv_cache, padding=padding, ops=ops), weights, config, ops=ops)
