"""The place of each leaf of an encoder in a checkpoint, from its spec and a table of tensor names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headway.models.encoder_spec import EncoderLayerSpec, EncoderSpec
from headway.models.spec import AttentionSpec, NormSpec
from headway.models.stored import Stored, stored_linear, stored_norm, tie


@dataclass(frozen=True)
class HeadNames:
    """The names of the heads' tensors in a checkpoint, without ".weight" and ".bias"; "" for a part that is never stored.

    head_bias           names of the tensor with the bias of the masked-token logits, the most common one first
    classifier_dense    the hidden layer of the classifier
    """

    masked_dense: str
    masked_norm: str
    masked_output: str
    head_bias: tuple[str, ...]
    classifier_output: str
    classifier_dense: str = ""
    classifier_norm: str = ""
    pooler: str = ""


@dataclass(frozen=True)
class EncoderNames:
    """The names of an encoder's tensors in a checkpoint, without ".weight" and ".bias".

    layer   start of the names of a layer, with {} for its index
    parts   the rest of the name, by the path in LayerWeights; parts with the same name are stored as one matrix, in their order
    """

    token_embedding: str
    layer: str
    parts: Mapping[str, str]
    embedding_norm: str
    heads: HeadNames
    position_embedding: str = ""
    token_type_embedding: str = ""
    position_bias: str = ""
    norm: str = ""


BERT_PARTS = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention_sum_norm": "attention.output.LayerNorm",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "feed_forward_sum_norm": "output.LayerNorm",
}


def bert_names(prefix: str, heads: HeadNames) -> EncoderNames:
    """Return the names of Hugging Face's BertModel, which RoBERTa shares, with another prefix and other heads."""
    return EncoderNames(
        f"{prefix}embeddings.word_embeddings",
        f"{prefix}encoder.layer.{{}}",
        BERT_PARTS,
        f"{prefix}embeddings.LayerNorm",
        heads,
        position_embedding=f"{prefix}embeddings.position_embeddings",
        token_type_embedding=f"{prefix}embeddings.token_type_embeddings",
    )


def stored_encoder(spec: EncoderSpec, names: EncoderNames, *, is_tied: bool) -> dict[str, Stored]:
    """Return the place of each leaf of an encoder's weights; is_tied is True if the masked-token head uses the token embedding."""
    width = spec.hidden_size
    embedding = Stored(f"{names.token_embedding}.weight", (spec.vocab_size, width))
    head = Stored(f"{names.heads.masked_output}.weight", embedding.shape)
    if is_tied:
        embedding, head = tie(embedding, embedding, head)
    table = {"token_embedding": embedding}
    if spec.num_positions is not None:
        table["position_embedding"] = Stored(f"{names.position_embedding}.weight", (spec.num_positions, width))
    if spec.num_token_types is not None:
        table["token_type_embedding"] = Stored(f"{names.token_type_embedding}.weight", (spec.num_token_types, width))
    if spec.num_position_buckets is not None:
        num_heads = spec.layers[0].attention.num_heads
        table["position_bias"] = Stored(f"{names.position_bias}.weight", (spec.num_position_buckets, num_heads))
    table |= _stored_norm(spec, "embedding_norm", names.embedding_norm)
    for index, layer in enumerate(spec.layers):
        table |= _stored_layer(spec, f"layers.{index}", names.layer.format(index), layer, names)
    table |= _stored_norm(spec, "norm", names.norm) if spec.norm else {}
    return table | _stored_heads(spec, names.heads, head, is_tied=is_tied)


