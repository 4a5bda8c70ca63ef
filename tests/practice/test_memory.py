"""Shared results of a diagnosis: each is computed once, and no limit of time decides how many are."""

from __future__ import annotations

from dataclasses import replace

import numpy

from headway.practice.diagnosis.checks import memory
from headway.practice.diagnosis.checks.memory import Comparisons, Memory, Outputs
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercises import exercise


def test_equal_outputs_are_one_object_and_are_computed_once():
    outputs, computed = Outputs(), []

    def compute():
        computed.append(1)
        return numpy.ones(3)

    first = outputs.get("a", compute)
    assert outputs.get("a", compute) is first
    assert outputs.get("b", compute) is first
    assert len(computed) == 2
    assert outputs.interned((numpy.ones(3), 2)) is outputs.interned((numpy.ones(3), 2))
    assert outputs.interned(numpy.ones(3, numpy.float32)) is not first


def test_a_comparison_is_made_once_for_each_rounding():
    comparisons, made = Comparisons(), []
    one, other = numpy.ones(3), numpy.zeros(3)
    for decimals in (None, None, 2):
        comparisons.get(one, other, decimals, lambda: bool(made.append(1)))
    assert len(made) == 2


def two_mistakes(x, axis=-1):
    powers = numpy.exp(x)
    return powers / powers.sum()


def test_the_search_for_pairs_ends_after_a_number_of_pairs(monkeypatch):
    subject = Subject(two_mistakes, "softmax", imports=("numpy",))
    assert diagnose(subject, exercise("softmax")).causes[0].name == "no_shift + sums_everything"
    monkeypatch.setattr(memory.Memory, "__init__", with_pairs(0))
    assert diagnose(replace(subject), exercise("softmax")).status == "unknown"


def with_pairs(num_pairs):
    original = Memory.__init__
    return lambda self, **named: original(self, **named | {"num_pairs": num_pairs})
