from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import headway.practice
from headway.practice.exercises import NAMES
from headway.practice.rules import GENERAL, rule_id, rules_of, stable_name, url_of
from tests.practice.verdicts import CAUSE, WRONG


@pytest.mark.parametrize(
    ("cause", "rule"),
    [
        ("no_shift", "softmax/no_shift"),
        ("raises_ValueError", "softmax/raises"),
        ("because_of_my_max", "softmax/because_of_callee"),
        ("no_shift + first_axis", "softmax/no_shift+first_axis"),
    ],
)
def test_a_rule_names_no_part_of_the_program(cause, rule):
    assert rule_id("softmax", cause) == rule


def test_a_verdict_without_a_cause_has_the_rule_of_its_status():
    assert [replace(WRONG, status=status, causes=(), repair=None).rule for status in ("correct", "unknown", "could not run")] == [
        None,
        "scaled_dot_product_attention/unknown",
        "scaled_dot_product_attention/could_not_run",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_mistake_has_a_rule_whose_name_is_an_anchor(name):
    rules = rules_of(name)
    assert set(GENERAL) < set(rules)
    assert [each for each in rules if not each.isidentifier()] == []
    assert url_of(rules["unknown"].id).endswith("mistakes/general/#unknown")


@pytest.mark.parametrize(
    ("names", "points"),
    [(["scale"], 3), (["other"], 0), (["scale + other"], 0), (["scale", "raises_TypeError"], 1), (["raises_TypeError"], 1)],
)
def test_points_for_a_named_mistake_are_the_lowest_of_its_names(names, points):
    verdict = replace(WRONG, causes=tuple(replace(CAUSE, name=name) for name in names))
    assert verdict.points(5, {"scale": 3, "raises": 1}) == points
    assert replace(verdict, status="correct", causes=()).points(5) == 5


def test_every_cause_that_the_diagnosis_writes_has_a_rule():
    folder = Path(headway.practice.__file__).parent
    found = set()
    for path in [*(folder / "diagnosis").rglob("*.py"), *(folder / "judge").rglob("*.py"), *folder.glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.args[0] if isinstance(node, ast.Call) and node.args else None
            is_cause = isinstance(name, ast.Constant) and isinstance(node.func, ast.Name) and node.func.id in ("Cause", "_cause", "Mistake")
            found |= {name.value} if is_cause and isinstance(name.value, str) else set()
    assert len(found) > 10
    assert {stable_name(name) for name in found} - set(GENERAL) == set()
