"""Conversion between torch.nn's attention and Transformer modules and those of headway.nn."""

from __future__ import annotations

from copy import deepcopy
from functools import singledispatch
from typing import TypedDict, TypeVar

import torch
import torch.nn.functional as F

from headway.errors import OptionError, UnsupportedError
from headway.nn.decoder import Decoder, DecoderLayer
from headway.nn.dropout import DropoutRates
from headway.nn.encoder import Encoder, EncoderLayer
from headway.nn.module import Module
from headway.nn.multi_head_attention import Attention, MultiHeadAttention
from headway.nn.torch_names import from_torch_state_dict, to_torch_state_dict
from headway.nn.transformer import Transformer

AnyModule = TypeVar("AnyModule", bound=torch.nn.Module)
TorchLayer = TypeVar("TorchLayer", torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer)


class LayerOptions(TypedDict):
    """Options of EncoderLayer and DecoderLayer."""

    hidden_size: int
    num_heads: int
    intermediate_size: int
    is_pre_norm: bool
    activation: str
    dropout: DropoutRates
    eps: float
    has_bias: bool


class StackOptions(LayerOptions):
    """Options of Encoder, Decoder and Transformer."""

    num_layers: int
    has_last_norm: bool


class TorchLayerOptions(TypedDict):
    """Options of torch.nn.TransformerEncoderLayer and torch.nn.TransformerDecoderLayer."""

    d_model: int
    nhead: int
    dim_feedforward: int
    dropout: float
    activation: str
    layer_norm_eps: float
    batch_first: bool
    norm_first: bool
    bias: bool


def from_torch(module: torch.nn.Module) -> Module:
    """Convert a torch.nn module to the equivalent headway.nn module, with copies of its parameters.

        torch.nn.MultiheadAttention                                MultiHeadAttention
        torch.nn.TransformerEncoderLayer, TransformerEncoder       EncoderLayer, Encoder
        torch.nn.TransformerDecoderLayer, TransformerDecoder       DecoderLayer, Decoder
        torch.nn.Transformer                                       Transformer

    The converted module differs in its interface: the batch axis is always first; True in a mask means may attend; a decoder is
    always causal. torch's dropout after the activation of the feed-forward, which the paper does not have, is omitted.

    Errors   UnsupportedError for any other module, an activation other than relu and gelu, extra keys (add_bias_kv,
             add_zero_attn), or layers with different options.
    """
    converted = _from_torch(module)
    return _with_state(converted, from_torch_state_dict(module.state_dict()), module)


def to_torch(module: Module) -> torch.nn.Module:
    """Convert a headway.nn module to the equivalent torch.nn module with batch_first=True, with copies of its parameters.

    Errors   OptionError for a module without an equivalent: grouped heads, or an activation other than relu and gelu.
    """
    converted = _to_torch(module)
    return _with_state(converted, to_torch_state_dict(module.state_dict()), module)


def _with_state(module: AnyModule, state: dict[str, torch.Tensor], like: torch.nn.Module) -> AnyModule:
    module.to(next(iter(state.values())))
    module.load_state_dict(state)
    return module.train(like.training)


@singledispatch
def _from_torch(module: torch.nn.Module) -> Module:
    raise UnsupportedError(
        f"got a {type(module).__name__}, expected torch.nn's MultiheadAttention, Transformer, or an encoder or decoder of it"
    )


@_from_torch.register
def _(module: torch.nn.MultiheadAttention) -> Module:
    if module.bias_k is not None or module.add_zero_attn:
        raise UnsupportedError("got an attention with add_bias_kv or add_zero_attn, expected neither")
    return MultiHeadAttention(
        module.embed_dim,
        module.num_heads,
        key_width=module.kdim,
        value_width=module.vdim,
        has_bias=module.in_proj_bias is not None,
        dropout=DropoutRates(attention=module.dropout),
    )


@_from_torch.register
def _(module: torch.nn.TransformerEncoderLayer) -> Module:
    return EncoderLayer(**_layer_options(module))


@_from_torch.register
def _(module: torch.nn.TransformerDecoderLayer) -> Module:
    return DecoderLayer(**_layer_options(module), encoder_width=module.multihead_attn.kdim)


@_from_torch.register
def _(module: torch.nn.TransformerEncoder) -> Module:
    return Encoder(**_stack_options(module))


@_from_torch.register
def _(module: torch.nn.TransformerDecoder) -> Module:
    return Decoder(**_stack_options(module), encoder_width=module.layers[0].multihead_attn.kdim)


@_from_torch.register
def _(module: torch.nn.Transformer) -> Module:
    options, decoder = _stack_options(module.encoder), _stack_options(module.decoder)
    if {**options, "num_layers": None} != {**decoder, "num_layers": None}:
        raise UnsupportedError(f"got an encoder with {options} and a decoder with {decoder}, expected equal options except num_layers")
    return Transformer(**options, num_decoder_layers=decoder["num_layers"])


