"""Traces on a terminal."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

import headway
from headway import functions
from headway.look.recording import record
from headway.look.terminal import describe, heat_rows
from headway.look.view import View


def printed(view: View, **options) -> str:
    """Return the text of a view without colours."""
    console = Console(file=io.StringIO(), width=100, no_color=True)
    view.print(console, **options)
    return console.file.getvalue()


def test_each_line_of_the_source_is_followed_by_its_values():
    text = printed(headway.look("softmax", np.array([[0.0, 1.0]])))
    lines = text.splitlines()
    (at,) = [number for number, line in enumerate(lines) if "weights = xp.exp(" in line]
    assert "▸ _finite_max → (1, 1)" in lines[at + 1]
    assert "weights (1, size=2) float64  0.3679 … 1" in lines[at + 2]


def test_calls_unfold_to_a_depth():
    view = headway.look("softmax", np.array([0.0, 1.0]))
    assert "largest" not in printed(view)
    assert "largest" in printed(view, depth=1)


def test_numbers_are_printed_on_request():
    assert "0.3679" in printed(headway.look("softmax", np.array([0.0, 1.0])), has_numbers=True)


def test_a_heat_map_goes_from_the_minimum_to_the_maximum():
    value = record(functions.relu, np.array([[0.0, 0.5, 1.0], [1.0, np.nan, 0.0]])).trace.call.arguments[0]
    assert heat_rows(value) == ["  ▄▄██", "██??  "]
    assert "NaN × 1" in describe(value)


def test_runs_of_a_loop_are_counted_in_both_languages():
    def repeat(x):
        for _ in range(9):
            x = x + 1
        return x

    view = headway.look(repeat, np.zeros(1))
    assert "run 2 of 9" in printed(view)
    assert "第 2 次，共 9 次" in printed(view, language="zh")


@pytest.mark.parametrize("text", ["[red]", "\x1b[31m", "[/]"])
def test_markup_in_values_is_printed_as_it_is(text):
    assert repr(text) in printed(headway.look(lambda x: x, text))
