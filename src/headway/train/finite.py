"""Search for the origin of a NaN or infinity: a weight, an operation or a gradient."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import torch

from headway.train.batch import Batch
from headway.train.distributed import Processes, full_tensor
from headway.train.model import TrainedModel


class _FoundError(Exception):
    """Leaves the forward pass with the name of the operation as its message."""


def first_weight(model: TrainedModel) -> str | None:
    """Return the path of the first weight that is not finite."""
    return next((path for path, tensor in model.by_path().items() if not _is_finite(full_tensor(tensor))), None)


def first_gradient(model: TrainedModel) -> str | None:
    """Return the path of the first weight whose gradient is not finite."""
    gradients = {path: tensor.grad for path, tensor in model.by_path().items() if tensor.grad is not None}
    return next((path for path, gradient in gradients.items() if not _is_finite(full_tensor(gradient))), None)


def first_operation(model: TrainedModel, forward: torch.nn.Module, batch: Batch, processes: Processes) -> str | None:
    """Return the first operation of a forward pass whose result is not finite, and its first weight argument.

    forward   the model, or its wrapper for several processes
    """
    found = None
    try:
        with torch.no_grad():
            forward(batch, checked_operations(model))
    except _FoundError as error:
        found = str(error)
    return processes.first_not_none(found)


def checked_operations(model: TrainedModel) -> SimpleNamespace:
    """Return the operations of the model's training, wrapped to raise _FoundError if a result is not finite."""

    def checked(name: str, function: Callable[..., object]) -> Callable[..., object]:
        def call(*operands: object, **options: object) -> object:
            result = function(*operands, **options)
            if isinstance(result, torch.Tensor) and not _is_finite_or_masked(result):
                paths = {id(tensor): path for path, tensor in model.by_path().items()}
                weights = [paths[id(operand)] for operand in operands if id(operand) in paths]
                raise _FoundError(f"{name} with {weights[0]}" if weights else name)
            return result

        return call

    return SimpleNamespace(
        **{
            name: checked(name, value) if callable(value) and not isinstance(value, type) else value
            for name, value in vars(model.training_ops).items()
        }
    )


def _is_finite(tensor: torch.Tensor) -> bool:
    return bool(torch.isfinite(tensor).all())


def _is_finite_or_masked(tensor: torch.Tensor) -> bool:
    """Return True if all elements are finite or -inf, which masks use."""
    return bool((torch.isfinite(tensor) | torch.isneginf(tensor)).all()) if tensor.is_floating_point() else True
