"""Where numbers stopped being finite: in a weight, in an operation, or in a gradient."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from headway.train.batch import Batch
from headway.train.distributed import Processes, whole
from headway.train.model import TrainedModel


class _FoundError(Exception):
    """Carries the first operation's name out of the forward."""


def first_weight(model: TrainedModel) -> str | None:
    """The path of the first weight that is not finite."""
    return next((path for path, tensor in model.by_path().items() if not _is_finite(whole(tensor))), None)


def first_gradient(model: TrainedModel) -> str | None:
    """The path of the first weight whose gradient is not finite."""
    gradients = {path: tensor.grad for path, tensor in model.by_path().items() if tensor.grad is not None}
    return next((path for path, gradient in gradients.items() if not _is_finite(whole(gradient))), None)


def first_operation(model: TrainedModel, forward: Callable[..., Any], batch: Batch, processes: Processes) -> str | None:
    """The first operation of the forward of a batch that returns what is not finite, with the first weight it was given.

    forward   the model itself, or what several processes call for it
    """
    found = None
    try:
        with torch.no_grad():
            forward(batch, watched(model))
    except _FoundError as error:
        found = str(error)
    return processes.first_answer(found)


def watched(model: TrainedModel) -> SimpleNamespace:
    """The operations of the model's training, each of which is asked whether what it returns is finite."""

    def watch(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def watching(*operands: Any, **options: Any) -> Any:
            result = function(*operands, **options)
            if isinstance(result, torch.Tensor) and not _is_no_overflow(result):
                paths = {id(tensor): path for path, tensor in model.by_path().items()}
                given = [paths[id(operand)] for operand in operands if id(operand) in paths]
                raise _FoundError(f"{name} with {given[0]}" if given else name)
            return result

        return watching

    return SimpleNamespace(
        **{
            name: watch(name, value) if callable(value) and not isinstance(value, type) else value
            for name, value in vars(model.training_ops).items()
        }
    )


def _is_finite(tensor: torch.Tensor) -> bool:
    return bool(torch.isfinite(tensor).all())


def _is_no_overflow(tensor: torch.Tensor) -> bool:
    """Finite, or the -inf that forbids a place to be attended to."""
    return bool((torch.isfinite(tensor) | torch.isneginf(tensor)).all()) if tensor.is_floating_point() else True
