"""What a folder remembers: the array library, what is solved, which hints were given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from headway.arrays import ARRAY_LIBRARIES
from headway.errors import OptionError
from headway.files import write_text

FILE = ".headway.json"


@dataclass(frozen=True)
class Standing:
    """How far one part is.

    num_hints     how many hints were given
    saw_solution  whether the solution was asked for
    """

    is_solved: bool = False
    num_hints: int = 0
    saw_solution: bool = False


@dataclass(frozen=True)
class Hunt:
    """A bug that was handed out: the seed says which one it is, of those in the exercise, or of all."""

    exercise: str | None
    seed: int
    is_solved: bool = False
    num_hints: int = 0


@dataclass(frozen=True)
class Progress:
    """What a folder remembers; parts that it does not mention are not begun.

    is_begun   whether the exercises were written; a bug may be handed out without them
    hunt       the last bug that was handed out
    """

    array: str
    parts: Mapping[str, Standing] = field(default_factory=dict)
    is_begun: bool = True
    hunt: Hunt | None = None

    def of(self, name: str) -> Standing:
        """How far a part is."""
        return self.parts.get(name, Standing())

    def changed(self, name: str, **changes: Any) -> Progress:
        """The same with one part's standing changed."""
        return replace(self, parts={**self.parts, name: replace(self.of(name), **changes)})


def read_progress(folder: Path) -> Progress | None:
    """What the folder remembers; None where nothing was begun in it.

    Errors   OptionError for a folder that is a file, and for a progress file that is broken or another program's.
    """
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"came: {folder}, a file; expected: a folder, or a name for a new one")
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return _parsed(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise OptionError(
            f"came: {path}, which cannot be read as progress ({error}); expected: what headway practice wrote; "
            "nothing was changed; move the file away to begin anew, your exercises stay"
        ) from error


def write_progress(folder: Path, progress: Progress) -> None:
    """Remember, whole or not at all."""
    write_text(folder / FILE, json.dumps({"workbook": 1, **asdict(progress)}, indent=1) + "\n")


def _parsed(values: Any) -> Progress:
    if values["workbook"] != 1 or values["array"] not in ARRAY_LIBRARIES:
        raise ValueError("another format, or an unknown array library")
    parts = {name: Standing(**each) for name, each in values["parts"].items()}
    return Progress(values["array"], parts, bool(values["is_begun"]), None if values["hunt"] is None else Hunt(**values["hunt"]))
