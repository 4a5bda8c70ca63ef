"""The place of each leaf of an encoder–decoder in a checkpoint, from its spec and tables of tensor names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headway.models.encoder_decoder_spec import CrossLayerSpec, EncoderDecoderSpec
from headway.models.encoder_names import attention_matrices, matrices_of
from headway.models.encoder_spec import EncoderLayerSpec
from headway.models.stored import Stored, stored_linear, stored_norm


@dataclass(frozen=True)
class StackNames:
    """The names of the tensors of the encoder or the decoder in a checkpoint, without ".weight" and ".bias".

    layer          start of the names of a layer, with {} for its index
    parts          the rest of the name, by the path in LayerWeights or CrossLayerWeights
    norm           the final norm
    position_bias  the relative position bias
    """

    layer: str
    parts: Mapping[str, str]
    norm: str = ""
    position_bias: str = ""


def stored_stacks(spec: EncoderDecoderSpec, encoder: StackNames, decoder: StackNames) -> dict[str, Stored]:
    """Return the place of each leaf of the two stacks."""
    return _stored_stack("encoder", spec.encoder, encoder, spec) | _stored_stack("decoder", spec.decoder, decoder, spec)


def with_optional_decoder(table: Mapping[str, Stored]) -> dict[str, Stored]:
    """Return a table for checkpoints some of which have the encoder only."""
    required = ("token_embedding", "encoder.")
    return {path: place if path.startswith(required) else replace(place, part="decoder") for path, place in table.items()}


def _stored_stack(path: str, layers: Sequence[EncoderLayerSpec], names: StackNames, spec: EncoderDecoderSpec) -> dict[str, Stored]:
    table: dict[str, Stored] = {}
    if spec.buckets is not None:
        shape = (spec.buckets.num_buckets, layers[0].attention.num_heads)
        table[f"{path}.position_bias"] = Stored(f"{names.position_bias}.weight", shape)
    for index, layer in enumerate(layers):
        matrices = matrices_of(spec.hidden_size, layer)
        if isinstance(layer, CrossLayerSpec):
            matrices |= attention_matrices(spec.hidden_size, layer.cross_attention, "cross_attention")
        for part, part_name in names.parts.items():
            leaf, name = f"{path}.layers.{index}.{part}", f"{names.layer.format(index)}.{part_name}"
            norm = getattr(layer, part, None)
            if part in matrices:
                rows, columns, has_bias = matrices[part]
                table |= stored_linear(leaf, name, rows, columns, has_bias=has_bias)
            elif norm is not None:
                table |= stored_norm(leaf, name, spec.hidden_size, has_bias=norm.kind == "layer_norm")
    if spec.norm is not None:
        table |= stored_norm(f"{path}.norm", names.norm, spec.hidden_size, has_bias=spec.norm.kind == "layer_norm")
    return table
