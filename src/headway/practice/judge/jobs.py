"""Requests of the judge to the confined process. They are pickled: the judge is trusted by the process, never the other way round."""

from __future__ import annotations

import io
import pickle
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the server starts without what an exercise needs
    from headway.practice.exercise import Inputs, Probe
    from headway.practice.judge.claims import Claim


@dataclass(frozen=True)
class Phase:
    """One child of the server.

    folder       its home and temporary folder, the only one that it may change
    working      the folder that relative paths refer to
    seconds      limit of the processor time
    job          an Examination or Questions
    descriptors  pipes for requests and replies; None if it is the server itself, which then uses stdin and stdout
    """

    folder: Path
    working: Path
    seconds: float
    job: Any
    descriptors: tuple[int, int] | None


@dataclass(frozen=True)
class Examination:
    """A request for verdicts on a file.

    named    exercise of all subjects; None to infer it from their names
    skipped  subjects that are left out
    is_run   False to run only the file's definitions
    """

    path: Path
    text: str
    named: str | None
    skipped: tuple[str, ...]
    is_run: bool


@dataclass(frozen=True)
class Questions:
    """A request to load a file and to answer questions about some of its subjects.

    exercises  names of their exercises, whose answers are removed before the file is loaded
    is_open    True to leave Headway's own functions in place
    seed       seed of the probes, for inputs that cannot be sent
    """

    path: Path
    text: str
    exercises: tuple[str, ...]
    is_run: bool
    is_open: bool
    seed: int


@dataclass(frozen=True)
class Question:
    """A request for one output.

    inputs           pickled by `packed`
    has_conventions  False to call the subject with the inputs as they are, for measurements
    """

    claim: Claim
    inputs: bytes
    has_conventions: bool = True


def packed(inputs: Inputs, exercise: str, probes: Sequence[Probe]) -> bytes:
    """Return inputs as bytes; functions that cannot be pickled are references to the inputs of the probes.

    Errors   pickle.PicklingError for a function that no probe has.
    """
    known = {id(value): (exercise, number, path) for number, probe in enumerate(probes) for path, value in _leaves(probe.inputs)}

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            if isinstance(value, FunctionType) and "<" in value.__qualname__:
                return known.get(id(value))
            return None

    file = io.BytesIO()
    try:
        Pickler(file).dump(inputs)
    except (AttributeError, TypeError) as error:  # a function that is not among them
        raise pickle.PicklingError(str(error)) from error
    return file.getvalue()


def unpacked(data: bytes, probes_of: Mapping[str, Sequence[Probe]]) -> Inputs:
    """Return the inputs of bytes from `packed`."""

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, reference: Any) -> Any:
            exercise, number, path = reference
            return dict(_leaves(probes_of[exercise][number].inputs))[path]

    inputs: Inputs = Unpickler(io.BytesIO(data)).load()
    return inputs


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else None
    if items is None:
        yield path, value
        return
    for key, each in items:
        yield from _leaves(each, (*path, key))


def new_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new temporary folder for the confined processes."""
    return tempfile.TemporaryDirectory(prefix="headway-judge-", ignore_cleanup_errors=True)
