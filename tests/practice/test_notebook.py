from __future__ import annotations

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

import headway

CELL = "import numpy as np\ndef softmax(x):\n    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)\n"


class Shell:
    """A shell with the methods of IPython's that the magic uses."""

    def __init__(self):
        self.user_module = ModuleType("__main__")
        self.magics = {}

    def run_cell(self, cell):
        exec(cell, self.user_module.__dict__)
        return SimpleNamespace(success=True)

    def transform_cell(self, cell):
        return cell

    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function


def test_a_cell_is_judged_with_the_functions_that_earlier_cells_define():
    from headway.practice.notebook import judged

    shell = Shell()
    shell.run_cell(CELL)
    second = "def attention(q, k, v):\n    return softmax(q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5) @ v\n"
    shell.run_cell(second)
    assert [(each.subject, each.line, each.causes[0].name) for each in judged(shell, CELL)] == [("softmax", 2, "no_shift")]
    assert [each.subject for each in judged(shell, second)] == ["attention"]
    assert judged(shell, "x = 1\n") == []


def test_the_extension_registers_a_cell_magic():
    shell = Shell()
    headway.load_ipython_extension(shell)
    assert list(shell.magics) == [("cell", "check")]


def test_the_magic_shows_verdicts_in_a_real_shell(tmp_path):
    pytest.importorskip("IPython", reason="a notebook brings its own IPython; Headway does not depend on it")
    program = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell()\n"
        "shell.run_line_magic('load_ext', 'headway')\n"
        f"shell.run_cell('%%check --lang zh\\n' + {CELL!r})\n"
        "shell.run_cell('%%check\\nx = 1\\n')\n"
        "shell.run_cell('%%check sofmax\\nx = 1\\n')\n"
        "shell.run_cell('%%check --lang fr\\nx = 1\\n')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert "没有先减去最大值" in done.stdout, done.stderr
    assert "no function in this cell has a name" in done.stdout
    printed = done.stdout + done.stderr
    assert "UsageError: got 'sofmax'" in printed
    assert "did you mean softmax" in printed
    assert "UsageError: %%check: argument --lang: invalid choice: 'fr'" in printed
    assert "Traceback" not in printed
