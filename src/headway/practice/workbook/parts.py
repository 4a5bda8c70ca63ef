"""Files of the workbook in order, with their contents and the parts they import."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway import functions
from headway.practice.exercises import exercise
from headway.practice.message import Message, same, unknown_name
from headway.practice.texts import Texts

TEXTS = Texts("workbook")


@dataclass(frozen=True)
class Part:
    """One file of the workbook.

    name        name of the exercise, the file and the function
    definition  function of headway.functions whose docstring the stub shows; None for GPT-2's own wiring
    summary     first sentence of the stub's docstring if there is no definition
    parameters  GPT-2's parameters if the definition takes a weight tree instead
    shapes      inputs and outputs if the definition takes more than GPT-2 needs
    note        further information for the stub's docstring, together with shapes
    uses        earlier parts that it imports
    last_hints  replacements for the exercise's last hints if those describe another signature
    """

    name: str
    definition: Callable[..., Any] | None = None
    summary: str = ""
    parameters: str | None = None
    shapes: tuple[str, ...] = ()
    note: str = ""
    uses: tuple[str, ...] = ()
    last_hints: tuple[Message, ...] = ()

    @property
    def is_exercise(self) -> bool:
        """True if `headway check` can judge it; the story is run instead."""
        return self.name != STORY

    @property
    def title(self) -> Message:
        """The part's title."""
        return exercise(self.name).title if self.is_exercise else STORY_TITLE

    @property
    def equation(self) -> str:
        """One-line formula: the definition's, or the exercise's if the weights differ."""
        if self.definition is not None and self.parameters is None:
            return self.paragraphs[1].strip()
        return exercise(self.name).equation if self.is_exercise else STORY_EQUATION

    @property
    def hints(self) -> tuple[Message, ...]:
        """Three hints, from a nudge to the formula."""
        hints = exercise(self.name).hints if self.is_exercise else ()
        return (*hints[: 3 - len(self.last_hints)], *self.last_hints)

    @property
    def paragraphs(self) -> list[str]:
        """Paragraphs of the definition's docstring; empty without a definition."""
        return re.split(r"\n\n+", inspect.getdoc(self.definition) or "") if self.definition else []


STORY = "story"
STORY_TITLE = TEXTS["story_title"]
STORY_EQUATION = "generate(token_ids ↦ gpt2(token_ids, **weights, num_heads), prompt, max_new_tokens, context_size)"

HINTS = {"learned_positions": (TEXTS["hint_table_look_up"],), STORY: (TEXTS["hint_model"], TEXTS["hint_story"])}
"""Hints in place of the exercise's, before the formula."""


def _read() -> tuple[Part, ...]:
    listed = tomllib.loads(Path(__file__).with_name("parts.toml").read_text(encoding="utf-8"))
    return tuple(_part(name, **fields) for name, fields in listed.items())


def _part(
    name: str, *, definition: str | None = None, shapes: str = "", note: str = "", uses: Sequence[str] = (), formula: str = "", **rest: str
) -> Part:
    return Part(
        name,
        getattr(functions, definition) if definition else None,
        shapes=tuple(shapes.splitlines()),
        note=note.rstrip("\n"),
        uses=tuple(uses),
        last_hints=(*HINTS.get(name, ()), *([same(formula)] if formula else [])),
        **rest,
    )


PARTS = _read()
"""The parts in the order in which they build on each other, which is that of headway.practice.exercises.NAMES; the story is last."""

NAMES = tuple(part.name for part in PARTS)


def part(name: str) -> Part:
    """Return a part by name.

    Errors   OptionError with the closest names.
    """
    if name in NAMES:
        return PARTS[NAMES.index(name)]
    raise unknown_name(name, NAMES)
