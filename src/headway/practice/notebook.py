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
from typing import Any, Protocol

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
        from IPython.display import HTML, display

        parser = argparse.ArgumentParser("%%check", add_help=False, exit_on_error=False)
        parser.add_argument("part", nargs="?")
        parser.add_argument("--lang", choices=LANGUAGES, default="en")
        given = parser.parse_args(shlex.split(line))
        with errors_in(given.lang):
            if given.part is not None:
                check_name(given.part)
            if not shell.run_cell(cell).success:
                return
            found = judged(shell, cell, given.part)
        for verdict in found:
            display(HTML(verdict.html(given.lang)))
        if not found:
            print(NOTHING.text(given.lang))

    shell.register_magic_function(check, "cell", "check")


def judged(shell: Shell, cell: str, part: str | None = None) -> list[Verdict]:
    """Return the verdicts on the functions and classes that a cell defines, in the notebook's own process."""
    return verdicts(list(with_exercises(shell.user_module, shell.transform_cell(cell), part)))
