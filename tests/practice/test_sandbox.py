from __future__ import annotations

import json
import textwrap

import pytest

from headway.errors import OptionError
from headway.practice.diagnosis import sandbox
from headway.practice.diagnosis.files import check_name, read_source
from headway.practice.diagnosis.sandbox import check_file
from headway.practice.exercises import exercise
from headway.practice.judge import confinement
from headway.practice.judge.fresh import fresh_probes
from headway.practice.judge.jobs import Examination

RIGHT = """
import numpy as np

def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)
"""


def checked(tmp_path, text, name="mine.py", **options):
    path = tmp_path / name
    path.write_text(textwrap.dedent(text))
    return check_file(path, **options)


@pytest.mark.slow
def test_each_function_of_a_file_gets_a_verdict_with_its_line(tmp_path):
    verdicts = checked(
        tmp_path, RIGHT + "\ndef scaled_dot_product_attention(q, k, v):\n    return softmax(q @ np.swapaxes(k, -1, -2)) @ v\n"
    )
    assert [(each.subject, each.line, each.status) for each in verdicts] == [
        ("softmax", 4, "correct"),
        ("scaled_dot_product_attention", 8, "wrong"),
    ]
    assert verdicts[1].causes[0].name == "scale"


def test_printing_and_reading_stdin_do_not_interfere(tmp_path):
    (verdict,) = checked(
        tmp_path, 'import sys\nprint("x" * 10**6)\nline = sys.stdin.readline()\n' + RIGHT.replace("    e =", "    print(x)\n    e =", 1)
    )
    assert verdict.is_correct


@pytest.mark.slow
def test_an_endless_loop_gets_a_verdict_and_later_functions_are_checked(tmp_path):
    loop = "def softmax_slow(x):\n    while True:\n        pass\n"
    verdicts = checked(tmp_path, loop + RIGHT, timeout_seconds=6)
    assert [(each.subject, each.status) for each in verdicts] == [("softmax_slow", "could not run"), ("softmax", "correct")]
    assert verdicts[0].causes[0].name == "too_slow"


@pytest.mark.slow
def test_what_was_right_before_the_time_ended_is_not_judged_again(tmp_path, monkeypatch):
    skipped = []
    monkeypatch.setattr(sandbox, "Examination", lambda *given, **named: skipped.append(given[3]) or Examination(*given, **named))
    sleeps = "\nimport time\n\ndef relu(x):\n    time.sleep(60)\n\ndef silu(x):\n    return x / (1 + np.exp(-x))\n"
    verdicts = checked(tmp_path, RIGHT + sleeps, timeout_seconds=4)
    assert skipped == [(), ("softmax", "relu")]
    assert [(each.subject, each.status) for each in verdicts] == [("softmax", "correct"), ("relu", "could not run"), ("silu", "correct")]


@pytest.mark.slow
def test_definitions_in_a_file_that_trains_on_import_are_checked(tmp_path):
    trains = RIGHT + "\nsteps = 3\nwhile True:\n    steps += 1\n\ndef relu(x):\n    return x * (x > 0)\n"
    verdicts = checked(tmp_path, trains, timeout_seconds=6)
    assert [(each.subject, each.status) for each in verdicts] == [("mine.py", "could not run"), ("softmax", "correct"), ("relu", "correct")]
    assert "does it train" in verdicts[0].causes[0].says.en


def test_definitions_in_a_file_with_a_failing_example_are_checked(tmp_path):
    verdicts = checked(tmp_path, RIGHT + "\nprint(softmax(np.ones(3)) @ np.ones(4))\n")
    assert [(each.subject, each.status) for each in verdicts] == [("softmax", "correct"), ("mine.py", "could not run")]
    assert "ValueError" in verdicts[1].causes[0].name


@pytest.mark.slow
def test_a_function_that_exceeds_the_memory_limit_gets_a_verdict(tmp_path, monkeypatch):
    monkeypatch.setattr(confinement, "MEMORY_BYTES", 2**29)  # all of 3 GB may not be there when other tests run
    greedy = "import numpy as np\ndef softmax(x):\n    kept = []\n    while True:\n        kept.append(np.ones(10**7))\n"
    (verdict,) = checked(tmp_path, greedy, timeout_seconds=300)
    assert verdict.causes[0].name == "too_large"


@pytest.mark.slow
def test_a_huge_array_is_reported_with_its_line(tmp_path):
    (verdict,) = checked(tmp_path, "import numpy as np\ndef softmax(x):\n    return np.empty(10**12)\n")
    assert verdict.status == "could not run"
    assert "MemoryError" in verdict.causes[0].says.en
    assert verdict.causes[0].line == 3


def test_exit_is_reported_as_an_exception(tmp_path):
    (verdict,) = checked(tmp_path, "def softmax(x):\n    exit(3)\n")
    assert verdict.causes[0].name == "raises_SystemExit"


def test_a_crash_of_the_process_gets_a_verdict(tmp_path):
    (verdict,) = checked(tmp_path, "import os\ndef softmax(x):\n    os._exit(0)\n")
    assert verdict.causes[0].name == "exits"


