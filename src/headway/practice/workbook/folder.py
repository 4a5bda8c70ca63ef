"""The practice folder. Missing files are written, existing files are kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from headway.arrays import ARRAY_LIBRARIES, array_library
from headway.errors import OptionError
from headway.files import write_text
from headway.practice.message import LANGUAGES, PracticeError, unknown_name
from headway.practice.texts import Texts
from headway.practice.workbook.parts import PARTS, Part
from headway.practice.workbook.progress import FILE, Progress, read_progress, write_progress
from headway.practice.workbook.stubs import stub

TEXTS = Texts("workbook")


@dataclass(frozen=True)
class Begun:
    """Result of starting or resuming a workbook.

    is_new    True if the folder had no workbook before
    kept      files that existed before a new workbook was written
    restored  deleted files of an existing workbook that were written again
    """

    progress: Progress
    is_new: bool = False
    kept: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


def begin(folder: Path, array: str | None, language: str) -> Begun:
    """Start a workbook, or resume an existing one.

    array   array library; an existing workbook keeps its own, which must match

    Errors   OptionError for a path that is a file, or an array library that is unknown, not installed or not the folder's;
             OSError if the folder cannot be written.
    """
    before = read_progress(folder)
    is_new = before is None or not before.is_begun
    if before is not None and not is_new and array not in (None, before.array):
        raise PracticeError(TEXTS["other_library"].format(given=array, known=before.array, folder=folder), hint=TEXTS["another_folder"])
    progress = Progress(array or "numpy", hunt=before.hunt if before else None) if before is None or is_new else before
    _check_library(progress.array)
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


def _check_library(array: str) -> None:
    if array not in ARRAY_LIBRARIES:
        raise unknown_name(array, ARRAY_LIBRARIES)
    try:
        array_library(array)
    except OptionError as error:
        raise PracticeError(TEXTS["unknown_library"].format(array=array), hint=TEXTS["install_library"].format(array=array)) from error


def progress_of(folder: Path) -> Progress:
    """Return the progress saved in a folder.

    Errors   OptionError if the folder has no workbook.
    """
    progress = read_progress(folder)
    if progress is None or not progress.is_begun:
        raise PracticeError(
            TEXTS["folder_without_exercises"].format(folder=folder, file=FILE), hint=TEXTS["start_here"].format(folder=folder)
        )
    return progress


def reset(folder: Path, part: Part, progress: Progress, language: str) -> Path | None:
    """Write a part's stub; return the new path of the previous version, or None if that was a stub too."""
    path = path_of(folder, part)
    aside = None
    if os.path.lexists(path) and not is_untouched(folder, part, progress.array):
        aside = put_aside(path)
    write_text(path, stub(part, progress.array, language))
    write_progress(folder, progress.changed(part.name, is_solved=False))
    return aside


def put_aside(path: Path) -> Path:
    """Rename softmax.py to softmax.old.py, or softmax.old2.py if that exists, and return the new path."""
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.stem}.old{number if number > 1 else ''}.py")):
        number += 1
    os.rename(path, aside)
    return aside


def is_untouched(folder: Path, part: Part, array: str) -> bool:
    """Return True if a part's file is the unmodified stub."""
    try:
        text = path_of(folder, part).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return text in [stub(part, array, language) for language in LANGUAGES]


def next_part(progress: Progress) -> Part | None:
    """Return the first part that is not solved, or None."""
    return next((part for part in PARTS if not progress.of(part.name).is_solved), None)


def path_of(folder: Path, part: Part) -> Path:
    """Return the path of a part's file."""
    return folder / f"{part.name}.py"
