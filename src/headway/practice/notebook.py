"""The notebook magic `%%check`, which judges the functions of a cell after running it.

%load_ext headway

%%check
def softmax(x):
    ...
"""

from __future__ import annotations

import argparse
import shlex
from types import ModuleType
from typing import Any, NoReturn, Protocol

from headway.errors import OptionError
from headway.practice.diagnosis.files import check_name, with_exercises
from headway.practice.diagnosis.nested import verdicts
from headway.practice.message import LANGUAGES, errors_in
from headway.practice.texts import Texts
from headway.practice.verdict import Verdict

TEXTS = Texts("check")

NOTHING = TEXTS["nothing_in_cell"]


class Shell(Protocol):
    """The methods of IPython's shell that the magic uses."""

    user_module: ModuleType

    def run_cell(self, raw_cell: str) -> Any:
        """Run a cell and return its result."""
        ...

    def transform_cell(self, raw_cell: str) -> str:
        """Return a cell as Python, without magics."""
        ...

    def register_magic_function(self, func: Any, magic_kind: str = "line", magic_name: str | None = None) -> None:
        """Add a magic."""
        ...


def load_ipython_extension(shell: Shell) -> None:
    """Add the magic `%%check` to a notebook; called by `%load_ext headway`."""

    def check(line: str, cell: str) -> None:
        """Run the cell and judge its functions: %%check [PART] [--lang zh]."""
        from IPython.core.error import UsageError
        from IPython.display import display

        try:
            part, language = _arguments(line)
        except OptionError as error:  # IPython shows a UsageError without its traceback
            raise UsageError(f"{error}\nhint: {error.hint}" if error.hint else str(error)) from None
        if not shell.run_cell(cell).success:
            return
        found = judged(shell, cell, part)
        for verdict in found:
            display(verdict.shown_in(language), raw=True)
        if not found:
            print(NOTHING.text(language))

    shell.register_magic_function(check, "cell", "check")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(f"%%check: {message}", hint="%%check [PART] [--lang zh]")


def _arguments(line: str) -> tuple[str | None, str]:
    """Return the part and the language that the line of the magic names.

    Errors   OptionError for an unknown part or argument.
    """
    parser = _Parser("%%check", add_help=False)
    parser.add_argument("part", nargs="?")
    parser.add_argument("--lang", choices=LANGUAGES, default="en")
    given = parser.parse_args(shlex.split(line))
    if given.part is not None:
        with errors_in(given.lang):
            check_name(given.part)
    return given.part, given.lang


def judged(shell: Shell, cell: str, part: str | None = None) -> list[Verdict]:
    """Return the verdicts on the functions and classes that a cell defines, in the notebook's own process."""
    return verdicts(list(with_exercises(shell.user_module, shell.transform_cell(cell), part)))
