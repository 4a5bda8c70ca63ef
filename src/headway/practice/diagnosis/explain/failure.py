"""Explanation of an exception: the line in the learner's file, and the shapes of the arrays in it."""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import re
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy

from headway.errors import ShapeError
from headway.practice.diagnosis.calls.timeout import TookTooLongError
from headway.practice.diagnosis.reading.missing import is_published
from headway.practice.diagnosis.reading.subject import Subject, parsed, source_in
from headway.practice.exercise import Inputs, Probe
from headway.practice.message import EMPTY, BilingualError, Message, describe_error
from headway.practice.recipes.toy_model import ToyModel
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

FILE_TITLE = TEXTS["file_title"]
MUST_RETURN = TEXTS["must_return"]
ENDS_THE_PROCESS = TEXTS["ends_the_process"]
TOO_SLOW = Cause("too_slow", TEXTS["too_slow"], MUST_RETURN, EMPTY)


def explain(error: BaseException, subject: Subject, probe: Probe | None = None) -> Cause:
    """Return the cause for an exception, with the line in the learner's file and the shapes of the arrays in that line."""
    frame = own_frame(error, subject)
    line = frame.tb_lineno if frame else None
    if isinstance(error, TookTooLongError):
        return replace(TOO_SLOW, line=line)
    text = line_in(subject, line)
    shapes = _shapes_in(text, frame) if frame else ""
    name = type(error).__name__
    raised = describe_error(error)
    if isinstance(error, BilingualError):
        name = name if error.base is Exception else error.base.__name__
        if frame is None:  # raised before or after the learner's own code
            return Cause(f"raises_{name}", raised, _advice(error, probe), EMPTY)
        raised = TEXTS["name_and_error"].format(name=name, raised=raised)
    place = TEXTS["at_line"].format(written=text) if text else EMPTY
    arrays = TEXTS["with_shapes"].format(shapes=shapes) if shapes else EMPTY
    says = TEXTS["call_raises"].format(error=raised, place=place, arrays=arrays)
    return Cause(f"raises_{name}", says, _advice(error, probe), EMPTY, line=line)


REFUSALS = (NotImplementedError, ImportError, AssertionError)
"""Exceptions that say that a program is incomplete, needs what is not installed, or checks its inputs."""


def refuses(error: BaseException, subject: Subject) -> bool:
    """Return True for an exception that is no mistake: one that the learner's own code raises, or of something that is missing."""
    is_refusal = isinstance(error, REFUSALS) and not _is_of_arrays(error)
    if is_refusal or is_of_stand_in(error) or unknown_keyword(error, subject) is not None:
        return True
    frame = own_frame(error, subject)
    written = line_in(subject, frame.tb_lineno) if frame is not None and frame.tb_next is None else ""
    return written.startswith(("raise ", "raise(", "assert ", "assert("))


def _is_of_arrays(error: BaseException) -> bool:
    """Return True for an exception that a library raises because of the arrays that it is given, `not implemented for 'Float'`, not of something missing."""
    frames = traceback.extract_tb(error.__traceback__)
    is_of_library = bool(frames) and not {*Path(frames[-1].filename).parts}.isdisjoint(("site-packages", "dist-packages"))
    return isinstance(error, AssertionError | NotImplementedError) and (is_of_library or re.search(OF_DTYPE, str(error)) is not None)


OF_DTYPE = r"not implemented for '\w+'"
"""Pattern of the message of an exception because of an array's dtype."""


def is_of_stand_in(error: BaseException) -> bool:
    """Return True for an error of what is passed in place of the learner's own: an attribute or operands that a model lacks, other operands of a correct part."""
    is_lacking = isinstance(error, AttributeError) and type(error.obj).__module__.partition(".")[0] == "headway"
    is_of_operands = isinstance(error, TypeError) and re.match(rf"{ToyModel.__name__}\.\w+\(\) ", str(error)) is not None
    return is_lacking or is_of_operands or isinstance(error, ShapeError)


KEYWORD = r"(?:\w+\.)*(\w+)\(\) got an unexpected keyword argument '(\w+)'.*"
"""Pattern of the message of a call with a keyword that a function does not take."""


def unknown_keyword(error: BaseException, subject: Subject) -> str | None:
    """Return the keyword that a library's function in this version does not take, and that resembles none of its own; None for other errors."""
    frame = own_frame(error, subject)
    found = re.fullmatch(KEYWORD, str(error), re.DOTALL) if isinstance(error, TypeError) and frame is not None else None
    if found is None or frame is None or source_in(subject.text, found[1]) is not None:
        return None
    names = frame.tb_frame.f_globals | frame.tb_frame.f_locals
    called = next(filter(None, (_called(node, found[2], names) for node in ast.walk(parsed(subject.text)))), None)
    try:
        known = list(inspect.signature(called).parameters) if callable(called) else []
    except (TypeError, ValueError):
        return None
    return found[2] if known and not difflib.get_close_matches(found[2], known) else None


