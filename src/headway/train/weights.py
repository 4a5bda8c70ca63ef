"""The weights a run starts from."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from headway.checkpoints import load_checkpoint, resolve_model
from headway.errors import OptionError
from headway.train.architectures import ARCHITECTURES
from headway.train.options import TrainingOptions
from headway.trees import map_tree, tree_from_leaves


def initial_weights(config: Any, options: TrainingOptions) -> Any:
    """Ones for norms, zeros for biases, and for matrices a normal draw as wide as the architecture says; tied leaves are one tensor."""
    architecture = ARCHITECTURES[options.architecture]
    if options.init_from is not None:
        return _loaded(config, options)
    generator = torch.Generator().manual_seed(options.seed)
    arrays: dict[str, torch.Tensor] = {}
    by_place: dict[Any, torch.Tensor] = {}
    for path, place in architecture.module.stored_weights(config).items():
        if place not in by_place:
            deviation = architecture.deviation(path, place.leaf_shape, options)
            by_place[place] = _initial(path, place.leaf_shape, deviation, generator).to(options.device)
        arrays[path] = by_place[place]
    return tree_from_leaves(architecture.module.Weights, arrays)


def _loaded(config: Any, options: TrainingOptions) -> Any:
    """Return the weights of the model in options.init_from in float32.

    Errors   OptionError if the model has another architecture or shape.
    """
    folder = resolve_model(str(options.init_from))
    checkpoint = load_checkpoint(folder, array="torch", dtype="float32")
    for field in dataclasses.fields(config):
        have, want = getattr(checkpoint.config, field.name, None), getattr(config, field.name)
        if checkpoint.architecture is not ARCHITECTURES[options.architecture].module or have != want:
            raise OptionError(
                f"got {folder} with {field.name}={have!r}, expected {want!r}",
                hint="give the architecture and the sizes of the model in --from, or leave --from out",
            )
    # The file stores some matrices transposed; a state file needs contiguous ones.
    copies: dict[int, torch.Tensor] = {}
    return map_tree(
        lambda leaf: copies.setdefault(id(leaf), leaf.clone(memory_format=torch.contiguous_format).to(options.device)), checkpoint.weights
    )


def _initial(path: str, shape: tuple[int, ...], deviation: float, generator: torch.Generator) -> torch.Tensor:
    if path.endswith("norm.weight"):
        return torch.ones(shape)
    if path.endswith("bias"):
        return torch.zeros(shape)
    return torch.normal(0.0, deviation, shape, generator=generator)
