"""The files of a new exercise, for contributors: `headway practice new-exercise NAME`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from pathlib import Path

from headway.files import write_text
from headway.practice.exercises import NAMES
from headway.practice.message import Message, PracticeError
from headway.practice.texts import Texts

TEXTS = Texts("skeleton")

EXERCISE = '''"""{name}: TODO the equation."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Exercise, Probe
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("{name}")
ROLES = Roles("{name}")


def definition(x: Any) -> Any:
    """Return x. TODO: import the definition from headway.functions."""
    return x


def recipe(steps: Any, x: Any) -> Any:
    """The definition as named steps: answer. TODO: one step for each part that people get wrong."""
    return steps.answer(x)


STEPS = {{}}  # TODO: the steps that change their first operand

MISTAKES = (TEXTS.mistake("sign", answer=lambda x: -x),)


def probes() -> tuple[Probe, ...]:
    """A row, and several. TODO: inputs on which each mistake differs from the definition and from the other mistakes."""
    random = numpy.random.default_rng(1)
    return (
        Probe("row", {{"x": random.standard_normal(5)}}),
        Probe("rows", {{"x": random.standard_normal((3, 5))}}, TEXTS["rows"]),
    )


EXERCISE = Exercise(
    name="{name}",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("x"),),
    probes=probes,
    mistakes=MISTAKES,
)
'''

SENTENCES = """title.en = "{title}"
title.zh = "{title}"
equation = "{name}(x) = x"

[[hints]]
en = "TODO A first hint."
zh = ""

[[hints]]
en = "TODO A more explicit one."
zh = ""

[[hints]]
en = "TODO The formula as code."
zh = ""

[sentences.rows]
en = "more than one row"
zh = "多于一行的输入"

[mistakes.sign]
says.en = "the sign is wrong"
says.zh = "符号反了"
fix.en = "return x"
fix.zh = "返回 x"
pattern = "-"
"""

PATTERN = """
[{name}]
called = '^{name}$'
"""

ROLES = """
[{name}]
x = "inputs values"
"""

LEARNERS = """def right_plain(x):
    return x


def wrong_sign(x):
    return -x
"""

PLACES = ("src/headway/practice/exercises/{name}.py", "src/headway/practice/catalogue/{name}.toml", "tests/practice/learners/{name}.py")
LIST = "src/headway/practice/names.toml"
ROLE_NAMES = "src/headway/practice/role_names.toml"


def new_exercise(name: str, checkout: Path) -> list[Path]:
    """Write the files of a new exercise into a checkout of Headway and add it to the lists; return the written files.

    Errors   PracticeError for a name that is no identifier or is taken, and for a folder that is no checkout.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise PracticeError(TEXTS["not_a_name"].format(name=repr(name)), hint=TEXTS["use_a_name"])
    if not (checkout / LIST).is_file():
        raise PracticeError(TEXTS["no_checkout"].format(folder=checkout), hint=TEXTS["clone"])
    files = [checkout / place.format(name=name) for place in PLACES]
    if name in NAMES or any(file.exists() for file in files):
        raise PracticeError(TEXTS["taken"].format(name=name), hint=TEXTS["edit_it"].format(file=files[0]))
    for file, content in zip(files, (EXERCISE, SENTENCES, LEARNERS), strict=True):
        write_text(file, content.format(name=name, title=name.replace("_", " ")))
    for place, section in ((LIST, PATTERN), (ROLE_NAMES, ROLES)):
        listed = (checkout / place).read_text(encoding="utf-8")
        write_text(checkout / place, listed + section.format(name=name))
    return [*files, checkout / LIST, checkout / ROLE_NAMES]


def written(files: Sequence[Path], name: str) -> list[Message]:
    """Return the files that were written, and the commands to run after they are filled in."""
    return [*(TEXTS["written"].format(file=file) for file in files), TEXTS["next_steps"].format(name=name)]
