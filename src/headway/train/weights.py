"""The weights a run starts from."""

from __future__ import annotations

from typing import Any

import torch

from headway.train.architectures import ARCHITECTURES
from headway.train.options import TrainingOptions
from headway.trees import tree_from_leaves


def initial_weights(config: Any, options: TrainingOptions) -> Any:
    """Ones for norms, zeros for biases, and for matrices a normal draw as wide as the architecture says; tied leaves are one tensor."""
    architecture = ARCHITECTURES[options.architecture]
    generator = torch.Generator().manual_seed(options.seed)
    arrays: dict[str, torch.Tensor] = {}
    by_place: dict[Any, torch.Tensor] = {}
    for path, place in architecture.module.stored_weights(config).items():
        if place not in by_place:
            deviation = architecture.deviation(path, place.leaf_shape, options)
            by_place[place] = _initial(path, place.leaf_shape, deviation, generator).to(options.device)
        arrays[path] = by_place[place]
    return tree_from_leaves(architecture.module.Weights, arrays)


def _initial(path: str, shape: tuple[int, ...], deviation: float, generator: torch.Generator) -> torch.Tensor:
    if path.endswith("norm.weight"):
        return torch.ones(shape)
    if path.endswith("bias"):
        return torch.zeros(shape)
    return torch.normal(0.0, deviation, shape, generator=generator)
