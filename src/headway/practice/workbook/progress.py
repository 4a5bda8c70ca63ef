"""Progress saved in a practice folder: the array library, solved parts, and hints shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from headway.arrays import ARRAY_LIBRARIES
from headway.files import write_text
from headway.practice.message import PracticeError
from headway.practice.texts import Texts

TEXTS = Texts("workbook")

FILE = ".headway.json"


@dataclass(frozen=True)
class PartProgress:
    """Progress on one part.

    num_hints     number of hints shown
    saw_solution  True if the solution was shown
    """

    is_solved: bool = False
    num_hints: int = 0
    saw_solution: bool = False


@dataclass(frozen=True)
class Hunt:
    """A find-the-bug exercise: the seed selects one of the bugs of the exercise, or of all exercises."""

    exercise: str | None
    seed: int
    is_solved: bool = False
    num_hints: int = 0


@dataclass(frozen=True)
class Progress:
    """Progress in a folder; parts without an entry are not started.

    is_begun   True if the workbook was written; a bug can be open without one
    hunt       the most recent find-the-bug exercise
    """

    array: str
    parts: Mapping[str, PartProgress] = field(default_factory=dict)
    is_begun: bool = True
    hunt: Hunt | None = None

    def of(self, name: str) -> PartProgress:
        """Return the progress on a part."""
        return self.parts.get(name, PartProgress())

    def changed(self, name: str, **changes: Any) -> Progress:
        """Return a copy with one part's progress changed."""
        return replace(self, parts={**self.parts, name: replace(self.of(name), **changes)})


def read_progress(folder: Path) -> Progress | None:
    """Return the progress saved in a folder, or None if there is none.

    Errors   OptionError for a path that is a file, and for an unreadable progress file.
    """
    if folder.exists() and not folder.is_dir():
        raise PracticeError(TEXTS["folder_is_a_file"].format(folder=folder))
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return _parsed(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PracticeError(TEXTS["progress_cannot_be_read"].format(path=path, error=error), hint=TEXTS["move_away"]) from error


def write_progress(folder: Path, progress: Progress) -> None:
    """Save the progress atomically."""
    write_text(folder / FILE, json.dumps({"workbook": 1, **asdict(progress)}, indent=1) + "\n")


def _parsed(values: Any) -> Progress:
    if values["workbook"] != 1 or values["array"] not in ARRAY_LIBRARIES:
        raise ValueError("another format, or an unknown array library")
    parts = {name: PartProgress(**each) for name, each in values["parts"].items()}
    return Progress(values["array"], parts, bool(values["is_begun"]), None if values["hunt"] is None else Hunt(**values["hunt"]))
