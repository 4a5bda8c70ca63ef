"""How long a function may work on a probe."""

from __future__ import annotations

import time

import numpy as np

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercises import exercise


def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def judged(name, function):
    return diagnose(Subject(function, name, imports=("numpy",)), exercise(name))


def test_a_slow_function_is_given_the_time_that_it_needs():
    def relu(x):
        if np.ndim(x) == 1:
            work(0.3)
        return np.maximum(x, 0)

    assert judged("relu", relu).is_correct


def test_an_endless_one_is_not_waited_for_again_and_again():
    def relu(x):
        while True:
            pass

    begun = time.process_time()
    verdict = judged("relu", relu)
    assert verdict.status == "could not run"
    assert "endless loop" in str(verdict)
    assert time.process_time() - begun < 3


def test_what_raises_whatever_it_is_asked_is_asked_little():
    calls = []

    def decoder_layer(x, encoder_output, W_q, mask=None, src_mask=None):
        calls.append(1)
        raise NotImplementedError

    assert judged("decoder_layer", decoder_layer).status == "could not run"
    assert len(calls) < 400
