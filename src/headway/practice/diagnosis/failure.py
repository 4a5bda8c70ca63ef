"""Explanation of an exception: the line in the learner's file, and the shapes of the arrays in it."""

from __future__ import annotations

import re
import traceback
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy

from headway.practice.diagnosis.subject import Subject
from headway.practice.diagnosis.timeout import TookTooLongError
from headway.practice.exercise import Inputs, Probe
from headway.practice.message import BilingualError, Message, describe_error
from headway.practice.verdict import Cause

FILE_TITLE = Message("the file", "文件")
MUST_RETURN = Message(
    "make every call return: functions are called many times on small arrays", "请确保每次调用都能返回：函数会在小数组上被多次调用"
)
ENDS_THE_PROCESS = Message("ends the process (exit, quit or a crash)", "终止了整个进程（exit、quit 或崩溃）")
TOO_SLOW = Cause(
    "too_slow",
    Message("does not return within the time limit: an endless loop?", "没有在时限内返回：是不是死循环？"),
    MUST_RETURN,
    Message("", ""),
)


def explain(error: BaseException, subject: Subject, probe: Probe | None = None) -> Cause:
    """Return the cause for an exception, with the line in the learner's file and the shapes of the arrays in that line."""
    frame = _own_frame(error, subject)
    line = frame.tb_lineno if frame else None
    if isinstance(error, TookTooLongError):
        return replace(TOO_SLOW, line=line)
    text = _line(subject, line)
    shapes = _shapes_in(text, frame) if frame else ""
    name = type(error).__name__
    raised = describe_error(error)
    if isinstance(error, BilingualError):
        name = name if error.base is Exception else error.base.__name__
        if frame is None:  # raised before or after the learner's own code
            return Cause(f"raises_{name}", raised, _advice(error, probe), Message("", ""))
        raised = Message(f"{name}: {raised.en}", f"{name}：{raised.zh}")
    says = Message(
        f"raises {raised.en}" + (f", in `{text}`" if text else "") + (f", with {shapes}" if shapes else ""),
        f"抛出 {raised.zh}" + (f"，位于 `{text}`" if text else "") + (f"，其中 {shapes}" if shapes else ""),
    )
    return Cause(f"raises_{name}", says, _advice(error, probe), Message("", ""), line=line)


def _own_frame(error: BaseException, subject: Subject) -> TracebackType | None:
    """Return the innermost traceback frame in the learner's file."""
    code = getattr(subject.value, "__code__", None)
    file = code.co_filename if code else getattr(subject.module, "__file__", None)
    found, here = None, error.__traceback__
    while here is not None:
        if here.tb_frame.f_code.co_filename == file:
            found = here
        here = here.tb_next
    return found


def _line(subject: Subject, line: int | None) -> str:
    if line is None or not 0 <= line - subject.line < len(subject.source):
        return ""
    return subject.source[line - subject.line].strip()


def _shapes_in(text: str, frame: TracebackType) -> str:
    """Return the shapes of the arrays that a line names."""
    known = frame.tb_frame.f_locals
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text))
    return ", ".join(f"{name} {tuple(known[name].shape)}" for name in names if hasattr(known.get(name), "shape"))


def _advice(error: BaseException, probe: Probe | None) -> Message:
    if isinstance(error, NameError):
        return Message("define or import that name", "定义或导入这个名字")
    if isinstance(error, NotImplementedError):
        return Message("write the function body", "写出函数体")
    if probe is None:
        return Message("make this call work", "让这次调用能够运行")
    inputs = described_inputs(probe.inputs)
    return Message(f"make every step work for the inputs {inputs}", f"让每一步都支持这样的输入：{inputs}")


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


def last_line(error: BaseException, path: str) -> int | None:
    """Return the number of the last line of a file in an exception's traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return lines[-1] if lines else None
