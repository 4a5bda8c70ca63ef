"""BERT: bidirectional attention, post-norm, learned positions and token types, and a masked-token head.

Source   Devlin et al. 2019; the keys and tensor names are those of Hugging Face's BertModel and BertForMaskedLM
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headway import functions
from headway.arrays import Array, Operations, array_namespace, asarray_like, at_least_float32, cast
from headway.errors import PromptError, UnsupportedError
from headway.functions import EncoderLayerWeights, LinearWeights, NormWeights
from headway.models.config import expect_multiple, expect_num_layers, expect_number, expect_one_of, expect_positive
from headway.models.stored import Stored, stored_linear, stored_norm, tie

KIND = "encoder"
PREFIX = "bert."
# Buffers of constants, the next-sentence head, and a bias that is unused if cls.predictions.decoder has one.
IGNORED_TENSORS = r"embeddings\.(position|token_type)_ids|cls\.seq_relationship\.(weight|bias)|cls\.predictions\.bias"
WITHOUT_EFFECT = (
    "attention_probs_dropout_prob",
    "classifier_dropout",
    "directionality",
    "hidden_dropout_prob",
    "output_past",
    *(f"pooler_{key}" for key in ["fc_size", "num_attention_heads", "num_fc_layers", "size_per_head", "type"]),
)
ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu", "silu": "silu", "swish": "silu"}


@dataclass(frozen=True)
class Config:
    """The keys of config.json that affect the result."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    hidden_act: str = "gelu"
    layer_norm_eps: float = 1e-12
    position_embedding_type: str = "absolute"
    tie_word_embeddings: bool = True

    def __post_init__(self) -> None:
        expect_positive(self, "vocab_size", "hidden_size", "num_attention_heads", "intermediate_size")
        expect_positive(self, "max_position_embeddings", "type_vocab_size")
        expect_num_layers(self, "num_hidden_layers")
        expect_multiple(self, "hidden_size", "num_attention_heads")
        expect_one_of("hidden_act", self.hidden_act, ACTIVATIONS)
        expect_one_of("position_embedding_type", self.position_embedding_type, ["absolute"])
        expect_number("layer_norm_eps", self.layer_norm_eps, may_be_zero=True)

    @property
    def max_seq_len(self) -> int:
        """Longest sequence: the number of rows of the position embedding."""
        return self.max_position_embeddings


@dataclass(frozen=True)
class MaskedTokenHeadWeights:
    """output_head (vocab_size, hidden_size), the token embedding itself if the two are tied; bias (vocab_size,)."""

    dense: LinearWeights
    norm: NormWeights
    output_head: Array
    bias: Array


