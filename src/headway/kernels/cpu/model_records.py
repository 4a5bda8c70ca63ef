"""The records of a model, from its spec and its weights: addresses and numbers that are the same in every pass."""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu import layout, records
from headway.kernels.cpu.packing import address, matrix_record
from headway.models.spec import AttentionSpec, DecoderSpec, FeedForwardSpec, LayerSpec

NORMS = {"layer_norm": layout.LAYER_NORM, "rms_norm": layout.RMS_NORM}
ACTIVATIONS = {"silu": layout.SILU, "gelu": layout.GELU, "gelu_tanh": layout.GELU_TANH, "relu": layout.RELU}


class ModelRecords:
    """The layers' records, and the fields of the launch record that describe the model.

    layers   one record per layer; without the fields of the KV cache, the activations and the rotary tables
    """

    def __init__(self, spec: DecoderSpec, weights: Any) -> None:
        """Fill in the records. The weights must outlive them."""
        self.layers = records.unset(records.LAYER, len(spec.layers))
        self._experts: list[numpy.ndarray] = []
        for record, layer, layer_weights in zip(self.layers, spec.layers, weights.layers, strict=True):
            _fill_layer(record, layer, layer_weights)
            self._fill_experts(record, layer.feed_forward, layer_weights.feed_forward)
        self._embedding, self._head = matrix_record(weights.token_embedding), matrix_record(weights.output_head)

    def fill_launch(self, launch: Any, spec: DecoderSpec, weights: Any) -> None:
        """Fill in the fields of the launch record that describe the model."""
        attention = spec.layers[0].attention
        launch["num_layers"], launch["layers"] = len(spec.layers), self.layers.ctypes.data
        launch["hidden_size"], launch["head_dim"] = spec.hidden_size, attention.head_dim
        launch["num_heads"], launch["num_kv_heads"] = attention.num_heads, attention.num_kv_heads
        launch["norm"], launch["eps"] = NORMS[spec.norm.kind], spec.norm.eps
        launch["activation"] = ACTIVATIONS[spec.layers[0].feed_forward.activation]
        launch["embedding_scale"] = _number(spec.embedding_scale, 1.0)
        launch["logit_scale"], launch["logit_soft_cap"] = _number(spec.logit_scale, 1.0), _number(spec.logit_soft_cap, 0.0)
        launch["position_table"] = address(weights.position_embedding)
        launch["embedding"], launch["head"] = address(self._embedding), address(self._head)
        fill_norm(launch, "final_norm", weights.norm)

    def _fill_experts(self, record: Any, spec: FeedForwardSpec, weights: Any) -> None:
        for name in ("num_experts", "top_k", "is_normalized", "router", "experts", "expert_size"):
            record[name] = 0
        if spec.experts is not None:
            matrices = [linear_record(getattr(expert, name)) for expert in weights.experts for name in ("gate", "up", "down")]
            self._experts.append(numpy.array(matrices, records.MATRIX))
            record["num_experts"], record["top_k"] = spec.experts.num_experts, spec.experts.top_k
            record["is_normalized"], record["expert_size"] = spec.experts.is_normalized, spec.intermediate_size
            record["router"], record["experts"] = address(weights.router.weight), address(self._experts[-1])


def _fill_layer(record: Any, layer: LayerSpec, weights: Any) -> None:
    for name in ("attention_norm", "attention_output_norm", "feed_forward_norm", "feed_forward_output_norm"):
        fill_norm(record, name, getattr(weights, name))
    fill_attention(record, layer.attention, weights.attention)
    for name in ("gate", "up", "down"):
        record[name] = linear_record(getattr(weights.feed_forward, name, None))
    record["residual_scale"] = _number(layer.residual_scale, 1.0)


def fill_attention(record: Any, attention: AttentionSpec, weights: Any) -> None:
    """Fill in the fields of a layer's record that describe its attention."""
    for name in ("query", "key", "value", "output"):
        record[name] = linear_record(getattr(weights, name))
    for name in ("query_norm", "key_norm"):
        norm = getattr(weights, name)
        own, other = (f"wide_{name}", name) if attention.has_wide_norm else (name, f"wide_{name}")
        record[own], record[other] = address(norm and norm.weight), 0
    record["scale"], record["soft_cap"] = attention.scale, _number(attention.soft_cap, 0.0)
    record["window"] = attention.window or 0
    record["rotary_half"], record["cosines"], record["sines"] = attention.rotary.dim // 2 if attention.rotary else 0, 0, 0


def fill_norm(record: Any, name: str, norm: Any) -> None:
    """Fill in the addresses of a norm's weight and bias; 0 for those that are absent."""
    record[name], record[f"{name}_bias"] = (address(norm.weight), address(norm.bias)) if norm else (0, 0)


def linear_record(weights: Any) -> Any:
    """Return the record of a linear layer's packed matrix; that of an absent matrix for None."""
    return (matrix_record(weights.weight, weights.bias) if weights else matrix_record(None))[0]


def _number(number: float | None, absent: float) -> float:
    return absent if number is None else number
