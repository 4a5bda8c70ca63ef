"""Threads that run compiled code together."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest

from headway.errors import HeadwayError, OptionError, ResourceError
from headway.kernels.cpu.layout import ARRIVALS, NUM_BARRIERS, NUM_THREADS
from headway.kernels.cpu.packing import pack
from headway.kernels.cpu.runtime import Runtime
from headway.kernels.cpu.thread_pool import MAX_THREADS, ThreadPool, num_cores

FORK = """
import os, sys
import numpy
from platformdirs import user_cache_path
from headway.kernels.cpu.packing import pack
from headway.kernels.cpu.runtime import Runtime

runtime = Runtime(2, user_cache_path("headway") / "compiled")
pack("x", numpy.ones((64, 64), numpy.float32), "int8", runtime.pack, runtime.pool)
child = os.fork()
packed = pack("x", numpy.ones((64, 64), numpy.float32), "int8", runtime.pack, runtime.pool)
is_right = abs(packed.dense() - 1).max() < 0.01
runtime.pool.close()
if not child:
    os._exit(0 if is_right else 1)
sys.exit(0 if is_right and os.waitpid(child, 0)[1] == 0 else 1)
"""
EXIT = """
import sys
import numpy
from platformdirs import user_cache_path
from headway.kernels.cpu.packing import pack
from headway.kernels.cpu.runtime import Runtime

runtime = Runtime(4, user_cache_path("headway") / "compiled")
pack("x", numpy.ones((64, 64), numpy.float32), "int8", runtime.pack, runtime.pool)
if sys.argv[1] == "in a cycle":
    runtime.pool.cycle = runtime.pool
    del runtime
elif sys.argv[1] == "closed":
    runtime.pool.close()
"""


def barrier_entry(num_threads, seen):
    barrier = threading.Barrier(num_threads)

    def entry(address, thread):
        seen.append(thread)
        barrier.wait()

    return entry


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("headway-")]


def wait_for_no_workers(before):
    deadline = time.monotonic() + 300
    while len(workers()) > before and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(workers())


@pytest.mark.parametrize("num_threads", [1, 2, 9])
def test_every_thread_runs_once_per_call(num_threads):
    pool, record = ThreadPool(num_threads), numpy.zeros(3, numpy.int64)
    for _ in range(5):
        seen = []
        pool.run(barrier_entry(num_threads, seen), record)
        assert sorted(seen) == list(range(num_threads))
    assert record[NUM_THREADS] == num_threads
    assert record[ARRIVALS] != 0
    assert record[NUM_BARRIERS] == 0


@pytest.mark.parametrize("num_threads", [0, -1, 1.5, 2.0, True, "2", 10**6, MAX_THREADS + 1, float("nan")])
def test_a_number_of_threads_out_of_range(num_threads):
    for make in (ThreadPool, Runtime):
        with pytest.raises(OptionError, match=f"got num_threads={num_threads!r}, expected an integer from 1 to {MAX_THREADS}") as caught:
            make(num_threads)
        assert caught.value.hint


def test_a_number_of_threads_may_be_numpys():
    assert ThreadPool(numpy.int64(2)).num_threads == 2


def test_there_is_at_least_one_core():
    assert 1 <= num_cores() <= (os.cpu_count() or 1)


def test_closing_ends_the_threads_at_once():
    before, pool = len(workers()), ThreadPool(5)
    pool.run(barrier_entry(5, []), numpy.zeros(3, numpy.int64))
    assert len(workers()) == before + 4
    pool.close()
    assert len(workers()) == before
    pool.close()
    with pytest.raises(HeadwayError, match="closed thread pool"):
        pool.run(barrier_entry(5, []), numpy.zeros(3, numpy.int64))


def test_a_system_without_threads_is_a_resource_error(monkeypatch):
    before, pool, starts = len(workers()), ThreadPool(5), []
    start = threading.Thread.start

    def refuse(thread):
        starts.append(thread)
        if len(starts) == 3:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(ResourceError, match="got can't start new thread while starting 4 threads"):
        pool.run(barrier_entry(5, []), numpy.zeros(3, numpy.int64))
    monkeypatch.undo()
    assert wait_for_no_workers(before) == before
    pool.run(barrier_entry(5, []), numpy.zeros(3, numpy.int64))
    pool.close()


def test_a_pool_that_never_ran_can_be_closed():
    ThreadPool(3).close()


@pytest.mark.parametrize("is_in_a_cycle", [False, True])
def test_a_pool_that_is_dropped_ends_its_threads(runtime, is_in_a_cycle):
    before = len(workers())
    for _ in range(10):
        pool = ThreadPool(4, runtime.pool._wait_for_change)
        pool.run(barrier_entry(4, []), numpy.zeros(3, numpy.int64))
        if is_in_a_cycle:
            pool.cycle = pool
    del pool
    gc.collect()
    assert wait_for_no_workers(before) == before


@pytest.mark.parametrize("how", ["open", "in a cycle", "closed"])
def test_the_interpreter_exits_with_a_pool(how):
    subprocess.run([sys.executable, "-c", EXIT, how], check=True, timeout=600)


def test_many_more_threads_than_cores_finish(runtime):
    matrix = numpy.random.default_rng(0).standard_normal((300, 64)).astype(numpy.float32)
    many = Runtime(24, runtime.folder)
    for _ in range(20):
        packed = pack("x", matrix, "int8", runtime.pack, many.pool)
    assert (packed.dense() == pack("x", matrix, "int8", runtime.pack, runtime.pool).dense()).all()
    many.pool.close()


def test_several_python_threads_may_use_one_pool(runtime):
    matrix = numpy.random.default_rng(0).standard_normal((64, 64)).astype(numpy.float32)
    expected, wrong = pack("x", matrix, "int8", runtime.pack, runtime.pool).dense(), []

    def work():
        for _ in range(20):
            if not (pack("x", matrix, "int8", runtime.pack, runtime.pool).dense() == expected).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
def test_a_call_may_be_interrupted_at_any_point(runtime):
    matrix = numpy.random.default_rng(0).standard_normal((64, 64)).astype(numpy.float32)
    pool, interruptions = ThreadPool(3, runtime.pool._wait_for_change), 0
    expected = pack("x", matrix, "int8", runtime.pack, pool).dense()

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before, random = signal.signal(signal.SIGALRM, interrupt), numpy.random.default_rng(1)
    gc.disable()  # an exception raised during a collection is lost, and pytest reports it
    try:
        for _ in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 4e-4))
                pack("x", matrix, "int8", runtime.pack, pool)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interruptions += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, before)
    assert interruptions > 10
    assert (pack("x", matrix, "int8", runtime.pack, pool).dense() == expected).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_starts_threads_of_its_own():
    subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK], check=True, timeout=600)
