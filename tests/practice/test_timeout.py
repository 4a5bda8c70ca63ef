"""Time limits for one call of a learner's function."""

from __future__ import annotations

import sys
import time
from contextlib import suppress

import numpy as np
import pytest

from headway.practice.diagnosis.calls.timeout import TookTooLongError, TooManyIterationsError, count_iteration, time_limit
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.diagnosis.repair.many_programs import MORE_BYTES, many_programs
from headway.practice.exercises import exercise


def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def judged(name, function):
    return diagnose(Subject(function, name, imports=("numpy",)), exercise(name))


def test_a_slow_function_gets_the_full_time_limit():
    def relu(x):
        if np.ndim(x) == 1:
            work(0.3)
        return np.maximum(x, 0)

    assert judged("relu", relu).is_correct


@pytest.mark.slow
def test_an_endless_loop_ends_the_remaining_probes():
    def relu(x):
        while True:
            pass

    begun = time.process_time()
    verdict = judged("relu", relu)
    assert verdict.status == "could not run"
    assert "endless loop" in str(verdict)
    assert time.process_time() - begun < 60  # each of the many probes would take a second


def test_a_function_that_always_raises_gets_few_calls():
    calls = []

    def decoder_layer(x, encoder_output, W_q, mask=None, src_mask=None):
        calls.append(1)
        raise NotImplementedError

    assert judged("decoder_layer", decoder_layer).status == "could not run"
    assert len(calls) < 620


def swallow():
    with suppress(Exception):
        work(60)
    work(60)


@pytest.mark.slow
def test_a_loop_that_swallows_the_first_exception_of_the_time_limit_ends():
    with pytest.raises(TookTooLongError), time_limit(0.05):
        swallow()


def test_counted_loops_end_after_a_number_of_iterations():
    with time_limit(20.0), pytest.raises(TooManyIterationsError):
        all(iter(count_iteration, False))
    with time_limit(20.0):
        assert count_iteration()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the address space in use is read from /proc")
def test_a_changed_program_cannot_ask_for_more_memory_than_the_limit():
    with many_programs(), pytest.raises(MemoryError):
        np.ones(2 * MORE_BYTES, np.int8)
    assert np.ones(2 * MORE_BYTES, np.int8)[0] == 1
