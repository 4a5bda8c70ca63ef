"""Functions of numbers with gradients, whose class is in a missing file of the author."""

import pytest

from headway.practice.diagnosis.reading.absent_values import Value
from headway.practice.diagnosis.sandbox import check_file

MODEL = """
from engine import Value

def linear(x: list[Value], w: list[list[Value]]) -> list[Value]:
    return [sum((a * b for a, b in zip(row, x)), Value(0.0)) for row in w]

def softmax(logits: list[Value]) -> list[Value]:
    top = max(each.data for each in logits)
    powers = [(each - top).exp() for each in logits]
    total = sum(powers)
    return [each / total for each in powers]
"""


def test_the_gradients_of_a_value_are_its_slopes():
    def of(number):
        x = number if isinstance(number, Value) else Value(number)
        return (x.tanh() * 3 - 2 / x) ** 2 + (x * x).log() + x.exp() / 5 - x.relu() * (-x)

    x = Value(0.7)
    of(x).backward()
    slope = (of(0.7 + 1e-6).data - of(0.7 - 1e-6).data) / 2e-6
    assert x.grad == pytest.approx(slope, rel=1e-6)
    assert Value(1.0) < 2
    assert Value(2.0) > Value(1.0)
    assert (3 - Value(1.0)).data == 2.0


def test_functions_of_values_are_judged_without_their_class(tmp_path):
    path = tmp_path / "learner.py"
    path.write_text(MODEL)
    assert {each.subject: each.status for each in check_file(path)} == {"linear": "correct", "softmax": "correct"}


@pytest.mark.parametrize("change", [("sum(powers)", "len(powers)"), ("each / total", "each * total"), ("zip(row, x)", "zip(row, row)")])
def test_wrong_functions_of_values_are_not_accepted(tmp_path, change):
    path = tmp_path / "learner.py"
    path.write_text(MODEL.replace(*change))
    assert any(each.status != "correct" for each in check_file(path))
