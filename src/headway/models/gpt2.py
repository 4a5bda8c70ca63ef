"""GPT-2: learned positions, pre-norm, a GELU feed-forward, and an output head tied to the embedding.

Source   Radford et al. 2019; the keys and tensor names are those of Hugging Face's GPT2LMHeadModel
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from headway import functions
from headway.arrays import Array, Operations
from headway.functions import FeedForwardWeights, KVCache, MultiHeadAttentionWeights, NormWeights
from headway.models.config import expect_multiple, expect_num_layers, expect_number, expect_one_of, expect_positive
from headway.models.past import KVCaches, positions, visible
from headway.models.stack import Stack
from headway.models.stored import Stored, stored_norm, tie

KIND = "decoder"
PREFIX = "transformer."
# The causal mask.
IGNORED_TENSORS = r"h\.\d+\.attn\.(bias|masked_bias)"
WITHOUT_EFFECT = (
    "n_ctx",
    "reorder_and_upcast_attn",
    *(f"summary_{key}" for key in ["activation", "first_dropout", "proj_to_labels", "type", "use_proj"]),
)
ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu", "silu": "silu", "swish": "silu"}


@dataclass(frozen=True)
class Config:
    """The keys of config.json that affect the result."""

    vocab_size: int
    n_positions: int
    n_embd: int
    n_layer: int
    n_head: int
    n_inner: int | None = None
    activation_function: str = "gelu_new"
    layer_norm_epsilon: float = 1e-5
    scale_attn_weights: bool = True
    scale_attn_by_inverse_layer_idx: bool = False
    tie_word_embeddings: bool = True

    def __post_init__(self) -> None:
        expect_positive(self, "vocab_size", "n_positions", "n_embd", "n_head", "n_inner")
        expect_num_layers(self, "n_layer")
        expect_multiple(self, "n_embd", "n_head")
        expect_one_of("activation_function", self.activation_function, ACTIVATIONS)
        expect_number("layer_norm_epsilon", self.layer_norm_epsilon, may_be_zero=True)

    @property
    def max_seq_len(self) -> int:
        """Longest sequence: the number of rows of the position embedding."""
        return self.n_positions


@dataclass(frozen=True)
class LayerWeights:
    """The weights of one layer."""

    attention_norm: NormWeights
    attention: MultiHeadAttentionWeights
    feed_forward_norm: NormWeights
    feed_forward: FeedForwardWeights


@dataclass(frozen=True)
class Weights:
    """token_embedding and output_head (vocab_size, hidden_size), position_embedding (max_seq_len, hidden_size)."""

    token_embedding: Array
    position_embedding: Array
    layers: tuple[LayerWeights, ...]
    norm: NormWeights
    output_head: Array


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf. Matrices are stored as (in, out), and query, key and value as columns of one matrix."""
    width, inner = config.n_embd, config.n_inner or 4 * config.n_embd

    def conv1d(
        path: str, name: str, out_features: int, in_features: int, columns: tuple[int, int] | None = None, *, of: int = 1
    ) -> dict[str, Stored]:
        return {
            f"{path}.weight": Stored(f"{name}.weight", (in_features, of * out_features), columns, is_transposed=True),
            f"{path}.bias": Stored(f"{name}.bias", (of * out_features,), columns),
        }

    table = {
        "token_embedding": Stored(f"{PREFIX}wte.weight", (config.vocab_size, width)),
        "position_embedding": Stored(f"{PREFIX}wpe.weight", (config.n_positions, width)),
    }
    for index in range(config.n_layer):
        path, name = f"layers.{index}", f"{PREFIX}h.{index}"
        table |= stored_norm(f"{path}.attention_norm", f"{name}.ln_1", width, has_bias=True)
        for part, projection in enumerate(("query", "key", "value")):
            table |= conv1d(f"{path}.attention.{projection}", f"{name}.attn.c_attn", width, width, (part * width, (part + 1) * width), of=3)
        table |= conv1d(f"{path}.attention.output", f"{name}.attn.c_proj", width, width)
        table |= stored_norm(f"{path}.feed_forward_norm", f"{name}.ln_2", width, has_bias=True)
        table |= conv1d(f"{path}.feed_forward.up", f"{name}.mlp.c_fc", inner, width)
        table |= conv1d(f"{path}.feed_forward.down", f"{name}.mlp.c_proj", width, inner)
    table |= stored_norm("norm", f"{PREFIX}ln_f", width, has_bias=True)
    embedding, head = table["token_embedding"], Stored("lm_head.weight", (config.vocab_size, width))
    if config.tie_word_embeddings:
        embedding, head = tie(embedding, embedding, head)
    return table | {"token_embedding": embedding, "output_head": head}


def stack(config: Config) -> Stack:
    """Return the description that a compiled decoder needs."""
    return Stack(
        config.n_layer,
        config.n_embd,
        config.n_inner or 4 * config.n_embd,
        config.n_head,
        config.n_head,
        config.n_embd // config.n_head,
        "layer_norm",
        config.layer_norm_epsilon,
        ACTIVATIONS[config.activation_function],
        tuple(_scale(config, index) for index in range(config.n_layer)),
        (None,) * config.n_layer,
    )


def new_kv_cache(config: Config, batch_size: int, max_seq_len: int, like: Array) -> list[KVCache]:
    """Return an empty KV cache for batch_size sequences of up to max_seq_len tokens, one entry per layer."""
    shape = (batch_size, config.n_head, max_seq_len, config.n_embd // config.n_head)
    return [KVCache.empty(shape, like) for _ in range(config.n_layer)]


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
    mask = visible(token_ids, kv_cache, padding)
    x = ops.embed(token_ids, weights.token_embedding)
    x = x + ops.learned_positions(positions(token_ids, kv_cache, padding), weights.position_embedding)
    activation = getattr(ops, ACTIVATIONS[config.activation_function])
    for index, layer in enumerate(weights.layers):
        normed = ops.layer_norm(x, layer.attention_norm.weight, layer.attention_norm.bias, eps=config.layer_norm_epsilon)
        x = x + ops.multi_head_attention(
            normed,
            normed,
            normed,
            layer.attention,
            num_heads=config.n_head,
            mask=mask,
            is_causal=mask is None,
            scale=_scale(config, index),
            kv_cache=kv_cache[index] if kv_cache else None,
            ops=ops,
        )
        normed = ops.layer_norm(x, layer.feed_forward_norm.weight, layer.feed_forward_norm.bias, eps=config.layer_norm_epsilon)
        x = x + ops.feed_forward(normed, layer.feed_forward, activation=activation, ops=ops)
    return ops.layer_norm(x, weights.norm.weight, weights.norm.bias, eps=config.layer_norm_epsilon)


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


def _scale(config: Config, layer_index: int) -> float:
    scale = 1 / math.sqrt(config.n_embd // config.n_head) if config.scale_attn_weights else 1.0
    return scale / (layer_index + 1) if config.scale_attn_by_inverse_layer_idx else scale
