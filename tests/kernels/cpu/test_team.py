"""Threads that run compiled code together."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy
import pytest

from headway.errors import OptionError
from headway.kernels.cpu.layout import ARRIVED, MEETING, NUM_THREADS
from headway.kernels.cpu.machine import Machine
from headway.kernels.cpu.packing import pack, unpack
from headway.kernels.cpu.team import Team, num_cores

FORK = """
import os, sys
import numpy
from platformdirs import user_cache_path
from headway.kernels.cpu.machine import Machine
from headway.kernels.cpu.packing import pack, unpack

machine = Machine(2, user_cache_path("headway") / "compiled")
pack("x", numpy.ones((64, 64), numpy.float32), "int8", machine.pack, machine.team)
child = os.fork()
packed = pack("x", numpy.ones((64, 64), numpy.float32), "int8", machine.pack, machine.team)
is_right = abs(unpack(packed) - 1).max() < 0.01
if not child:
    os._exit(0 if is_right else 1)
sys.exit(0 if is_right and os.waitpid(child, 0)[1] == 0 else 1)
"""


def barrier_entry(team_size, seen):
    barrier = threading.Barrier(team_size)

    def entry(address, thread):
        seen.append(thread)
        barrier.wait()

    return entry


@pytest.mark.parametrize("num_threads", [1, 2, 9])
def test_every_thread_runs_once_per_call(num_threads):
    team, record = Team(num_threads), numpy.zeros(3, numpy.int64)
    for _ in range(5):
        seen = []
        team.run(barrier_entry(num_threads, seen), record)
        assert sorted(seen) == list(range(num_threads))
    assert record[NUM_THREADS] == num_threads
    assert record[ARRIVED] != 0
    assert record[MEETING] == 0


def test_fewer_than_one_thread():
    with pytest.raises(OptionError, match="came: 0 threads"):
        Team(0)


def test_there_is_at_least_one_core():
    assert 1 <= num_cores() <= (os.cpu_count() or 1)


def test_many_more_threads_than_cores_come_to_an_end(machine):
    matrix = numpy.random.default_rng(0).standard_normal((300, 64)).astype(numpy.float32)
    many = Machine(24, machine.folder)
    for _ in range(20):
        packed = pack("x", matrix, "int8", machine.pack, many.team)
    assert (unpack(packed) == unpack(pack("x", matrix, "int8", machine.pack, machine.team))).all()


def test_several_python_threads_may_use_one_team(machine):
    matrix = numpy.random.default_rng(0).standard_normal((64, 64)).astype(numpy.float32)
    expected, wrong = unpack(pack("x", matrix, "int8", machine.pack, machine.team)), []

    def work():
        for _ in range(20):
            if not (unpack(pack("x", matrix, "int8", machine.pack, machine.team)) == expected).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_starts_threads_of_its_own():
    subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK], check=True)
