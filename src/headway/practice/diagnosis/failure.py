"""Why a learner's function raised instead of answering: the line, and the shapes of what stands in it."""

from __future__ import annotations

import re
import traceback
from dataclasses import replace
from types import TracebackType

from headway.practice.diagnosis.patience import TookTooLongError
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercise import Probe
from headway.practice.message import Message
from headway.practice.verdict import Cause

THE_FILE = Message("the file", "文件")
RETURN_SOON = Message(
    "functions are called many times on small arrays: each call must return", "函数会在小数组上被多次调用：每次都必须返回"
)
ENDS_THE_PROCESS = Message("it ends the whole process (exit, quit, or a crash)", "它结束了整个进程（exit、quit 或崩溃）")
TOO_SLOW = Cause(
    "too_slow",
    Message("it did not come back in time: an endless loop?", "没有在限定时间内返回：是不是死循环？"),
    RETURN_SOON,
    Message("", ""),
)


def explain(error: BaseException, subject: Subject, probe: Probe | None = None) -> Cause:
    """The error as a cause: what was raised, in which line of the learner's own file, with the shapes of the line's operands."""
    frame = _own_frame(error, subject)
    line = frame.tb_lineno if frame else None
    if isinstance(error, TookTooLongError):
        return replace(TOO_SLOW, line=line)
    text = _line(subject, line)
    shapes = _shapes_in(text, frame) if frame else ""
    said = f"{type(error).__name__}: {error}"
    says = Message(
        f"it raises {said}" + (f", in `{text}`" if text else "") + (f", where {shapes}" if shapes else ""),
        f"它抛出 {said}" + (f"，位于 `{text}`" if text else "") + (f"，其中 {shapes}" if shapes else ""),
    )
    return Cause(f"raises_{type(error).__name__}", says, _advice(error, probe), Message("", ""), line=line)


def _own_frame(error: BaseException, subject: Subject) -> TracebackType | None:
    """The innermost frame of the traceback that lies in the learner's file."""
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
    """The shapes of the arrays that a line names."""
    known = frame.tb_frame.f_locals
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text))
    return ", ".join(f"{name} {tuple(known[name].shape)}" for name in names if hasattr(known.get(name), "shape"))


def _advice(error: BaseException, probe: Probe | None) -> Message:
    shapes = ", ".join(f"{name} {value.shape}" for name, value in probe.inputs.items() if hasattr(value, "shape")) if probe else ""
    if isinstance(error, NameError):
        return Message("define that name, or import it", "先定义或导入这个名字")
    if isinstance(error, NotImplementedError):
        return Message("write the body", "写出函数体")
    return Message(f"it was called with {shapes}; make every step fit these shapes", f"调用时的输入为 {shapes}；让每一步都适合这些形状")


def last_line(error: BaseException, path: str) -> int | None:
    """The last line of a file that an error passed through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return lines[-1] if lines else None
