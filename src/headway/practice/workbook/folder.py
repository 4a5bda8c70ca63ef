"""The folder: files that are missing are written, files that are there stay."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from headway.arrays import array_library
from headway.errors import OptionError
from headway.files import write_text
from headway.practice.message import LANGUAGES
from headway.practice.workbook.parts import PARTS, Part
from headway.practice.workbook.progress import FILE, Progress, read_progress, write_progress
from headway.practice.workbook.stubs import stub


@dataclass(frozen=True)
class Begun:
    """What beginning, or going on, did.

    is_new    whether nothing had been begun in the folder
    kept      files of a new workbook that were there before it
    restored  files of an old one that had been deleted, and were written anew
    """

    progress: Progress
    is_new: bool = False
    kept: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


def begin(folder: Path, array: str | None, language: str) -> Begun:
    """Begin a workbook, or go on with one.

    array   the array library; for a folder that was begun, its own, which it must be if it is given

    Errors   OptionError for a folder that is a file, an array library that is unknown, not installed, or not the folder's;
             OSError where the folder cannot be written.
    """
    before = read_progress(folder)
    is_new = before is None or not before.is_begun
    if before is not None and not is_new and array not in (None, before.array):
        raise OptionError(f"came: --array {array} for {folder}, which is in {before.array}; expected: {before.array}, or another folder")
    progress = Progress(array or "numpy", hunt=before.hunt if before else None) if before is None or is_new else before
    array_library(progress.array)
    missing = [part for part in PARTS if not os.path.lexists(path_of(folder, part))]
    for part in missing:
        write_text(path_of(folder, part), stub(part, progress.array, language))
    if is_new:
        there = [part for part in PARTS if part not in missing and not is_untouched(folder, part, progress.array)]
        kept = tuple(path_of(folder, part).name for part in there)
        write_progress(folder, progress)
        return Begun(progress, is_new=True, kept=kept)
    for part in missing:
        progress = progress.changed(part.name, is_solved=False)
    if missing:
        write_progress(folder, progress)
    return Begun(progress, restored=tuple(path_of(folder, part).name for part in missing))


def progress_of(folder: Path) -> Progress:
    """What was begun in a folder.

    Errors   OptionError where nothing was.
    """
    progress = read_progress(folder)
    if progress is None or not progress.is_begun:
        raise OptionError(f"came: {folder}, without {FILE}; expected: a folder of exercises; run headway practice {folder} to begin one")
    return progress


def reset(folder: Path, part: Part, progress: Progress, language: str) -> Path | None:
    """Write a part's stub anew; what stood there is put aside under the name that comes back, a stub is not."""
    path = path_of(folder, part)
    aside = None
    if os.path.lexists(path) and not is_untouched(folder, part, progress.array):
        aside = put_aside(path)
    write_text(path, stub(part, progress.array, language))
    write_progress(folder, progress.changed(part.name, is_solved=False))
    return aside


def put_aside(path: Path) -> Path:
    """Rename softmax.py to softmax.old.py, or softmax.old2.py where that is taken; the new path."""
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.stem}.old{number if number > 1 else ''}.py")):
        number += 1
    os.rename(path, aside)
    return aside


def is_untouched(folder: Path, part: Part, array: str) -> bool:
    """Whether a part's file is the stub as it was written."""
    try:
        text = path_of(folder, part).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return text in [stub(part, array, language) for language in LANGUAGES]


def next_part(progress: Progress) -> Part | None:
    """The first part that is not solved; None when all are."""
    return next((part for part in PARTS if not progress.of(part.name).is_solved), None)


def path_of(folder: Path, part: Part) -> Path:
    """Where a part's file is."""
    return folder / f"{part.name}.py"
