"""Views of definitions and of functions with given inputs."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy

from headway import functions
from headway.errors import OptionError
from headway.look.examples import example_inputs
from headway.look.html import Panel
from headway.look.recording import record
from headway.look.trace import Trace
from headway.look.view import View
from headway.practice.message import Message, PracticeError, joined, same
from headway.practice.texts import Texts

TEXTS = Texts("look")


def definition(name: str) -> Callable[..., object]:
    """Return the function of headway.functions with this name.

    Errors   OptionError with the closest names for an unknown one.
    """
    found = getattr(functions, name, None)
    if not inspect.isfunction(found):
        near = difflib.get_close_matches(name, [each for each in functions.__all__ if each.islower()], 3, 0.4)
        raise PracticeError(
            TEXTS["unknown"].format(name=repr(name)),
            hint=TEXTS["did_you_mean"].format(names=joined(near, en=" or ", zh=" 或 ")) if near else None,
        )
    return found


def view_of_call(function: Callable[..., object], *args: object, **kwargs: Any) -> View:
    """Return the view of a function with its arguments.

    Errors   the function's own exception, if it raises before a statement of it was recorded.
    """
    recorded = record(function, *args, **kwargs)
    if recorded.error is not None and not recorded.trace.call.steps:
        raise recorded.error
    return view_of_trace(recorded.trace)


def view_of_trace(trace: Trace) -> View:
    """Return the view of one trace."""
    source = trace.sources[trace.call.source]
    return View(same(trace.call.function), (Panel(same(source.function), trace),), same(source.summary) if source.summary else None)


def view_of_definition(name: str, inputs: Mapping[str, object] | None = None) -> View:
    """Return the view of a definition with inputs by parameter, by default small example inputs.

    Errors   OptionError for an unknown name, or inputs that are not its parameters.
    """
    function = definition(name)
    given = example_inputs(function) if inputs is None else checked(function, inputs)
    return view_of_call(function, **given)


def checked(function: Callable[..., object], inputs: Mapping[str, object]) -> dict[str, Any]:
    """Return inputs by parameter.

    Errors   OptionError for inputs that the function does not take, or takes and are missing.
    """
    parameters = inspect.signature(function).parameters
    unknown = sorted(set(inputs) - set(parameters))
    missing = sorted(name for name, each in parameters.items() if each.default is each.empty and name not in inputs)
    if unknown or missing:
        names = ", ".join(parameters)
        got = ", ".join(sorted(inputs)) or "none"
        raise PracticeError(
            Message(f"got inputs {got}, expected some of {names}", f"收到的输入为 {got}，应为 {names} 中的几个"),
            hint=Message(f"missing: {', '.join(missing)}", f"缺少：{'、'.join(missing)}") if missing else None,
        )
    return dict(inputs)


def read_inputs(path: Path) -> dict[str, Any]:
    """Return the arrays of an .npz file by name; an array without axes becomes a number.

    Errors   OptionError for a file that cannot be read or that holds pickled objects.
    """
    try:
        with numpy.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise OptionError(f"got {path}, which does not exist, expected an .npz file") from None
    except (OSError, ValueError, AttributeError, EOFError) as error:
        hint = "write it with numpy.savez(path, x=x)"
        raise OptionError(f"got {path}, expected an .npz file of arrays ({error})", hint=hint) from error
    return {name: array if array.shape else array.item() for name, array in arrays.items()}
