"""The repair of programs whose values no right program computes on its way, and of expressions in the wrong order."""

from __future__ import annotations

import ast

import pytest

from headway.practice.diagnosis.repair.donors import Own, _Renaming
from headway.practice.diagnosis.repair.observation import Seen
from tests.practice.test_repair import repaired, subject_of, with_slips

COUNTS = """
def get_stats(ids):
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts
"""

PADDING = """
import numpy as np

def create_padding_mask(tokens, pad_id):
    shown = (tokens != pad_id).astype(np.float32)
    with np.errstate(divide="ignore"):
        return np.log(shown)
"""

SLIPS = [
    ("padding_mask", PADDING, [("tokens != pad_id", "tokens == pad_id")]),
    ("pair_counts", COUNTS, [("get(pair, 0)", "get(pair, 1)")]),
]


@pytest.mark.parametrize(
    ("name", "program", "slips"), SLIPS, ids=lambda value: value if isinstance(value, str) and "\n" not in value else ""
)
def test_what_is_called_in_another_order_is_repaired_in_its_lines(name, program, slips):
    text, lines = with_slips(program, slips)
    repair, is_right = repaired(name, text)
    assert is_right
    assert {edit.line for edit in repair.edits} == set(lines)


def test_an_expression_in_the_learners_names_shares_no_nodes_with_the_program():
    own = ast.parse("f(x)", mode="eval").body
    node = ast.parse("g(y) + 1", mode="eval").body
    assert isinstance(node, ast.BinOp)
    renaming = _Renaming(node.right, {}, {id(node.left): Seen("float array", (2,), 7)}, Own({7: own}, ["f"], "np"))
    found = renaming.of(node)
    assert ast.unparse(found.left) == "f(x)"
    assert not {*map(id, ast.walk(found))} & {*map(id, ast.walk(own))}


def test_the_line_of_a_mistake_is_one_of_code():
    text = 'def softmax(x):\n    """Divide by\n    the sum, axis=0."""\n    return x / x.sum(axis=0)\n'
    assert subject_of(text).line_of("axis=0") == 4