def _stack_options(module: torch.nn.TransformerEncoder | torch.nn.TransformerDecoder) -> StackOptions:
    options, *others = [_layer_options(layer) for layer in module.layers]
    if any(other != options for other in others):
        raise UnsupportedError("got a stack of layers with different options, expected equal options", hint="convert the layers one by one")
    return {**options, "num_layers": len(module.layers), "has_last_norm": module.norm is not None}


def _layer_options(module: torch.nn.TransformerEncoderLayer | torch.nn.TransformerDecoderLayer) -> LayerOptions:
    return {
        "hidden_size": module.self_attn.embed_dim,
        "num_heads": module.self_attn.num_heads,
        "intermediate_size": module.linear1.out_features,
        "is_pre_norm": module.norm_first,
        "activation": _activation_name(module.activation),
        "dropout": DropoutRates(attention=module.self_attn.dropout, output=module.dropout1.p),
        "eps": module.norm1.eps,
        "has_bias": module.linear1.bias is not None,
    }


def _activation_name(activation: object) -> str:
    if activation is F.relu or isinstance(activation, torch.nn.ReLU):
        return "relu"
    if activation is F.gelu:
        return "gelu"
    if isinstance(activation, torch.nn.GELU):
        return "gelu" if activation.approximate == "none" else "gelu_tanh"
    raise UnsupportedError(f"got a layer with the activation {activation}, expected relu or gelu")


@singledispatch
def _to_torch(module: Module) -> torch.nn.Module:
    raise OptionError(f"got a {type(module).__name__}, expected an attention, a Transformer, or an encoder or decoder of it")


@_to_torch.register
def _attention(module: Attention) -> torch.nn.MultiheadAttention:
    if module.num_kv_heads != module.num_heads:
        raise OptionError(
            f"got num_heads={module.num_heads} and num_kv_heads={module.num_kv_heads}, expected equal numbers, "
            "because torch.nn has no grouped heads"
        )
    return torch.nn.MultiheadAttention(
        module.query.in_features,
        module.num_heads,
        dropout=module.dropout.attention,
        bias=module.query.bias is not None,
        kdim=module.key.in_features,
        vdim=module.value.in_features,
        batch_first=True,
    )


@_to_torch.register
def _encoder_layer(module: EncoderLayer) -> torch.nn.TransformerEncoderLayer:
    return _with_rates(torch.nn.TransformerEncoderLayer(**_torch_options(module, module.attention)), module.dropout)


@_to_torch.register
def _decoder_layer(module: DecoderLayer) -> torch.nn.TransformerDecoderLayer:
    layer = torch.nn.TransformerDecoderLayer(**_torch_options(module, module.self_attention))
    if module.cross_attention.key.in_features != module.cross_attention.query.in_features:
        layer.multihead_attn = _attention(module.cross_attention)
    return _with_rates(layer, module.dropout)


@_to_torch.register
def _(module: Encoder) -> torch.nn.Module:
    return torch.nn.TransformerEncoder(
        _encoder_layer(module.layers[0]), len(module.layers), deepcopy(module.norm), enable_nested_tensor=False
    )


@_to_torch.register
def _(module: Decoder) -> torch.nn.Module:
    return torch.nn.TransformerDecoder(_decoder_layer(module.layers[0]), len(module.layers), deepcopy(module.norm))


@_to_torch.register
def _(module: Transformer) -> torch.nn.Module:
    encoder, decoder = _to_torch(module.encoder), _to_torch(module.decoder)
    attention = module.encoder.layers[0].attention
    return torch.nn.Transformer(
        attention.query.in_features, attention.num_heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    )


def _torch_options(module: EncoderLayer | DecoderLayer, attention: Attention) -> TorchLayerOptions:
    if module.feed_forward.activation not in ("relu", "gelu"):
        raise OptionError(f"got activation={module.feed_forward.activation!r}, expected relu or gelu, the activations of torch.nn")
    return {
        "d_model": attention.query.in_features,
        "nhead": attention.num_heads,
        "dim_feedforward": module.feed_forward.up.out_features,
        "dropout": module.dropout.output,
        "activation": module.feed_forward.activation,
        "layer_norm_eps": module.eps,
        "batch_first": True,
        "norm_first": module.is_pre_norm,
        "bias": module.feed_forward.up.bias is not None,
    }


def _with_rates(layer: TorchLayer, rates: DropoutRates) -> TorchLayer:
    """Set the dropout rates of a torch.nn layer: those of the attention weights, and 0 after the activation of the feed-forward."""
    for part in layer.children():
        if isinstance(part, torch.nn.MultiheadAttention):
            part.dropout = rates.attention
    layer.dropout.p = 0.0
    return layer
