"""Functions of an autograd library: classes whose static `forward` takes a context for `backward`, and then the operands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.outputs import OwnData

CONTEXTS = ("ctx", "context")
"""Names of the context, in which `forward` keeps what `backward` reads."""


class Context:
    """Stand-in for the context of an autograd library: it keeps what it is given."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad = (True,) * 9

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep the tensors."""
        self.saved_tensors = tensors

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **named: None


def of_context(owner: type) -> Callable[..., Any] | None:
    """Return such a class as a function of its operands, that of PyTorch with its own gradients; None for another class."""
    forward = inspect.getattr_static(owner, "forward", None)
    if not isinstance(forward, staticmethod) or not inspect.isfunction(forward.__func__):
        return None
    signature = inspect.signature(forward.__func__)
    parameters = [*signature.parameters.values()]
    if len(parameters) < 2 or parameters[0].name not in CONTEXTS:
        return None
    is_of_torch = any(base.__module__ == "torch.autograd.function" for base in owner.__mro__)
    operands = signature.replace(parameters=parameters[1:])

    def forwarded(context: Context, bound: inspect.BoundArguments) -> Any:
        bound.arguments = {name: _with_data(each) for name, each in bound.arguments.items()}
        return _plain(forward.__func__(context, *bound.args, **bound.kwargs))

    @functools.wraps(forward.__func__)
    def called(*values: Any, **named: Any) -> Any:
        bound = operands.bind(*values, **named)
        if is_of_torch:
            bound.apply_defaults()
            return owner.apply(*bound.args)  # type: ignore[attr-defined]
        return forwarded(Context(), bound)

    def run(**named: Any) -> tuple[Any, Callable[[Any], Any]]:
        """Return the output, and the function of its gradient that returns those of the operands."""
        context = Context()
        return forwarded(context, operands.bind(**named)), functools.partial(owner.backward, context)  # type: ignore[attr-defined]

    called.__signature__ = operands  # type: ignore[attr-defined]
    if is_of_torch:
        called.__headway_backward__ = owner.backward  # type: ignore[attr-defined]
    elif inspect.isfunction(getattr(owner, "backward", None)):
        called.__headway_run__ = run  # type: ignore[attr-defined]
    return called


def _with_data(value: Any) -> Any:
    """Return an array of NumPy as one whose `data` is the array, as that of a tensor."""
    return value.view(OwnData) if type(value) is numpy.ndarray else value


def _plain(answer: Any) -> Any:
    """Return an output with arrays of NumPy as such."""
    if isinstance(answer, tuple):
        return tuple(map(_plain, answer))
    return answer.view(numpy.ndarray) if isinstance(answer, OwnData) else answer
