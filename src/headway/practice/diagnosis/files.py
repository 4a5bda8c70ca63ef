"""Functions and classes in a learner's file, and the exercise that each one belongs to."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from headway.practice.diagnosis.failure import FILE_TITLE, last_line
from headway.practice.diagnosis.recognising import recognised
from headway.practice.diagnosis.subject import Subject, definitions, subjects_of
from headway.practice.diagnosis.timeout import time_limit
from headway.practice.exercise import Exercise
from headway.practice.exercises import NAMES, exercise
from headway.practice.message import Message, PracticeError, describe_error, unknown_name
from headway.practice.verdict import Cause, Verdict

ASSIGNMENT_SECONDS = 0.5
"""CPU seconds for one assignment when only a file's definitions are run."""


def read_source(path: Path) -> str:
    """Return the Python text of a .py file, or of the code cells of a notebook.

    Errors   OptionError for a missing file, or one that is neither.
    """
    if not path.is_file():
        raise PracticeError(
            Message(
                f"got {path}, {'a folder' if path.is_dir() else 'which does not exist'}, expected a .py file or a notebook",
                f"收到 {path}（{'这是文件夹' if path.is_dir() else '不存在'}），应为 .py 文件或 notebook",
            )
        )
    try:
        text = path.read_text(encoding="utf-8")
        return _cells(json.loads(text)) if path.suffix == ".ipynb" else text
    except (UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise PracticeError(
            Message(
                f"got {path}, which cannot be read ({error}), expected UTF-8 Python or a notebook",
                f"收到 {path}，无法读取，应为 UTF-8 编码的 Python 文件或 notebook",
            )
        ) from error


def load_module(path: Path, text: str) -> ModuleType | Verdict:
    """Run a file as a module that is not __main__; return a verdict if it raises."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module  # dataclasses and pickle look the module up by name
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        return _does_not_run(path, text, error)
    return module


def load_definitions(path: Path, text: str) -> ModuleType | Verdict:
    """Run only the imports and definitions of a file; return a verdict if one of them raises.

    Assignments run as well, but are skipped if they raise or exceed ASSIGNMENT_SECONDS.
    """
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    try:
        for statement in ast.parse(text).body:
            code = compile(ast.Module([statement], []), str(path), "exec")
            if isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
                exec(code, module.__dict__)
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                with suppress(Exception, SystemExit), time_limit(ASSIGNMENT_SECONDS):
                    exec(code, module.__dict__)
    except (Exception, SystemExit) as error:
        return _does_not_run(path, text, error)
    return module


def with_exercises(module: ModuleType, text: str, named: str | None = None) -> Iterator[tuple[Subject, Exercise]]:
    """Yield a file's functions and classes with their exercises, found by name or by outputs; with `named`, always that exercise.

    Errors   OptionError for an unknown exercise.
    """
    subjects = subjects_of(module, text)
    if named is not None:
        chosen = exercise(check_name(named))
        matching = [subject for subject in subjects if re.search(chosen.called, subject.name, re.IGNORECASE)]
        yield from ((subject, chosen) for subject in matching or [each for each in subjects if not each.is_private][:1] or subjects[:1])
        return
    for subject in subjects:
        if _is_abstract(subject, subjects):
            continue
        found = recognised(subject)
        if found is not None:
            yield subject, found


def _is_abstract(subject: Subject, subjects: Sequence[Subject]) -> bool:
    """Return True for a base class whose methods another class of the file implements."""
    if not inspect.isclass(subject.value) or not re.search(r"NotImplementedError|@abstractmethod", "\n".join(subject.source)):
        return False
    others = [each.value for each in subjects if each is not subject and inspect.isclass(each.value)]
    return inspect.isabstract(subject.value) or any(issubclass(other, subject.value) for other in others)


def check_name(name: str) -> str:
    """Return the name if it is an exercise's.

    Errors   OptionError with the closest names otherwise.
    """
    if name in NAMES:
        return name
    raise unknown_name(name, NAMES)


def nothing_found(path: Path) -> PracticeError:
    """Return the error for a file without a function that belongs to an exercise."""
    names = ", ".join(definitions(ast.parse(read_source(path))))
    found = Message(f"with {names}", f"其中定义了 {names}") if names else Message("without a function or class", "其中没有函数或类")
    return PracticeError(
        Message(
            "got {path} {found}, expected a function whose name says which part it is",
            "收到 {path}，{found}，应有名字能说明是哪一部分的函数",
        ).format(path=path, found=found),
        hint=Message(f"select the part with --as: {', '.join(NAMES)}", f"用 --as 指定它是哪一部分：{'、'.join(NAMES)}"),
    )


def _cells(notebook: dict) -> str:
    """Concatenate the code cells; notebook commands such as %matplotlib become comments."""
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return "\n\n".join(re.sub(r"^(\s*)([%!?])", r"\1# \2", source, flags=re.MULTILINE) for source in sources) + "\n"


def _does_not_run(path: Path, text: str, error: BaseException) -> Verdict:
    line = error.lineno if isinstance(error, SyntaxError) else last_line(error, str(path))
    written = text.splitlines()[line - 1].strip() if line and line <= len(text.splitlines()) else ""
    place = Message(f", in `{written}`", f"，位于 `{written}`") if written else Message("", "")
    says = Message("raises {error}{place}", "抛出 {error}{place}").format(error=describe_error(error), place=place)
    cause = Cause(f"raises_{type(error).__name__}", says, _advice(error), Message("", ""), line=line)
    return Verdict(path.name, "file", line or 1, "could not run", (cause,), title=FILE_TITLE)


def _advice(error: BaseException) -> Message:
    if isinstance(error, ModuleNotFoundError):
        return Message(f"install it: pip install {error.name}", f"先安装它：pip install {error.name}")
    if isinstance(error, SyntaxError) and "default" in str(error.msg):
        return Message("put parameters with a default after those without", "把有默认值的参数放在没有默认值的参数之后")
    if isinstance(error, NameError):
        return Message("define or import that name", "定义或导入这个名字")
    return Message(
        'move everything except definitions under `if __name__ == "__main__":`, so that importing the file skips it',
        '把定义以外的语句移到 `if __name__ == "__main__":` 之下，这样导入文件时不会执行',
    )
