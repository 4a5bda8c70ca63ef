"""Check of one part's file: diagnosis in a subprocess for exercises, a run of the model for the story."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from headway.errors import OptionError
from headway.practice.diagnosis.files import read_source
from headway.practice.diagnosis.sandbox import TIMEOUT_SECONDS, check_file
from headway.practice.exercises import exercise
from headway.practice.message import EMPTY, Message
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict
from headway.practice.workbook.child import unreadable
from headway.practice.workbook.compatibility import incompatibility
from headway.practice.workbook.folder import path_of
from headway.practice.workbook.parts import Part
from headway.practice.workbook.story import EmbeddedModel, tell_story

TEXTS = Texts("workbook")

JAX_SECONDS = 120.0
"""Limit for JAX, which compiles every operation for every shape of every probe."""


@dataclass(frozen=True)
class Judgement:
    """Result of checking a part's file.

    story            the generated text, for the last part
    incompatibility  reason why later files cannot call a correct function
    """

    verdicts: tuple[Verdict, ...]
    story: str = ""
    incompatibility: Message | None = None

    @property
    def is_solved(self) -> bool:
        """True if every verdict is correct."""
        return all(verdict.is_correct for verdict in self.verdicts)

    def text(self, language: str) -> str:
        """Return the story and the verdicts as lines of text."""
        lines = ["", self.story, ""] if self.story else []
        lines += [verdict.text(language) for verdict in self.verdicts]
        return "\n".join([*lines, *([f"  ! {self.incompatibility.text(language)}"] if self.incompatibility else [])])


def judge(folder: Path, part: Part, array: str, embedded: Callable[[], EmbeddedModel]) -> Judgement:
    """Check a part's file.

    embedded   loads the embedded model; called only for the story
    """
    if not part.is_exercise:
        verdict, text = tell_story(folder, array, embedded())
        return Judgement((verdict,), text)
    seconds = JAX_SECONDS if array == "jax" else TIMEOUT_SECONDS
    judgement = Judgement(judge_file(path_of(folder, part), part.name, timeout_seconds=seconds))
    return replace(judgement, incompatibility=incompatibility(folder, part, array)) if judgement.is_solved else judgement


def judge_file(path: Path, name: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> tuple[Verdict, ...]:
    """Return the verdicts on a file's functions for one exercise; if there is nothing to judge, a verdict that says why."""
    try:
        read_source(path)
    except OptionError:
        return (_could_not_run(path, name, unreadable(path)),)
    verdicts = check_file(path, name, timeout_seconds=timeout_seconds)
    return tuple(verdicts) or (_could_not_run(path, name, _nothing_in(name)),)


def _nothing_in(name: str) -> Cause:
    says = TEXTS["no_function"].format(name=name)
    return Cause("no_function", says, TEXTS["define_name"].format(name=name), EMPTY)


def _could_not_run(path: Path, name: str, cause: Cause) -> Verdict:
    return Verdict(path.name, name, 1, "could not run", (cause,), title=exercise(name).title)
