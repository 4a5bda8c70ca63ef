"""Encodings of inputs and decodings of outputs that conventions of several parts consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headway.practice.exercise import Inputs


def without(inputs: Inputs, *names: str) -> Inputs:
    """Return the inputs without some operands."""
    return {name: value for name, value in inputs.items() if name not in names}


def changed(**changes: Callable[[Any], Any]) -> Callable[[Inputs], Inputs]:
    """Return an encoding that changes operands; it does not apply to inputs that lack one of them."""
    return lambda inputs: inputs | {name: change(inputs[name]) for name, change in changes.items()}


def sequence_first(inputs: Inputs) -> Inputs | None:
    """Return the inputs with a column of ids for each sequence; None for those without a batch of ids."""
    ids = inputs["token_ids"]
    exchanged = {name: inputs[name].swapaxes(0, 1) for name in ("token_ids", "segment_ids") if name in inputs and ids.ndim == 2}
    return inputs | exchanged if exchanged else None


def batch_first(answer: Any, inputs: Inputs) -> Any:
    """Return an output of three axes with the batch before the positions; other outputs stay."""
    return answer.swapaxes(0, 1) if getattr(answer, "ndim", 0) == 3 else answer


def first_given(values: Iterable[Any]) -> Any:
    """Return the first value that is not None; None if there is none."""
    return next((each for each in values if each is not None), None)


def first_of_tuple(least: int = 1) -> Callable[[Any, Inputs], Any]:
    """Return a decoding to the first element of a tuple of this length or longer that is not None; other outputs stay."""

    def decode(answer: Any, inputs: Inputs) -> Any:
        if not (isinstance(answer, tuple) and len(answer) >= least):
            return answer
        return first_given(answer)

    return decode