def _stored_heads(spec: EncoderSpec, names: HeadNames, output_head: Stored, *, is_tied: bool) -> dict[str, Stored]:
    width, masked, classes = spec.hidden_size, spec.masked_token_head, spec.classifier
    pooler = stored_linear("pooler", names.pooler, width, width, has_bias=True) if names.pooler else {}
    path = "masked_token_head"
    head = stored_linear(f"{path}.dense", names.masked_dense, width, width, has_bias=masked.has_bias)
    head |= _stored_norm(spec, f"{path}.norm", names.masked_norm) | {f"{path}.output_head": output_head}
    if spec.has_head_bias:
        bias, *others = (Stored(name, (spec.vocab_size,)) for name in names.head_bias)
        (bias,) = tie(others[0], bias) if is_tied and others else (bias,)
        head[f"{path}.bias"] = bias
    path = "classifier"
    classifier = stored_linear(f"{path}.output", names.classifier_output, classes.num_labels, width, has_bias=True)
    if classes.hidden is not None:
        classifier |= stored_linear(f"{path}.dense", names.classifier_dense, width, width, has_bias=classes.hidden.has_bias)
        classifier |= _stored_norm(spec, f"{path}.norm", names.classifier_norm) if classes.hidden.norm else {}
    return _of_part("pooler", pooler) | _of_part("masked-token head", head) | _of_part("classifier", classifier)


def _of_part(part: str, table: dict[str, Stored]) -> dict[str, Stored]:
    return {path: replace(place, part=part) for path, place in table.items()}


def _stored_layer(spec: EncoderSpec, path: str, name: str, layer: EncoderLayerSpec, names: EncoderNames) -> dict[str, Stored]:
    table: dict[str, Stored] = {}
    matrices, norms = matrices_of(spec.hidden_size, layer), _norms(layer)
    for part, part_name in names.parts.items():
        if norms.get(part):
            table |= _stored_norm(spec, f"{path}.{part}", f"{name}.{part_name}")
        elif part in matrices:
            fused = [other for other in matrices if names.parts[other] == part_name]
            sizes = [matrices[other][0] for other in fused]
            _, columns, has_bias = matrices[part]
            start = sum(sizes[: fused.index(part)])
            rows = (start, start + matrices[part][0]) if len(fused) > 1 else None
            table[f"{path}.{part}.weight"] = Stored(f"{name}.{part_name}.weight", (sum(sizes), columns), rows=rows)
            if has_bias:
                table[f"{path}.{part}.bias"] = Stored(f"{name}.{part_name}.bias", (sum(sizes),), rows)
    return table


def _stored_norm(spec: EncoderSpec, path: str, name: str) -> dict[str, Stored]:
    """Return the places of a norm. Early checkpoints call its weight gamma and its bias beta."""
    old = {f"{path}.weight": f"{name}.gamma", f"{path}.bias": f"{name}.beta"}
    stored = stored_norm(path, name, spec.hidden_size, has_bias=spec.has_norm_bias)
    return {leaf: replace(place, other_names=(old[leaf],)) for leaf, place in stored.items()}


def _norms(layer: EncoderLayerSpec) -> dict[str, NormSpec | None]:
    names = ("attention_norm", "attention_sum_norm", "feed_forward_norm", "feed_forward_sum_norm")
    return {name: getattr(layer, name) for name in names}


def attention_matrices(width: int, attention: AttentionSpec, path: str = "attention") -> dict[str, tuple[int, int, bool]]:
    """Return the number of rows, the number of columns and the presence of a bias of each matrix, in the order of fused ones."""
    size = attention.num_heads * attention.head_dim
    inputs = {f"{path}.{part}": (size, width, attention.has_bias) for part in ("query", "key", "value")}
    return inputs | {f"{path}.output": (width, size, attention.has_output_bias)}


def matrices_of(width: int, layer: EncoderLayerSpec) -> dict[str, tuple[int, int, bool]]:
    """Return the same of a layer's attention and feed-forward network."""
    inner, has_bias = layer.feed_forward.intermediate_size, layer.feed_forward.has_bias
    return {
        **attention_matrices(width, layer.attention),
        **({"feed_forward.gate": (inner, width, has_bias)} if layer.feed_forward.is_gated else {}),
        "feed_forward.up": (inner, width, has_bias),
        "feed_forward.down": (width, inner, has_bias),
    }
