"""GPT-2: learned positions, pre-norm, a GELU feed-forward, and an output head tied to the embedding.

Source   Radford et al. 2019; the keys and tensor names are those of Hugging Face's GPT2LMHeadModel
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from headway.models import decoder
from headway.models.config import expect_multiple, expect_num_layers, expect_number, expect_one_of, expect_positive
from headway.models.spec import AttentionSpec, DecoderSpec, FeedForwardSpec, LayerSpec, NormSpec
from headway.models.stored import Stored
from headway.models.tensor_names import TensorNames, stored_decoder

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
Weights = decoder.Weights


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


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    norm = NormSpec("layer_norm", config.layer_norm_epsilon)
    feed_forward = FeedForwardSpec(
        config.n_inner or 4 * config.n_embd, ACTIVATIONS[config.activation_function], is_gated=False, has_bias=True
    )
    head_dim = config.n_embd // config.n_head
    scale = 1 / math.sqrt(head_dim) if config.scale_attn_weights else 1.0
    scales = [scale / (index + 1) if config.scale_attn_by_inverse_layer_idx else scale for index in range(config.n_layer)]
    attentions = [AttentionSpec(config.n_head, config.n_head, head_dim, each, has_bias=True, has_output_bias=True) for each in scales]
    layers = tuple(LayerSpec(attention, feed_forward, attention_norm=norm, feed_forward_norm=norm) for attention in attentions)
    return DecoderSpec(config.vocab_size, config.n_embd, layers, norm, num_positions=config.n_positions)


NAMES = TensorNames(
    token_embedding=f"{PREFIX}wte",
    position_embedding=f"{PREFIX}wpe",
    layer=PREFIX + "h.{}",
    parts={
        "attention_norm": "ln_1",
        "attention.query": "attn.c_attn",
        "attention.key": "attn.c_attn",
        "attention.value": "attn.c_attn",
        "attention.output": "attn.c_proj",
        "feed_forward_norm": "ln_2",
        "feed_forward.up": "mlp.c_fc",
        "feed_forward.down": "mlp.c_proj",
    },
    norm=f"{PREFIX}ln_f",
    is_transposed=True,
)


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf. Matrices are stored as (in, out), and query, key and value as columns of one matrix."""
    return stored_decoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
