"""Parameter names of torch.nn's attention and Transformer modules, and their names in headway.nn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from headway.errors import OptionError, UnsupportedError

ENCODER_LAYER = {
    "self_attn": "attention",
    "norm1": "attention_norm",
    "linear1": "feed_forward.up",
    "linear2": "feed_forward.down",
    "norm2": "feed_forward_norm",
}
DECODER_LAYER = {
    "self_attn": "self_attention",
    "norm1": "self_attention_norm",
    "multihead_attn": "cross_attention",
    "norm2": "cross_attention_norm",
    "linear1": "feed_forward.up",
    "linear2": "feed_forward.down",
    "norm3": "feed_forward_norm",
}
PROJECTIONS = {"query": "q_proj_weight", "key": "k_proj_weight", "value": "v_proj_weight"}


def from_torch_state_dict(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename the state_dict of a torch.nn.MultiheadAttention, a torch.nn.Transformer or a part of it to the names of headway.nn.

    torch stores query, key and value in one matrix if their widths are equal, and their biases always in one vector; the result
    has views of these. Parameters that belong to neither an attention nor a layer keep their names.

    Errors   UnsupportedError for an attention with extra keys (add_bias_kv).
    """
    converted: dict[str, Tensor] = {}
    groups = _grouped(state, DECODER_LAYER)
    for (prefix, part), parameters in groups.items():
        names = DECODER_LAYER if (prefix, "multihead_attn") in groups else ENCODER_LAYER
        is_attention = part.endswith("_attn") or "out_proj.weight" in parameters
        path = prefix + f"{names[part]}." if part else ""
        converted |= _under(path, _attention_from_torch(parameters) if is_attention else parameters)
    return converted


def to_torch_state_dict(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename the state_dict of a headway.nn MultiHeadAttention, Transformer or a part of it to the names of torch.nn.

    Errors   OptionError for grouped heads, which torch.nn lacks.
    """
    converted: dict[str, Tensor] = {}
    groups = _grouped(state, {*ENCODER_LAYER.values(), *DECODER_LAYER.values()})
    for (prefix, part), parameters in groups.items():
        names = DECODER_LAYER if (prefix, "cross_attention") in groups else ENCODER_LAYER
        is_attention = part.endswith("attention") or "query.weight" in parameters
        path = prefix + next(f"{theirs}." for theirs, ours in names.items() if ours == part) if part else ""
        converted |= _under(path, _attention_to_torch(parameters) if is_attention else parameters)
    return converted


def _attention_from_torch(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    if "bias_k" in state:
        raise UnsupportedError("got an attention with bias_k and bias_v, expected one without", hint="make it with add_bias_kv=False")
    packed, bias = state.get("in_proj_weight"), state.get("in_proj_bias")
    matrices = [state[theirs] for theirs in PROJECTIONS.values()] if packed is None else packed.chunk(3)
    converted = {f"{name}.weight": matrix for name, matrix in zip(PROJECTIONS, matrices, strict=True)}
    if bias is not None:
        converted |= {f"{name}.bias": part for name, part in zip(PROJECTIONS, bias.chunk(3), strict=True)}
    return converted | {name.replace("out_proj", "output"): tensor for name, tensor in state.items() if name.startswith("out_proj.")}


def _attention_to_torch(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    matrices = {name: state[f"{name}.weight"] for name in PROJECTIONS}
    shapes = {matrix.shape for matrix in matrices.values()}
    if len({rows for rows, _ in shapes}) > 1:
        raise OptionError(
            "got an attention with fewer key heads than query heads, expected equal numbers, because torch.nn has no grouped heads"
        )
    if len(shapes) == 1:
        converted = {"in_proj_weight": torch.cat(list(matrices.values()))}
    else:
        converted = {theirs: matrices[name] for name, theirs in PROJECTIONS.items()}
    if "query.bias" in state:
        converted["in_proj_bias"] = torch.cat([state[f"{name}.bias"] for name in PROJECTIONS])
    return converted | {name.replace("output", "out_proj"): tensor for name, tensor in state.items() if name.startswith("output.")}


def _grouped(state: Mapping[str, Tensor], parts: Iterable[str]) -> dict[tuple[str, str], dict[str, Tensor]]:
    """Group the parameters by layer prefix and part of the layer; both are empty for parameters outside of layers."""
    groups: dict[tuple[str, str], dict[str, Tensor]] = {}
    for key, tensor in state.items():
        path = f".{key}"
        part = next((part for part in parts if f".{part}." in path), "")
        prefix, _, name = path.partition(f".{part}.") if part else ("", "", key)
        groups.setdefault((f"{prefix[1:]}." if prefix else "", part), {})[name] = tensor
    return groups


def _under(path: str, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{path}{name}": tensor for name, tensor in parameters.items()}
