"""Initial weights."""

from __future__ import annotations

import torch

from headway.checkpoints import load_checkpoint, resolve_model
from headway.errors import OptionError
from headway.models.stored import Stored
from headway.train.architectures import Architecture, Config, Weights
from headway.train.options import TrainingOptions
from headway.trees import map_tree, tree_from_leaves


def initial_weights(config: Config, options: TrainingOptions) -> Weights:
    """Create initial weights: ones for norms, zeros for biases, normal random numbers for matrices; tied leaves share one tensor."""
    architecture = Architecture(options.architecture)
    if options.init_from is not None:
        return _loaded(config, options)
    generator = torch.Generator().manual_seed(options.seed)
    arrays: dict[str, torch.Tensor] = {}
    by_stored: dict[Stored, torch.Tensor] = {}
    for path, stored in architecture.module.stored_weights(config).items():
        if stored not in by_stored:
            deviation = architecture.deviation(path, stored.leaf_shape, options)
            by_stored[stored] = _initial(path, stored.leaf_shape, deviation, generator).to(options.device)
        arrays[path] = by_stored[stored]
    return tree_from_leaves(architecture.module.Weights, arrays)


def _loaded(config: Config, options: TrainingOptions) -> Weights:
    """Return the weights of the model in options.init_from in float32.

    Errors   OptionError if the model has another architecture or shape.
    """
    folder = resolve_model(str(options.init_from))
    checkpoint = load_checkpoint(folder, array="torch", dtype="float32")
    architecture = Architecture(options.architecture)
    for name in architecture.fields:
        have, want = getattr(checkpoint.config, name, None), getattr(config, name)
        if checkpoint.architecture is not architecture.module or have != want:
            raise OptionError(
                f"got {folder} with {name}={have!r}, expected {want!r}",
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