@pytest.mark.parametrize(
    ("text", "line", "printed", "advice"),
    [
        ("def softmax(x)\n    return x\n", 1, "SyntaxError: expected ':', in", "correct the syntax"),
        ("import numpy as np\ndef softmax(x=1, axis):\n    return x\n", 2, "SyntaxError", "put parameters with a default"),
        ("import numpy.nothing_of_that_name\n", 1, "ModuleNotFoundError", "install it"),
        ("x = 1\ny = x + undefined\n", 2, "NameError", "define"),
        ("import re\nWORDS = re.compile(r'\\p{L}+')\n", 2, "bad escape", "import regex as re"),
        ("class SelfAttention(nn.Module):\n    def forward(self, x):\n        return x\n", 1, "NameError", "define"),
    ],
)
def test_a_file_that_does_not_run_is_reported_with_the_line_and_advice(tmp_path, text, line, printed, advice):
    (verdict,) = checked(tmp_path, text)
    assert (verdict.status, verdict.causes[0].line) == ("could not run", line)
    assert printed in verdict.causes[0].says.en
    assert advice in verdict.causes[0].fix.en
    assert "`" in verdict.causes[0].says.zh


def test_a_shape_mismatch_is_reported_with_line_and_shapes(tmp_path):
    text = "import numpy as np\ndef scaled_dot_product_attention(q, k, v):\n    scores = q @ (k + 1)\n    return scores @ v @ v\n"
    (verdict,) = checked(tmp_path, text)
    assert verdict.causes[0].line == 3
    assert "q (3, 4), k (5, 4)" in verdict.causes[0].says.en


def test_the_cells_of_a_notebook_are_checked(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# softmax"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!pip list\n", "import numpy as np"]},
        {"cell_type": "code", "source": [line + "\n" for line in RIGHT.strip().splitlines()[2:]]},
    ]
    (verdict,) = checked(tmp_path, json.dumps({"cells": cells}), name="mine.ipynb")
    assert verdict.is_correct


@pytest.mark.slow
def test_a_mistake_in_a_callee_is_not_a_mistake_of_the_caller(tmp_path):
    text = RIGHT.replace("sum(axis=axis, keepdims=True)", "sum()") + (
        "\ndef attention(q, k, v):\n    return softmax(q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5) @ v\n"
    )
    first, second = checked(tmp_path, text)
    assert first.causes[0].name == "sums_everything"
    assert [cause.name for cause in second.causes] == ["because_of_softmax"]


@pytest.mark.slow
def test_a_callers_own_mistake_is_reported_together_with_the_callees(tmp_path):
    text = RIGHT.replace("sum(axis=axis, keepdims=True)", "sum()") + (
        "\ndef attention(q, k, v):\n    return softmax(q @ np.swapaxes(k, -1, -2)) @ v\n"
    )
    _, second = checked(tmp_path, text)
    assert second.causes[0].name == "scale"
    assert any("softmax" in note.en for note in second.notes)


@pytest.mark.slow
def test_a_function_with_an_unknown_name_is_recognized_by_parameters_and_outputs(tmp_path):
    text = (
        RIGHT
        + "\ndef mix(q, k, v):\n    return softmax(q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5) @ v\ndef other(q, k, v):\n    return q\n"
    )
    verdicts = checked(tmp_path, text)
    assert [(each.subject, each.exercise) for each in verdicts] == [("softmax", "softmax"), ("mix", "scaled_dot_product_attention")]


def test_a_lambda_assigned_to_a_name_is_a_function(tmp_path):
    text = (
        "import numpy as np\n"
        "softmax = lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)\n"
        "relu: object = lambda x: np.maximum(\n    x, 0)\n"
    )
    first, second = checked(tmp_path, text)
    assert (first.subject, first.line, first.causes[0].name) == ("softmax", 2, "no_shift")
    assert (second.subject, second.line, second.status) == ("relu", 3, "correct")


def test_a_lambda_that_raises_is_explained_with_its_line(tmp_path):
    (verdict,) = checked(tmp_path, "import numpy as np\n\nsoftmax = lambda x: np.exp(x - undefined)\n")
    assert (verdict.status, verdict.causes[0].line) == ("wrong", 3)
    assert "in `softmax = lambda x: np.exp(x - undefined)`" in verdict.causes[0].says.en


def test_a_partial_assigned_to_a_name_is_a_function(tmp_path):
    text = (
        "from functools import partial\nimport functools\nimport numpy as np\n"
        "def _normed(x, weight, bias, eps):\n"
        "    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * weight + bias\n"
        "layer_norm = partial(_normed, eps=1e-5)\n"
        "relu = functools.partial(np.maximum, 0)\n"
    )
    first, *_ = checked(tmp_path, text)
    assert (first.subject, first.line, first.status) == ("layer_norm", 6, "correct")


def test_a_name_that_is_defined_twice_is_judged_once_as_its_last_definition(tmp_path):
    text = "import numpy as np\ndef relu(x):\n    return x\n\ndef relu(x):\n    return np.maximum(x, 0)\n"
    (verdict,) = checked(tmp_path, text)
    assert (verdict.line, verdict.status) == (5, "correct")


def test_files_that_are_not_python_are_rejected(tmp_path):
    with pytest.raises(OptionError, match="which does not exist, expected a .py file or a notebook"):
        read_source(tmp_path / "none.py")
    with pytest.raises(OptionError, match="a folder"):
        read_source(tmp_path)
    (tmp_path / "broken.ipynb").write_text("{")
    with pytest.raises(OptionError, match="which cannot be read"):
        read_source(tmp_path / "broken.ipynb")


def test_a_mistyped_exercise_suggests_the_closest_names():
    with pytest.raises(OptionError, match="got 'sofmax', expected one of softmax, ") as raised:
        check_name("sofmax")
    assert raised.value.hint == "did you mean softmax or log_softmax?"


def test_fresh_prompts_have_one_likely_token_at_every_step():
    for seed in range(3):
        inputs = [each.inputs for each in fresh_probes(exercise("generate"), seed)]
        assert all(each["model"].decides(each["prompt"], each["max_new_tokens"]) for each in inputs)
