"""A learner's file as subjects, each with the exercise that it is."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from headway.errors import OptionError
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.failure import THE_FILE, last_line
from headway.practice.diagnosis.patience import patience
from headway.practice.diagnosis.subject import Subject, subjects_of
from headway.practice.exercise import Exercise
from headway.practice.exercises import NAMES, exercise, exercises
from headway.practice.message import Message
from headway.practice.verdict import Cause, Verdict

NAMING_SECONDS = 0.5
"""How long a statement may take that names a value, in a file that is not run as a whole."""


def read_source(path: Path) -> str:
    """The Python text of a .py file, or of the code cells of a notebook.

    Errors   OptionError where there is no such file, or it is neither.
    """
    if not path.is_file():
        raise OptionError(f"came: {path}, {'a folder' if path.is_dir() else 'which does not exist'}; expected: a .py file or a notebook")
    try:
        text = path.read_text(encoding="utf-8")
        return _cells(json.loads(text)) if path.suffix == ".ipynb" else text
    except (UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise OptionError(f"came: {path}, which cannot be read ({error}); expected: Python in UTF-8, or a notebook") from error


def load_module(path: Path, text: str) -> ModuleType | Verdict:
    """The file, run as a module that is not __main__; a verdict where it does not run."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module  # dataclasses and pickling look there
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        return _does_not_run(path, text, error)
    return module


def load_definitions(path: Path, text: str) -> ModuleType | Verdict:
    """What a file imports and defines, without what it does; a verdict where not even that runs.

    Of its other statements those that name a value are kept, if they neither raise nor take long.
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
                with suppress(Exception, SystemExit), patience(NAMING_SECONDS):
                    exec(code, module.__dict__)
    except (Exception, SystemExit) as error:
        return _does_not_run(path, text, error)
    return module


def assigned(module: ModuleType, text: str, named: str | None = None) -> Iterator[tuple[Subject, Exercise]]:
    """Every subject of a file with the exercise that its name says it is, or that it answers as; with `named`, that exercise.

    Errors   OptionError for a name that is no exercise.
    """
    subjects = subjects_of(module, text)
    if named is not None:
        chosen = exercise(check_name(named))
        matching = [subject for subject in subjects if re.search(chosen.called, subject.name, re.IGNORECASE)]
        yield from ((subject, chosen) for subject in matching or subjects[:1])
        return
    for subject in subjects:
        found = by_name(subject.name) or by_trying(subject)
        if found is not None:
            yield subject, found


def by_name(name: str) -> Exercise | None:
    """The exercise that a function's name says it is; None where it says none."""
    return next((each for each in exercises() if re.search(each.called, name, re.IGNORECASE)), None)


def by_trying(subject: Subject) -> Exercise | None:
    """The exercise whose operands a function's parameters name and whose answers it gives; None where there is none."""
    for each in exercises():
        called = {*(role.name for role in each.roles), *(name for role in each.roles for name in role.called)}
        names = [parameter.name.lower().strip("_") for parameter in subject.parameters]
        if len(names) > 1 and called.issuperset(names) and diagnose(subject, each).is_correct:
            return each
    return None


def check_name(name: str) -> str:
    """The name, if it is an exercise's.

    Errors   OptionError with the nearest names.
    """
    import difflib

    if name in NAMES:
        return name
    near = difflib.get_close_matches(name, NAMES, 3, 0.4)
    raise OptionError(f"came: {name!r}; expected one of {', '.join(NAMES)}" + (f"; did you mean {' or '.join(near)}?" if near else ""))


def _cells(notebook: dict) -> str:
    """The code cells one behind the other; lines that are commands of the notebook become comments."""
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return "\n\n".join(re.sub(r"^(\s*)([%!?])", r"\1# \2", source, flags=re.MULTILINE) for source in sources) + "\n"


def _does_not_run(path: Path, text: str, error: BaseException) -> Verdict:
    line = error.lineno if isinstance(error, SyntaxError) else last_line(error, str(path))
    written = text.splitlines()[line - 1].strip() if line and line <= len(text.splitlines()) else ""
    where = f" in `{written}`" if written else ""
    says = Message(
        f"{type(error).__name__}: {error}{where}", f"{type(error).__name__}：{error}" + (f"，位于 `{written}`" if written else "")
    )
    cause = Cause(f"raises_{type(error).__name__}", says, _advice(error), Message("", ""), line=line)
    return Verdict(path.name, "file", line or 1, "could not run", (cause,), title=THE_FILE)


def _advice(error: BaseException) -> Message:
    if isinstance(error, ModuleNotFoundError):
        return Message(f"install it: pip install {error.name}", f"请先安装：pip install {error.name}")
    if isinstance(error, SyntaxError) and "default" in str(error.msg):
        return Message("put parameters with a default behind those without", "有默认值的参数要放在没有默认值的参数之后")
    if isinstance(error, NameError):
        return Message("define that name, or import it", "先定义或导入这个名字")
    return Message(
        'put what is no definition under `if __name__ == "__main__":`; a file that is imported then runs without it',
        '把定义以外的语句放到 `if __name__ == "__main__":` 之下；这样导入文件时不会执行它们',
    )
