"""Ways to call a subject that are not tried, because they cannot be right."""

from collections.abc import Callable
from itertools import pairwise

import numpy
import pytest

from headway.practice.diagnosis.calls.calling import libraries_for
from headway.practice.diagnosis.checks.trials import trials_of
from headway.practice.diagnosis.classes.constructing import constructions
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import subject_of
from headway.practice.diagnosis.repair import search
from headway.practice.diagnosis.repair.search import Allowance, Extent, find_repair
from headway.practice.exercises import exercise


def scaled(x, by=2):
    x = x.reshape(x.shape[0], -1)
    return x * by


def scaled_if_possible(x, by=2):
    return x * by if hasattr(x, "shape") else [each * by for each in x]


def converted(x):
    x = list(x)
    return x.shape


def test_a_function_that_reads_the_shape_of_an_operand_in_every_case_is_not_tried_with_lists():
    assert "list" not in libraries_for(subject_of(scaled))
    assert "list" in libraries_for(subject_of(scaled_if_possible))
    assert "list" in libraries_for(subject_of(converted))


class Scaling:
    def __init__(self):
        self.size = 2

    def forward(self, x):
        return [self.size * each for each in x]


def test_an_attribute_of_the_instance_is_not_one_of_an_operand():
    assert "list" in libraries_for(subject_of(Scaling))


class Attention:
    def __init__(self, width, turn: Callable, activation):
        self.width, self.turn = width, turn
        self.activation = activation

    def forward(self, x):
        return self.activation(self.turn(x))


def test_a_parameter_that_is_called_or_annotated_as_a_function_is_not_taken_for_a_size():
    found = list(constructions(subject_of(Attention), exercise("self_attention")))
    assert found
    assert all(set(each.constructor.role_of) <= {"width"} for each in found)


class Refusing:
    made = 0

    def __init__(self, hidden_size):
        type(self).made += 1
        raise ValueError("no size is right")

    def forward(self, x):
        return x


def test_a_constructor_that_raises_is_not_called_again_for_the_same_sizes():
    part, subject = exercise("self_attention"), subject_of(Refusing)
    construction = next(constructions(subject, part))
    call = InstanceCall(subject, construction.constructor, "numpy", construction=construction)
    Refusing.made = 0
    call.sample(part)
    once = Refusing.made
    call.sample(part)
    assert Refusing.made == once > 0


CALLS = []


def generate(_len=100):
    CALLS.append(_len)
    return [_len]


def test_a_function_without_operands_is_not_called_for_every_probe():
    verdict = diagnose(subject_of(generate), exercise("generate"))
    assert [each.name for each in verdict.causes] == ["parameters"]
    assert 0 < len(CALLS) <= 2 * len(libraries_for(subject_of(generate)))


def unlike_softmax(x, axis=-1):
    return numpy.stack([numpy.median(x, axis), numpy.tanh(x).mean(axis)])


def test_the_repairs_of_a_file_share_the_work_that_it_is_allowed(monkeypatch):
    monkeypatch.setitem(search.WORK, "numpy", 500)
    allowance, subject = Allowance(), subject_of(unlike_softmax)
    trials = trials_of(subject, exercise("softmax"))
    lefts = [allowance.left]
    for _ in range(5):
        assert find_repair(subject, trials, extent=Extent(allowance=allowance)) is None
        lefts.append(allowance.left)
    first, second, *_, last = (before - after for before, after in pairwise(lefts))
    assert first == pytest.approx(second)
    assert first > 1
    assert 0 < last < first / 3
