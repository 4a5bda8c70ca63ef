from __future__ import annotations

import ast
import inspect

import pytest

from headway.practice.message import LANGUAGES
from headway.practice.workbook.parts import NAMES, PARTS, part
from headway.practice.workbook.stubs import IMPORTS, stub

every_part = pytest.mark.parametrize("part", PARTS, ids=NAMES)


@every_part
@pytest.mark.parametrize("array", IMPORTS)
def test_a_stub_has_one_import_and_one_function_without_a_body(part, array):
    tree = ast.parse(stub(part, array, "en"))
    imported = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imported == [IMPORTS[array], *(f"from {name} import {name}" for name in sorted(part.uses))]
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert function.name == part.name
    assert ast.get_docstring(function)
    assert ast.unparse(function.body[1:]) == "raise NotImplementedError"
    assert not any(node.annotation for node in ast.walk(function) if isinstance(node, ast.arg))


@every_part
def test_a_stub_has_the_definitions_docstring(part):
    if part.definition is None:
        return
    docstring = ast.get_docstring(ast.parse(stub(part, "numpy", "en")).body[-1])
    assert docstring.startswith(inspect.getdoc(part.definition).partition("\n")[0])
    assert "Shapes\n" in docstring
    assert "Source" not in docstring
    if part.parameters is None:
        assert inspect.getdoc(part.definition).split("\n\n")[1] in docstring


def test_the_signature_is_the_definitions_without_annotations_and_unused_parameters():
    assert "def softmax(x, *, axis=-1):\n" in stub(part("softmax"), "torch", "en")
    attention = stub(part("scaled_dot_product_attention"), "numpy", "en")
    assert "def scaled_dot_product_attention(query, key, value, mask=None, *, is_causal=False, scale=None):\n" in attention
    assert "soft_cap" not in attention


def test_the_example_is_shown_for_numpy_only_with_the_parts_name():
    assert ">>> gelu(np.array([0.0, 1.0])).round(4).tolist()" in stub(part("gelu"), "numpy", "en")
    assert ">>>" not in stub(part("gelu"), "torch", "en")


@every_part
def test_a_part_uses_only_earlier_parts_and_every_part_is_used(part):
    before = NAMES[: NAMES.index(part.name)]
    assert set(part.uses) <= set(before)
    used = {name for each in PARTS for name in each.uses}
    assert used == set(NAMES) - {"story"}


def test_the_parts_are_in_the_order_of_the_exercises():
    from headway.practice import exercises

    assert [name for name in exercises.NAMES if name in NAMES] == list(NAMES[:-1])


@every_part
def test_the_first_line_and_the_hints_are_in_both_languages(part):
    english, chinese = (stub(part, "numpy", language).split("\n")[0] for language in LANGUAGES)
    assert english.startswith("# ")
    assert any("一" <= character <= "鿿" for character in chinese)
    assert len(part.hints) == 3
    assert part.title.en
    assert part.equation in stub(part, "numpy", "en")
