"""Marian: the original Transformer, post-norm, with sinusoidal positions; used by translation models.

Source   Vaswani et al. 2017; Junczys-Dowmunt et al. 2018; the keys and tensor names are those of Hugging Face's MarianMTModel
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from headway import functions
from headway.arrays import to_numpy
from headway.errors import CheckpointError
from headway.models import encoder_decoder
from headway.models.config import expect_multiple, expect_num_layers, expect_one_of, expect_positive
from headway.models.encoder_decoder_names import StackNames, stored_stacks
from headway.models.encoder_decoder_spec import CrossLayerSpec, EncoderDecoderSpec
from headway.models.encoder_spec import EncoderLayerSpec
from headway.models.spec import AttentionSpec, FeedForwardSpec, NormSpec
from headway.models.stored import Stored, tie

KIND = "encoder-decoder"
PREFIX = "model."
# The shared embedding, which is unused if encoder, decoder and output head have their own.
IGNORED_TENSORS = r"shared\.weight"
WITHOUT_EFFECT = tuple(
    """
    activation_dropout add_bias_logits add_final_layer_norm classif_dropout classifier_dropout decoder_layerdrop dropout
    encoder_layerdrop extra_pos_embeddings init_std is_encoder_decoder normalize_before normalize_embedding num_hidden_layers
    static_position_embeddings
    """.split()
)
Weights = encoder_decoder.Weights
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}


@dataclass(frozen=True)
class Config:
    """The keys of config.json that affect the result."""

    vocab_size: int
    d_model: int
    encoder_layers: int
    decoder_layers: int
    encoder_attention_heads: int
    decoder_attention_heads: int
    encoder_ffn_dim: int
    decoder_ffn_dim: int
    decoder_vocab_size: int = None  # type: ignore[assignment]  # vocab_size
    max_position_embeddings: int = 1024
    activation_function: str = "gelu"
    scale_embedding: bool = False
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True

    def __post_init__(self) -> None:
        if self.decoder_vocab_size is None:
            object.__setattr__(self, "decoder_vocab_size", self.vocab_size)
        expect_positive(self, "vocab_size", "d_model", "max_position_embeddings", "decoder_vocab_size")
        expect_num_layers(self, "encoder_layers", "decoder_layers")
        for part in ("encoder", "decoder"):
            expect_positive(self, f"{part}_attention_heads", f"{part}_ffn_dim")
            expect_multiple(self, "d_model", f"{part}_attention_heads")
        expect_one_of("activation_function", self.activation_function, ACTIVATIONS)
        if self.share_encoder_decoder_embeddings and self.decoder_vocab_size != self.vocab_size:
            raise CheckpointError(
                f"got config.json with decoder_vocab_size={self.decoder_vocab_size}, vocab_size={self.vocab_size} and "
                "share_encoder_decoder_embeddings=true, expected equal sizes"
            )

    @property
    def max_seq_len(self) -> int:
        """Longest sequence that the positions support, for source and target alike."""
        return self.max_position_embeddings


def spec(config: Config) -> EncoderDecoderSpec:
    """Return the description of both stacks."""
    norm, activation = NormSpec("layer_norm", 1e-5), ACTIVATIONS[config.activation_function]

    def attention(num_heads: int) -> AttentionSpec:
        head_dim = config.d_model // num_heads
        return AttentionSpec(num_heads, num_heads, head_dim, head_dim**-0.5, has_bias=True, has_output_bias=True)

    def feed_forward(size: int) -> FeedForwardSpec:
        return FeedForwardSpec(size, activation, is_gated=False, has_bias=True)

    self_attention, cross_attention = attention(config.encoder_attention_heads), attention(config.decoder_attention_heads)
    layer = EncoderLayerSpec(self_attention, feed_forward(config.encoder_ffn_dim), attention_sum_norm=norm, feed_forward_sum_norm=norm)
    cross_layer = CrossLayerSpec(
        cross_attention,
        feed_forward(config.decoder_ffn_dim),
        attention_sum_norm=norm,
        feed_forward_sum_norm=norm,
        cross_attention=cross_attention,
        cross_attention_sum_norm=norm,
    )
    return EncoderDecoderSpec(
        config.vocab_size,
        config.decoder_vocab_size,
        config.d_model,
        (layer,) * config.encoder_layers,
        (cross_layer,) * config.decoder_layers,
        num_sinusoids=config.max_position_embeddings,
        embedding_scale=math.sqrt(config.d_model) if config.scale_embedding else None,
    )


def _names(stack: str) -> StackNames:
    attentions = {"attention": "self_attn", "cross_attention": "encoder_attn"}
    matrices = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    parts = {f"{part}.{matrix}": f"{name}.{matrices[matrix]}" for part, name in attentions.items() for matrix in matrices}
    parts |= {f"{part}_sum_norm": f"{name}_layer_norm" for part, name in attentions.items()}
    parts |= {"feed_forward.up": "fc1", "feed_forward.down": "fc2", "feed_forward_sum_norm": "final_layer_norm"}
    return StackNames(f"{PREFIX}{stack}.layers.{{}}", parts)


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf.

    Source embedding, target embedding and output head are tied as transformers ties them:

        share_encoder_decoder_embeddings  tie_word_embeddings   tied
        true                              true                  all three, to model.shared
        false                             true                  target embedding and output head
        any                               false                 none
    """
    width = config.d_model
    # Without a tied head, transformers 4 wrote the shared embedding only once.
    others = (f"{PREFIX}shared.weight",) if config.share_encoder_decoder_embeddings else ()
    source = Stored(f"{PREFIX}encoder.embed_tokens.weight", (config.vocab_size, width), other_names=others)
    target = Stored(f"{PREFIX}decoder.embed_tokens.weight", (config.decoder_vocab_size, width), other_names=others)
    head = Stored("lm_head.weight", (config.decoder_vocab_size, width))
    if config.tie_word_embeddings and config.share_encoder_decoder_embeddings:
        shared = Stored(f"{PREFIX}shared.weight", (config.vocab_size, width))
        head, target, source = tie(shared, head, target, source)
    elif config.tie_word_embeddings:
        target, head = tie(target, target, head)
    bias = Stored("final_logits_bias", (1, config.decoder_vocab_size), part="final_logits_bias")
    table = {"token_embedding": source, "target_embedding": target, "output_head": head, "logit_bias": bias}
    return table | stored_stacks(spec(config), _names("encoder"), _names("decoder"))


def redundant_tensor(name: str, shape: tuple[int, ...], config: Config) -> numpy.ndarray | None:
    """Return the sinusoidal positions for a tensor that must be equal to them, and None for any other tensor."""
    is_positions = name.removeprefix(PREFIX) in ("encoder.embed_positions.weight", "decoder.embed_positions.weight")
    if not is_positions or shape != (config.max_position_embeddings, config.d_model):
        return None
    return to_numpy(functions.sinusoidal_positions(*shape, interleaved=False))


encode, read, new_kv_cache, hidden_states, logits, forward = encoder_decoder.encoder_decoder_functions(spec)
