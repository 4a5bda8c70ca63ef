"""torch.nn modules as oracles of whole layers, and their weights as weight trees."""

from __future__ import annotations

import torch

from headway.functions import (
    DecoderLayerWeights,
    DecoderWeights,
    EncoderLayerWeights,
    EncoderWeights,
    FeedForwardWeights,
    LinearWeights,
    MultiHeadAttentionWeights,
    NormWeights,
    TransformerWeights,
)


def array(parameter: torch.Tensor | None):
    return None if parameter is None else parameter.detach().numpy()


def linear_weights(module: torch.nn.Linear) -> LinearWeights:
    return LinearWeights(array(module.weight), array(module.bias))


def norm_weights(module: torch.nn.LayerNorm | None) -> NormWeights | None:
    return None if module is None else NormWeights(array(module.weight), array(module.bias))


def attention_weights(module: torch.nn.MultiheadAttention) -> MultiHeadAttentionWeights:
    """Convert an attention: torch stores the projections in one matrix if their widths are equal, else in three, and the biases in one vector."""
    packed = module.in_proj_weight
    projections = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight) if packed is None else packed.chunk(3)
    biases = [None] * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
    parts = (LinearWeights(array(weight), array(bias)) for weight, bias in zip(projections, biases, strict=True))
    return MultiHeadAttentionWeights(*parts, output=linear_weights(module.out_proj))


def encoder_layer_weights(module: torch.nn.TransformerEncoderLayer) -> EncoderLayerWeights:
    feed_forward = FeedForwardWeights(linear_weights(module.linear1), linear_weights(module.linear2))
    return EncoderLayerWeights(attention_weights(module.self_attn), norm_weights(module.norm1), feed_forward, norm_weights(module.norm2))


def decoder_layer_weights(module: torch.nn.TransformerDecoderLayer) -> DecoderLayerWeights:
    return DecoderLayerWeights(
        attention_weights(module.self_attn),
        norm_weights(module.norm1),
        attention_weights(module.multihead_attn),
        norm_weights(module.norm2),
        FeedForwardWeights(linear_weights(module.linear1), linear_weights(module.linear2)),
        norm_weights(module.norm3),
    )


def transformer_weights(module: torch.nn.Transformer) -> TransformerWeights:
    return TransformerWeights(
        EncoderWeights(tuple(map(encoder_layer_weights, module.encoder.layers)), norm_weights(module.encoder.norm)),
        DecoderWeights(tuple(map(decoder_layer_weights, module.decoder.layers)), norm_weights(module.decoder.norm)),
    )


def randomized(module: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    """Prepare a module: float64, eval mode, random parameters, because the initial zeros of biases and ones of norms would hide a missing one."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.double().parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64) / max(parameter.shape[-1], 4) ** 0.5
    return module.eval()