@dataclass(frozen=True)
class Weights:
    """The embeddings, the layers, and two optional parts.

    token_embedding       (vocab_size, hidden_size)
    position_embedding    (max_seq_len, hidden_size)
    token_type_embedding  (type_vocab_size, hidden_size)
    """

    token_embedding: Array
    position_embedding: Array
    token_type_embedding: Array
    embedding_norm: NormWeights
    layers: tuple[EncoderLayerWeights, ...]
    pooler: LinearWeights | None = None
    masked_token_head: MaskedTokenHeadWeights | None = None


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf. Early checkpoints call the weight of a norm gamma and its bias beta."""
    width, inner = config.hidden_size, config.intermediate_size

    def norm(path: str, name: str) -> dict[str, Stored]:
        old = {f"{path}.weight": f"{name}.gamma", f"{path}.bias": f"{name}.beta"}
        return {leaf: replace(place, other_names=(old[leaf],)) for leaf, place in stored_norm(path, name, width, has_bias=True).items()}

    table = {
        "token_embedding": Stored(f"{PREFIX}embeddings.word_embeddings.weight", (config.vocab_size, width)),
        "position_embedding": Stored(f"{PREFIX}embeddings.position_embeddings.weight", (config.max_position_embeddings, width)),
        "token_type_embedding": Stored(f"{PREFIX}embeddings.token_type_embeddings.weight", (config.type_vocab_size, width)),
    }
    table |= norm("embedding_norm", f"{PREFIX}embeddings.LayerNorm")
    for index in range(config.num_hidden_layers):
        path, name = f"layers.{index}", f"{PREFIX}encoder.layer.{index}"
        for part in ("query", "key", "value"):
            table |= stored_linear(f"{path}.attention.{part}", f"{name}.attention.self.{part}", width, width, has_bias=True)
        table |= stored_linear(f"{path}.attention.output", f"{name}.attention.output.dense", width, width, has_bias=True)
        table |= norm(f"{path}.attention_norm", f"{name}.attention.output.LayerNorm")
        table |= stored_linear(f"{path}.feed_forward.up", f"{name}.intermediate.dense", inner, width, has_bias=True)
        table |= stored_linear(f"{path}.feed_forward.down", f"{name}.output.dense", width, inner, has_bias=True)
        table |= norm(f"{path}.feed_forward_norm", f"{name}.output.LayerNorm")
    pooler = stored_linear("pooler", f"{PREFIX}pooler.dense", width, width, has_bias=True)
    path, name = "masked_token_head", "cls.predictions"
    head = stored_linear(f"{path}.dense", f"{name}.transform.dense", width, width, has_bias=True)
    head |= norm(f"{path}.norm", f"{name}.transform.LayerNorm")
    head_weight = Stored(f"{name}.decoder.weight", (config.vocab_size, width))
    head_bias = Stored(f"{name}.decoder.bias", (config.vocab_size,))
    if config.tie_word_embeddings:
        table["token_embedding"], head_weight = tie(table["token_embedding"], table["token_embedding"], head_weight)
        (head_bias,) = tie(Stored(f"{name}.bias", (config.vocab_size,)), head_bias)
    head |= {f"{path}.output_head": head_weight, f"{path}.bias": head_bias}
    return table | _of_part("pooler", pooler) | _of_part("masked-token head", head)


def encode(
    token_ids: Array,
    weights: Weights,
    config: Config,
    *,
    lengths: Array | None = None,
    token_types: Array | None = None,
    ops: Operations = functions,
) -> Array:
    """Compute a vector for each token of a text, depending on all of its tokens.

    Shapes
        token_ids    (batch_size, seq_len) integer
        lengths      (batch_size,) integer optional
        token_types  (batch_size, seq_len) integer optional
        return       (batch_size, seq_len, hidden_size)

    lengths      number of real tokens of each sequence, before the padding on the right; all by default
    token_types  0 for the tokens of a first text, 1 for those of a second; all 0 by default
    ops          the namespace of operations; headway.functions by default

    Errors   PromptError for more tokens than the position embedding has rows.
    """
    seq_len = token_ids.shape[-1]
    if seq_len > config.max_seq_len:
        raise PromptError(f"got a text of {seq_len} tokens, expected at most {config.max_seq_len}", hint="shorten the text")
    mask = None if lengths is None else ops.padding_mask(lengths, seq_len)
    positions = asarray_like(range(seq_len), token_ids)
    types = array_namespace(token_ids).zeros_like(token_ids) if token_types is None else token_types
    x = ops.embed(token_ids, weights.token_embedding) + ops.learned_positions(positions, weights.position_embedding)
    x = x + ops.embed(types, weights.token_type_embedding)
    x = ops.layer_norm(x, weights.embedding_norm.weight, weights.embedding_norm.bias, eps=config.layer_norm_eps)
    activation = getattr(ops, ACTIVATIONS[config.hidden_act])
    for layer in weights.layers:
        x = ops.encoder_layer(
            x, layer, num_heads=config.num_attention_heads, mask=mask, activation=activation, eps=config.layer_norm_eps, ops=ops
        )
    return x


def pooled(hidden: Array, weights: Weights, config: Config, *, ops: Operations = functions) -> Array:
    """Pool by the first token, with the layer that was trained for next-sentence prediction.

        tanh(hidden[first] @ pooler.weightᵀ + pooler.bias)

    Shapes
        hidden  (batch_size, seq_len, hidden_size)
        return  (batch_size, hidden_size)

    Errors   UnsupportedError if the checkpoint has no pooler.
    """
    if weights.pooler is None:
        raise UnsupportedError(
            "got a BERT checkpoint without a pooler, expected one with pooler.dense.weight", hint="use another pooling, such as the mean"
        )
    x = ops.linear(hidden[:, 0, :], weights.pooler.weight, weights.pooler.bias)
    return cast(array_namespace(x).tanh(at_least_float32(x)), x.dtype)


def masked_token_logits(hidden: Array, weights: Weights, config: Config, *, ops: Operations = functions) -> Array:
    """Compute the logits (..., vocab_size) of the masked-token head from hidden states (..., hidden_size).

    Errors   UnsupportedError if the checkpoint has no masked-token head.
    """
    head = weights.masked_token_head
    if head is None:
        raise UnsupportedError(
            "got a BERT checkpoint without a masked-token head, expected one with cls.predictions",
            hint="use a checkpoint saved from BertForMaskedLM or BertForPreTraining",
        )
    x = getattr(ops, ACTIVATIONS[config.hidden_act])(ops.linear(hidden, head.dense.weight, head.dense.bias))
    x = ops.layer_norm(x, head.norm.weight, head.norm.bias, eps=config.layer_norm_eps)
    return ops.linear(x, head.output_head, head.bias)


def _of_part(part: str, table: dict[str, Stored]) -> dict[str, Stored]:
    return {path: replace(place, part=part) for path, place in table.items()}
