"""Calls of the learner's functions in a subprocess; question and answer are files in a temporary folder."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headway.arrays import from_numpy
from headway.practice.diagnosis.explain.failure import ENDS_THE_PROCESS, TOO_SLOW
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.diagnosis.sandbox import child_environment
from headway.practice.judge.process import end_tree
from headway.practice.message import EMPTY
from headway.practice.names import means
from headway.practice.texts import Texts
from headway.practice.verdict import Cause
from headway.practice.workbook.parts import Part

TEXTS = Texts("workbook")


def ask(module: str, folder: Path, question: Mapping[str, Any], *, timeout_seconds: float) -> dict[str, Any] | Cause:
    """Run `python -m module`, which calls `serve`, and return its answer; if there is none, the cause."""
    with tempfile.TemporaryDirectory() as exchange:
        (Path(exchange) / "question").write_bytes(pickle.dumps(question))
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(folder.resolve()), exchange],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=child_environment(),
            start_new_session=True,
        )
        try:
            process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return TOO_SLOW
        finally:
            end_tree(process)
        answer = Path(exchange) / "answer"
        return json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else EXITS


EXITS = Cause("exits", ENDS_THE_PROCESS, TEXTS["return_result_instead"], EMPTY)


def unreadable(path: Path) -> Cause:
    """Return the cause for a file that is missing or not UTF-8."""
    return Cause("unreadable", TEXTS["cannot_be_read"].format(name=path.name), TEXTS["save_as_utf8"], EMPTY)


def serve(answer: Callable[[Path, Mapping[str, Any]], dict[str, Any]]) -> None:
    """Answer the question in the exchange folder; runs in the subprocess."""
    folder, exchange = map(Path, sys.argv[1:])
    given = answer(folder, pickle.loads((exchange / "question").read_bytes()))
    unfinished = exchange / "answer.part"
    unfinished.write_text(json.dumps(given), encoding="utf-8")
    unfinished.rename(exchange / "answer")


def function_of(part: Part, subjects: list[Subject]) -> Subject | None:
    """Return the function of the part: the one with its exact name, else one with another accepted name, else the first."""
    named = [each for each in subjects if each.name == part.name]
    called = [each for each in subjects if part.is_exercise and means(each.name, part.name)]
    return next(iter([*named, *called, *subjects]), None)


def in_library(value: Any, array: str) -> Any:
    """Convert NumPy arrays, and dicts and lists of them, to an array library; keep numbers."""
    if isinstance(value, Mapping):
        return {name: in_library(each, array) for name, each in value.items()}
    if isinstance(value, list):
        return [in_library(each, array) for each in value]
    return from_numpy(value, array) if hasattr(value, "dtype") else value
