"""The decoders that the compiled kernels support."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any

from headway.errors import UnsupportedError
from headway.kernels.cpu.model_records import ACTIVATIONS, NORMS
from headway.models.spec import AttentionSpec, DecoderSpec, LayerSpec, NormSpec

KNOWN = {
    *("vocab_size", "hidden_size", "layers", "norm", "num_positions", "embedding_scale", "logit_scale", "logit_soft_cap"),
    *("attention", "feed_forward", "attention_norm", "attention_output_norm", "feed_forward_norm", "feed_forward_output_norm"),
    *("residual_scale", "num_heads", "num_kv_heads", "head_dim", "scale", "window", "rotary", "soft_cap", "query_key_norm"),
    *("has_wide_norm", "has_bias", "has_output_bias", "intermediate_size", "activation", "is_gated", "experts"),
    *("num_experts", "top_k", "is_normalized", "kind", "eps", "has_unit_offset", "dim", "parameters"),
}
"""The fields of a spec that the kernels implement; another one that is in use is refused."""


def check_supported(spec: DecoderSpec) -> None:
    """Raise UnsupportedError, which names the parts, for a decoder that the kernels do not support."""
    attentions, norms = [layer.attention for layer in spec.layers], {norm for layer in spec.layers for norm in _norms(layer)}
    unsupported = {
        "layers with different heads": len({_heads(attention) for attention in attentions}) > 1,
        **dict.fromkeys(_other_fields(spec), True),
        f"the norm {spec.norm.kind}": spec.norm.kind not in NORMS,
        "an activation of another kind": any(layer.feed_forward.activation not in ACTIVATIONS for layer in spec.layers),
        "different norms": any((norm.kind, norm.eps) != (spec.norm.kind, spec.norm.eps) for norm in norms),
        "different activations": len({layer.feed_forward.activation for layer in spec.layers}) > 1,
        "experts without a norm of their input": any(layer.feed_forward.experts and not layer.feed_forward_norm for layer in spec.layers),
    }
    found = [part for part, is_there in unsupported.items() if is_there]
    if found:
        raise UnsupportedError(f"got a decoder with {', '.join(found)}, expected one that the compiled kernels support")


def _other_fields(part: Any) -> Iterator[str]:
    """Yield the names of fields that the kernels do not know and that do not have their default."""
    if isinstance(part, tuple):
        for each in part:
            yield from _other_fields(each)
    elif is_dataclass(part):
        for field in fields(part):
            value = getattr(part, field.name)
            if field.name not in KNOWN and (field.default is MISSING or value != field.default):
                yield field.name
            yield from _other_fields(value)


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
