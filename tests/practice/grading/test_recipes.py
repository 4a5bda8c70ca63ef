"""The recipes of docs/grading.md run in the programs that they are for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
RECIPES = re.findall(r"^```py\n(.*?)^```", (ROOT / "docs" / "grading.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
REASON = "its dependencies (a notebook server, a database) are too heavy for Headway's test environment"

NO_SHIFT = "import numpy as np\ndef softmax(x):\n    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)\n"
RIGHT = NO_SHIFT.replace("np.exp(x)", "np.exp(x - x.max(axis=-1, keepdims=True))")
WRONG = NO_SHIFT.replace("np.exp(x)", "np.sin(x)")


def recipe(marker):
    (found,) = [each for each in RECIPES if marker in each]
    return found


@pytest.mark.parametrize(("text", "points"), [(RIGHT, 5.0), (NO_SHIFT, 3.0), (WRONG, 0.0)])
def test_the_last_expression_of_the_nbgrader_cell_is_the_points(text, points, capsys):
    names = {}
    exec(text, names)
    *body, last = recipe("print(verdict)").strip().splitlines()
    exec("\n".join(body), names)
    assert eval(last, names) == points
    assert "softmax" in capsys.readouterr().out


@pytest.mark.slow
def test_nbgrader_gives_partial_credit(tmp_path):
    pytest.importorskip("nbgrader", reason=REASON)
    program = tmp_path / "program.py"
    program.write_text(NBGRADER)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # nbgrader calls alembic
    done = subprocess.run(
        [sys.executable, str(program), NO_SHIFT, recipe("print(verdict)")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": path},
    )
    assert done.stdout.splitlines()[-1:] == ["3.0 of 5.0"], done.stdout + done.stderr


NBGRADER = """
import sys
from pathlib import Path
import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

solution, test = sys.argv[1:]
common = {"schema_version": 3, "task": False}
cells = [
    new_code_cell(solution, metadata={"nbgrader": {"grade": False, "grade_id": "softmax", "locked": False, "solution": True, **common}}),
    new_code_cell(
        test, metadata={"nbgrader": {"grade": True, "grade_id": "test", "locked": True, "solution": False, "points": 5, **common}}
    ),
]
kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
for folder in ("source", "submitted/ada"):
    path = Path(folder) / "ps1" / "softmax.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(new_notebook(cells=cells, metadata=kernel), path)
config = Config()
config.CourseDirectory.root = str(Path.cwd())
config.CourseDirectory.course_id = "course"
config.CourseDirectory.db_url = "sqlite:///gradebook.db"
api = NbGraderAPI(config=config)
for result in (api.generate_assignment("ps1", force=True), api.autograde("ps1", "ada", force=True)):
    print(result.get("log"), result.get("error"))
    assert result["success"]
with Gradebook("sqlite:///gradebook.db") as gradebook:
    submission = gradebook.find_submission("ps1", "ada")
    print(submission.score, "of", submission.max_score)
"""


@pytest.mark.parametrize(("text", "passed"), [(RIGHT, [True, True]), (NO_SHIFT, [True, False]), (WRONG, [False, False])])
def test_otter_gives_partial_credit(tmp_path, text, passed):
    pytest.importorskip("otter", reason=REASON)
    path = tmp_path / "softmax.py"
    path.write_text(recipe("OK_FORMAT"))
    program = (
        "import sys\n"
        "from otter.test_files import ExceptionTestFile\n"
        "names = {}\n"
        "exec(sys.argv[2], names)\n"
        "file = ExceptionTestFile.from_file(sys.argv[1])\n"
        "file.run(names)\n"
        "print([each.passed for each in file.test_case_results], file.score)\n"
        "print(file.summary())\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path), text], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith(f"{passed}"), done.stdout + done.stderr
    assert ("the maximum is not subtracted" in done.stdout) == (text == NO_SHIFT)
