"""A learner's file: recorded in the confined process, next to the definition, with the first line that differs."""

from __future__ import annotations

import sys

import pytest

from headway.errors import OptionError
from headway.look.confined import Recording, recorded_in_sandbox
from headway.look.learner import view_of_file
from tests.look.browser import browser, opened

ATTENTION = """
import numpy as np


def softmax(x, axis=-1):
    x = x - x.max(axis=axis, keepdims=True)
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ np.swapaxes(key, -1, -2)
    scores = scores / np.sqrt(value.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores)
    return weights @ value
"""


def written(tmp_path, text, name="mine.py"):
    path = tmp_path / name
    path.write_text(text)
    return path


def line_of(text, part):
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


@pytest.mark.slow
def test_the_first_line_that_differs_is_the_wrong_one(tmp_path):
    view = view_of_file(written(tmp_path, ATTENTION))
    yours, definition = view.panels
    assert view.verdict is not None
    assert view.verdict.status != "correct"
    assert yours.differs == line_of(ATTENTION, "value.shape[-1]")
    assert yours.trace.call.function == definition.trace.call.function == "scaled_dot_product_attention"
    assert yours.trace.call.arguments[0].numbers == definition.trace.call.arguments[0].numbers
    assert yours.trace.call.steps[-1].values[-1].axes == ("query_len", "value_dim")


@pytest.mark.slow
def test_a_mistake_without_a_repair_is_found_by_comparison_with_the_definition(tmp_path):
    text = "import numpy as np\n\ndef softmax(x):\n    e = np.exp(x)\n    total = e.sum()\n    return e / total\n"
    view = view_of_file(written(tmp_path, text))
    assert view.panels[0].differs in (4, 5)  # exp is not shifted, and the sum is over everything
    assert view.verdict is not None
    assert {cause.name for cause in view.verdict.causes} <= {"sums_everything", "sums_everything + no_shift", "no_shift + sums_everything"}


@pytest.mark.slow
def test_a_correct_function_has_no_line_that_differs(tmp_path):
    text = ATTENTION.replace("value.shape[-1]", "query.shape[-1]")
    view = view_of_file(written(tmp_path, text), function="scaled_dot_product_attention")
    assert view.verdict is not None
    assert view.verdict.is_correct
    assert view.panels[0].differs is None


@pytest.mark.slow
def test_a_class_is_recorded_in_its_call(tmp_path):
    text = """
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.bias = nn.Parameter(torch.zeros(hidden_size))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + self.eps) * self.weight + self.bias
"""
    view = view_of_file(written(tmp_path, text))
    assert view.panels[0].trace.call.function == "forward"
    assert view.panels[0].differs == line_of(text, "variance = ")


def test_any_function_is_recorded_with_given_inputs(tmp_path):
    path = written(tmp_path, "def double(x):\n    y = 2 * x\n    return y\n")
    view = view_of_file(path, inputs={"x": 3.0})
    assert view.verdict is None
    assert view.panels[0].trace.call.steps[0].values[0].text == "6.0"


def test_a_file_without_a_part_is_refused(tmp_path):
    with pytest.raises(OptionError, match="part of the transformer"):
        view_of_file(written(tmp_path, "def greet():\n    return 'hello'\n"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("while True: pass", "time"),
        ("import os; os._exit(0)", "end"),
        ("y = bytearray(10**12)", "Memory"),
        ("raise ValueError('\\x1b[31m')", "ValueError"),
    ],
)
def test_hostile_code_meets_the_limits_of_the_sandbox(tmp_path, body, reason):
    text = f"def f(x):\n    {body}\n    return x\n"
    path = written(tmp_path, text)
    found = recorded_in_sandbox(Recording(path, text, "f", None, inputs={"x": 1.0}), 3.0)
    if not isinstance(found, str):  # the exception is in the trace
        found = found.trace.call.error
    assert reason in found


@pytest.mark.skipif(sys.platform != "linux", reason="files are restricted on Linux only")
def test_a_learners_function_changes_no_file(tmp_path):
    text = f"def f(x):\n    open({str(tmp_path / 'changed')!r}, 'w').write('x')\n"
    found = recorded_in_sandbox(Recording(written(tmp_path, text), text, "f", None, inputs={"x": 1.0}), 5.0)
    assert not isinstance(found, str)
    assert "Error" in found.trace.call.error
    assert not (tmp_path / "changed").exists()


def test_a_forged_trace_is_refused(tmp_path):
    forged = "import os\nfor n in range(3, 40):\n    try: os.write(n, b'\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00{}')\n    except OSError: pass\nos._exit(0)\n"
    text = f"{forged}\ndef f(x):\n    return x\n"
    found = recorded_in_sandbox(Recording(written(tmp_path, text), text, "f", None, inputs={"x": 1.0}), 5.0)
    assert isinstance(found, str)


@pytest.mark.slow
def test_the_page_shows_both_and_marks_the_line(tmp_path):
    view = view_of_file(written(tmp_path, ATTENTION))
    view.save(tmp_path / "out.html")
    with browser() as started:
        for language, words in (("en", "first line whose value differs"), ("zh", "第一行值不同的代码")):
            page = opened(started, tmp_path / "out.html", language=language)
            marked = page.page.locator(".row.differs")
            assert marked.count() == 1
            assert "value.shape[-1]" in marked.inner_text()
            assert words in marked.inner_text()
            assert page.page.locator("main.two > section").count() == 3
            assert page.page.locator(".verdict").count() == 1
            assert page.messages == []
            page.page.context.close()