def _called(node: ast.AST, keyword: str, names: Mapping[str, Any]) -> Any:
    """Return the function that a call with a keyword names, or None."""
    if not isinstance(node, ast.Call) or not any(each.arg == keyword for each in node.keywords):
        return None
    path = ast.unparse(node.func).split(".")
    if not all(each.isidentifier() for each in path):
        return None
    return functools.reduce(lambda value, name: getattr(value, name, None), path[1:], names.get(path[0]))


def lacks_base_constructor(error: BaseException) -> bool:
    """Return True for the error of a torch module whose constructor does not call that of its base class first."""
    return isinstance(error, AttributeError) and "before Module.__init__() call" in str(error)


def lacks_call(error: BaseException) -> bool:
    """Return True for the error of an attribute of an array's method that is not called: `x.contiguous.view(…)`."""
    return isinstance(error, AttributeError) and inspect.isroutine(error.obj) and hasattr(getattr(error.obj, "__self__", None), "shape")


UNPACKED = r"[(,]\s*\*"
"""Pattern of a line with operands from a sequence or a dictionary."""
MISSING_OPERANDS = r"([\w.]+)\(\) missing \d+ required (positional|keyword-only) arguments?: "


def lacks_operands(error: BaseException, subject: Subject) -> bool:
    """Return True for a call in the learner's code of a function that is not the learner's own, without an operand that it needs."""
    found = re.match(MISSING_OPERANDS, str(error)) if type(error) is TypeError else None
    frame = own_frame(error, subject)
    if found is None or frame is None or frame.tb_next is not None or re.search(UNPACKED, line_in(subject, frame.tb_lineno)):
        return False
    name = found[1].removesuffix(".__init__").rpartition(".")[2]
    return not re.search(rf"\b(def|class) {name}\b", subject.text)


def own_frame(error: BaseException, subject: Subject) -> TracebackType | None:
    """Return the innermost traceback frame in the learner's file."""
    code = getattr(inspect.unwrap(subject.value), "__code__", None)
    file = code.co_filename if code else getattr(subject.module, "__file__", None)
    found, here = None, error.__traceback__
    while here is not None:
        if here.tb_frame.f_code.co_filename == file:
            found = here
        here = here.tb_next
    return found


def is_from_another_file(error: BaseException, subject: Subject) -> bool:
    """Return True if the learner's own code in another file of the folder raised an exception."""
    own = getattr(subject.module, "__file__", None)
    frames = traceback.extract_tb(error.__traceback__)
    if own is None or not frames:
        return False
    file, folder = Path(frames[-1].filename), Path(own).parent
    return str(file) != own and "site-packages" not in file.parts and any(file.is_relative_to(each) for each in (folder, folder.parent))


def line_in(subject: Subject, line: int | None) -> str:
    """Return a line of a subject's source without its indentation, empty if it is outside."""
    if line is None or not 0 <= line - subject.line < len(subject.source):
        return ""
    return subject.source[line - subject.line].strip()


def _shapes_in(text: str, frame: TracebackType) -> str:
    """Return the shapes of the arrays that a line names."""
    known = frame.tb_frame.f_locals
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text))
    shapes = {name: _shape_of(known.get(name)) for name in names}
    return ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items() if isinstance(shape, tuple))


def _shape_of(value: object) -> object:
    """Return the shape of an array; None for other values, whose own `__getattr__` may raise anything."""
    with suppress(Exception):
        return getattr(value, "shape", None)
    return None


def _advice(error: BaseException, probe: Probe | None) -> Message:
    if isinstance(error, NameError):
        return TEXTS["define_name"]
    if lacks_base_constructor(error):
        return TEXTS["call_base_constructor"]
    if isinstance(error, ModuleNotFoundError):
        return how_to_add(error.name or "")
    if isinstance(error, NotImplementedError) and not _is_of_arrays(error):
        return TEXTS["write_function_body"]
    if probe is None:
        return TEXTS["make_call_work"]
    inputs = described_inputs(probe.inputs)
    return TEXTS["every_step"].format(inputs=inputs)


def how_to_add(module: str) -> Message:
    """Return the advice on a module that is missing: a published package is installed, another may be a file of the author."""
    advice = TEXTS["install"] if is_published(module) else TEXTS["add_file_or_package"]
    return advice.format(name=module)


def described_inputs(inputs: Inputs) -> str:
    """Return the shapes of a probe's arrays, or its values if it has no arrays."""
    arrays = {name: value for name, value in inputs.items() if isinstance(value, numpy.ndarray)}
    if arrays:
        return ", ".join(f"{name} {value.shape}" for name, value in arrays.items())
    return ", ".join(f"{name} {_described(value)}" for name, value in inputs.items())


def _described(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], numpy.ndarray):
        return " ".join(str(each.shape) for each in value)
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
