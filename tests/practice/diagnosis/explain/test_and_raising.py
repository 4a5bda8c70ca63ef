"""Programs with two mistakes, of which one raises for some inputs."""

from __future__ import annotations

import pytest

from tests.practice.diagnosis.checks.judging import verdict_on

SAMPLE = """
import numpy as np

def probabilities(logits):
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)

def sample(logits, temperature=1.0, min_p=None):
    if temperature == 0:
        return logits.argmax(axis=-1)
    scaled = logits / temperature
    p = probabilities(scaled)
    if min_p is not None:
        p = np.where(p >= min_p * p.max(axis=-1, keepdims=True), p, 0)
        p = p / p.sum(axis=-1, keepdims=True)
    return np.random.choice(len(p), p=p)
"""


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ((), []),
        ((("logits / temperature", "logits"),), ["temperature"]),
        ((("logits / temperature", "logits"), ("min_p * p.max", "top_p * p.max")), ["temperature + raises_NameError"]),
    ],
)
def test_a_mistake_is_named_with_the_exception_of_another_one(tmp_path, changes, causes):
    text = SAMPLE
    for right, wrong in changes:
        assert right in text
        text = text.replace(right, wrong)
    assert [cause.name for cause in verdict_on(tmp_path, text, "sample").causes] == causes
