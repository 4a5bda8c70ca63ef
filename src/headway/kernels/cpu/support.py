"""The decoders that the compiled kernels support."""

from __future__ import annotations

from dataclasses import replace

from headway.errors import UnsupportedError
from headway.models.spec import AttentionSpec, DecoderSpec, LayerSpec, NormSpec


def check_supported(spec: DecoderSpec) -> None:
    """Raise UnsupportedError, which names the parts, for a decoder that the kernels do not support."""
    attentions, norms = [layer.attention for layer in spec.layers], {norm for layer in spec.layers for norm in _norms(layer)}
    unsupported = {
        "layers with different heads": len({_heads(attention) for attention in attentions}) > 1,
        "different norms": any((norm.kind, norm.eps) != (spec.norm.kind, spec.norm.eps) for norm in norms),
        "different activations": len({layer.feed_forward.activation for layer in spec.layers}) > 1,
        "experts without a norm of their input": any(layer.feed_forward.experts and not layer.feed_forward_norm for layer in spec.layers),
        "dynamic rotary positions": any(each.rotary and each.rotary.parameters["rope_type"] == "dynamic" for each in attentions),
    }
    found = [part for part, is_there in unsupported.items() if is_there]
    if found:
        raise UnsupportedError(f"got a decoder with {', '.join(found)}, expected one that the compiled kernels support")


def _heads(attention: AttentionSpec) -> AttentionSpec:
    """Return what layers must have in common."""
    return replace(attention, scale=1.0, window=None, rotary=None, soft_cap=None)


def _norms(layer: LayerSpec) -> list[NormSpec]:
    norms = (
        layer.attention_norm,
        layer.attention_output_norm,
        layer.feed_forward_norm,
        layer.feed_forward_output_norm,
        layer.attention.query_key_norm,
    )
    return [norm for norm in norms if norm is not None]
