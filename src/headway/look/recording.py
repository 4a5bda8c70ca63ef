"""Recording of a call: `sys.settrace` over the functions of chosen files, one step per statement that runs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import headway
from headway.look.axes import AxisNames, names_for, parse_shapes
from headway.look.provenance import operands_of
from headway.look.statements import FunctionSource, function_source
from headway.look.trace import Call, Source, Step, Trace, Value, values_of
from headway.look.values import MOST_NUMBERS, fingerprint, summaries

MOST_STEPS = 3000
"""Most statements of a recording that are stored."""

MOST_DEPTH = 12
DEFINITIONS = tuple(str(Path(headway.__file__).parent / name) for name in ("functions", "models"))

IsFollowed = Callable[[str], bool]


@dataclass(frozen=True)
class Recorded:
    """A recording with the function's result, or the exception that it raised."""

    trace: Trace
    result: object = None
    error: BaseException | None = None


def is_definition(file: str) -> bool:
    """Return True for a file of the definitions or of the architectures."""
    return file.startswith(DEFINITIONS)


def record(
    function: Callable[..., object],
    *args: object,
    is_followed: IsFollowed | None = None,
    names: AxisNames | None = None,
    text: str | None = None,
    most: int = MOST_NUMBERS,
    **kwargs: object,
) -> Recorded:
    """Call a function and record each of its statements, and those of the functions that it calls.

    is_followed   decides by file which functions are recorded; by default those of the function's own file and the definitions
    names         names of the axes; by default those of the function's `Shapes` block
    text          text of the function's own file, if it cannot be read
    most          most numbers of an array to store
    """
    own = getattr(inspect.unwrap(function), "__code__", None)
    own_file = own.co_filename if own else ""
    recorder = _Recorder(is_followed or (lambda file: file == own_file or is_definition(file)), names, {own_file: text}, most)
    before = sys.gettrace()
    result, error = None, None
    sys.settrace(recorder.follow)
    try:
        result = function(*args, **kwargs)
    except Exception as raised:
        error = raised
    finally:
        sys.settrace(before)
    return Recorded(recorder.trace(function, result), result, error)


@dataclass
class _Frame:
    """A call that has not returned.

    line     statement that runs, None before the first one
    seen     fingerprint of each local name
    latest   latest value of each name
    """

    code: CodeType
    source: FunctionSource
    names: AxisNames
    arguments: tuple[Value, ...]
    seen: dict[str, object]
    latest: dict[str, Value]
    line: int | None = None
    calls: list[Call] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    num_omitted: int = 0
    error: str = ""


class _Recorder:
    """The functions that `sys.settrace` calls, and the calls recorded so far."""

    def __init__(self, is_followed: IsFollowed, names: AxisNames | None, texts: dict[str, str | None], most: int) -> None:
        self.is_followed, self.names, self.texts, self.most = is_followed, names, texts, most
        self.stack: list[_Frame] = []
        self.sources: list[Source] = []
        self.finished: list[Call] = []
        self.known: dict[object, Value] = {}
        self.num_steps = 0

    def follow(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        """Begin a call, if its function is one to record."""
        code = frame.f_code
        if event != "call" or len(self.stack) >= MOST_DEPTH or not self.is_followed(code.co_filename):
            return None
        if code.co_name.startswith("<") and code.co_name != "<lambda>":
            return None
        if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            return None  # a generator runs in pieces between the statements of its caller
        source = function_source(code, self.texts.get(code.co_filename))
        if source is None:
            return None
        shapes = parse_shapes(source.docstring)
        arguments = dict(frame.f_locals)
        outermost = self.names or names_for(shapes, arguments)
        names = self.stack[-1].names.inner(shapes, arguments) if self.stack else outermost
        values = tuple(each for name, value in arguments.items() for each in self._values(name, value, names))
        seen = {name: fingerprint(value) for name, value in arguments.items()}
        self.stack.append(_Frame(code, source, names, values, seen, {value.name: value for value in values}))
        return self._event

    def _event(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        own = self.stack[-1]
        if own.code is not frame.f_code:  # a frame that was entered before an exception unwound the stack
            return self._event
        if event == "line":
            line = own.source.first_of.get(frame.f_lineno, frame.f_lineno)
            if line != own.line:
                self._finish(own, frame)
                own.line = line
        elif event == "exception":
            own.error = f"{argument[0].__name__}: {argument[1]}"[:200]
        elif event == "return":
            self._return(own, frame, argument)
        return self._event

    def _finish(self, own: _Frame, frame: FrameType, returned: tuple[Value, ...] = ()) -> None:
        """Store the statement that has run."""
        if own.line is None:
            return
        own.error = ""  # the exception was handled, because another statement runs
        changed: list[Value] = []
        for name, value in frame.f_locals.items():
            now = fingerprint(value)
            if own.seen.get(name) != now:
                own.seen[name] = now
                changed += self._values(name, value, own.names)
        self._store(own, (*changed, *returned))

    def _store(self, own: _Frame, values: tuple[Value, ...]) -> None:
        assert own.line is not None
        calls, own.calls = tuple(own.calls), []
        if self.num_steps >= MOST_STEPS:
            own.num_omitted += 1
            return
        self.num_steps += 1
        statement = own.source.statements.get(own.line)
        operands = operands_of(statement, values, own.latest) if statement else ()
        own.steps.append(Step(own.line, values, calls, operands))
        own.latest |= {value.name: value for value in values}

    def _return(self, own: _Frame, frame: FrameType, result: object) -> None:
        error = own.error
        returned = () if error else tuple(self._values("return", result, own.names))
        self._finish(own, frame, returned)
        self.stack.pop()
        if own.source.source not in self.sources:
            self.sources.append(own.source.source)
        place = self.sources.index(own.source.source)
        single = returned[0] if len(returned) == 1 else None
        call = Call(own.code.co_name, place, own.arguments, tuple(own.steps), single, own.num_omitted, error)
        (self.stack[-1].calls if self.stack else self.finished).append(call)

    def _values(self, name: str, value: object, names: AxisNames) -> list[Value]:
        with suppress(Exception):  # an object of a learner's may raise at any access
            return list(summaries(name, value, names.of, most=self.most, known=self.known))
        return []

    def trace(self, function: Callable[..., object], result: object) -> Trace:
        """Return the trace; a function without source gets a call without steps."""
        names = self.names
        if not self.finished:
            name = getattr(function, "__name__", type(function).__name__)
            returned = self._values("return", result, names or AxisNames({}))
            source = Source("", name, ())
            return Trace(Call(name, 0, (), (), returned[0] if len(returned) == 1 else None), (source,))
        call = self.finished[-1]  # the call of a class's instance follows its construction
        sizes = {axis: size for value in values_of(call) for axis, size in zip(value.axes, value.shape or (), strict=False) if axis}
        return Trace(call, tuple(self.sources), tuple(sizes.items()))
