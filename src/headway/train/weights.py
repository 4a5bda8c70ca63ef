"""The weights a run starts from."""

from __future__ import annotations

import math
from typing import Any

import torch

from headway.models import gpt2
from headway.trees import tree_from_leaves


def initial_weights(config: gpt2.Config, *, seed: int, device: str) -> Any:
    """GPT-2's: normal with deviation 0.02, those that write into the residual stream divided by √(2 · num_layers).

    Source   Radford et al. 2019, section 2.3
    """
    generator = torch.Generator().manual_seed(seed)
    arrays: dict[str, torch.Tensor] = {}
    by_place: dict[Any, torch.Tensor] = {}
    for path, place in gpt2.stored_weights(config).items():
        if place not in by_place:
            by_place[place] = _initial(path, place.leaf_shape, config.n_layer, generator).to(device).requires_grad_()
        arrays[path] = by_place[place]
    return tree_from_leaves(gpt2.Weights, arrays)


def _initial(path: str, shape: tuple[int, ...], num_layers: int, generator: torch.Generator) -> torch.Tensor:
    if path.endswith("norm.weight"):
        return torch.ones(shape)
    if path.endswith("bias"):
        return torch.zeros(shape)
    deviation = 0.02 / math.sqrt(2 * num_layers) if path.endswith(("output.weight", "down.weight")) else 0.02
    return torch.normal(0.0, deviation, shape, generator=generator)
