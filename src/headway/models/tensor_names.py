"""The place of each leaf of a decoder in a checkpoint, from its spec and a table of tensor names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.models.spec import DecoderSpec, LayerSpec, NormSpec
from headway.models.stored import Stored, stored_norm, tie


@dataclass(frozen=True)
class TensorNames:
    """The names of a decoder's tensors in a checkpoint, without ".weight" and ".bias".

    layer          start of the names of a layer, with {} for its index
    parts          the rest of the name, by the path in LayerWeights; parts with the same name are stored as one matrix, in their order
    is_transposed  True if matrices are stored as (in_features, out_features)
    """

    token_embedding: str
    layer: str
    parts: Mapping[str, str]
    norm: str
    position_embedding: str = ""
    output_head: str = "lm_head"
    is_transposed: bool = False


EXPERTS = "feed_forward.experts."
"""Start of the paths of an expert's matrices; names of their tensors have {} for the expert."""

LLAMA_PARTS = {
    "attention_norm": "input_layernorm",
    "attention.query": "self_attn.q_proj",
    "attention.key": "self_attn.k_proj",
    "attention.value": "self_attn.v_proj",
    "attention.output": "self_attn.o_proj",
    "attention.query_norm": "self_attn.q_norm",
    "attention.key_norm": "self_attn.k_norm",
    "feed_forward_norm": "post_attention_layernorm",
    "feed_forward.gate": "mlp.gate_proj",
    "feed_forward.up": "mlp.up_proj",
    "feed_forward.down": "mlp.down_proj",
}
LLAMA = TensorNames("model.embed_tokens", "model.layers.{}", LLAMA_PARTS, "model.norm")
"""The names of Hugging Face's LlamaForCausalLM, which many architectures share."""


def stored_decoder(spec: DecoderSpec, names: TensorNames, *, is_tied: bool) -> dict[str, Stored]:
    """Return the place of each leaf of a decoder's weights; is_tied is True if the output head is the token embedding."""
    embedding = Stored(f"{names.token_embedding}.weight", (spec.vocab_size, spec.hidden_size))
    head = Stored(f"{names.output_head}.weight", (spec.vocab_size, spec.hidden_size))
    if is_tied:
        embedding, head = tie(embedding, embedding, head)
    table = {"token_embedding": embedding}
    if spec.num_positions is not None:
        table["position_embedding"] = Stored(f"{names.position_embedding}.weight", (spec.num_positions, spec.hidden_size))
    for index, layer in enumerate(spec.layers):
        table |= _stored_layer(f"layers.{index}", names.layer.format(index), spec.hidden_size, layer, names)
    return table | _stored_norm("norm", names.norm, spec.norm, spec.hidden_size) | {"output_head": head}


def _stored_layer(path: str, name: str, width: int, layer: LayerSpec, names: TensorNames) -> dict[str, Stored]:
    table: dict[str, Stored] = {}
    matrices, norms = _matrices(width, layer), _norms(width, layer)
    for part, part_name in names.parts.items():
        if part in norms:
            table |= _stored_norm(f"{path}.{part}", f"{name}.{part_name}", *norms[part])
        elif part in matrices and part.startswith(EXPERTS):
            for index in range(layer.feed_forward.experts.num_experts if layer.feed_forward.experts else 0):
                leaf_path = f"{path}.{EXPERTS}{index}.{part.removeprefix(EXPERTS)}"
                table |= _stored_matrix(leaf_path, f"{name}.{part_name.format(index)}", matrices[part], None, names.is_transposed)
        elif part in matrices:
            fused = [other for other in matrices if names.parts.get(other) == part_name]
            sizes = [matrices[other][0] for other in fused]
            start = sum(sizes[: fused.index(part)])
            place = (start, start + matrices[part][0]) if len(fused) > 1 else None
            table |= _stored_matrix(f"{path}.{part}", f"{name}.{part_name}", (sum(sizes), *matrices[part][1:]), place, names.is_transposed)
    return table


def _stored_matrix(
    path: str, name: str, sizes: tuple[int, int, bool], place: tuple[int, int] | None, is_transposed: bool
) -> dict[str, Stored]:
    """Return the places of the weight and the bias of the rows `place` of a matrix (rows, columns, has_bias)."""
    rows, columns, has_bias = sizes
    if is_transposed:
        table = {f"{path}.weight": Stored(f"{name}.weight", (columns, rows), place, is_transposed=True)}
    else:
        table = {f"{path}.weight": Stored(f"{name}.weight", (rows, columns), rows=place)}
    return table | ({f"{path}.bias": Stored(f"{name}.bias", (rows,), place)} if has_bias else {})


def _stored_norm(path: str, name: str, norm: NormSpec, size: int) -> dict[str, Stored]:
    return stored_norm(path, name, size, has_bias=norm.kind == "layer_norm", offset=float(norm.has_unit_offset))


def _matrices(width: int, layer: LayerSpec) -> dict[str, tuple[int, int, bool]]:
    """Return the number of rows, the number of columns and the presence of a bias of each matrix."""
    attention, feed_forward = layer.attention, layer.feed_forward
    query, key = attention.num_heads * attention.head_dim, attention.num_kv_heads * attention.head_dim
    inner, has_bias, experts = feed_forward.intermediate_size, feed_forward.has_bias, feed_forward.experts
    parts = EXPERTS if experts else "feed_forward."
    return {
        "attention.query": (query, width, attention.has_bias),
        "attention.key": (key, width, attention.has_bias),
        "attention.value": (key, width, attention.has_bias),
        "attention.output": (width, query, attention.has_output_bias),
        **({"feed_forward.router": (experts.num_experts, width, experts.has_router_bias)} if experts else {}),
        **({f"{parts}gate": (inner, width, has_bias)} if feed_forward.is_gated else {}),
        f"{parts}up": (inner, width, has_bias),
        f"{parts}down": (width, inner, has_bias),
    }


def _norms(width: int, layer: LayerSpec) -> dict[str, tuple[NormSpec, int]]:
    """Return the spec and the size of each norm."""
    attention = layer.attention
    query, key = (
        count * attention.head_dim if attention.has_wide_norm else attention.head_dim
        for count in (attention.num_heads, attention.num_kv_heads)
    )
    norms = {
        "attention_norm": (layer.attention_norm, width),
        "attention_output_norm": (layer.attention_output_norm, width),
        "attention.query_norm": (attention.query_key_norm, query),
        "attention.key_norm": (attention.query_key_norm, key),
        "feed_forward_norm": (layer.feed_forward_norm, width),
        "feed_forward_output_norm": (layer.feed_forward_output_norm, width),
    }
    return {part: (norm, size) for part, (norm, size) in norms.items() if norm is not None}
