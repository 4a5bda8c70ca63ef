"""Threads that run compiled code together: started once, and from then on waiting for the next call."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy

from headway.errors import OptionError
from headway.kernels.cpu.layout import ARRIVED, MEETING, NUM_THREADS

Entry = Callable[[int, int], object]


class Team:
    """The calling thread and `num_threads - 1` others.

    Between calls the others look for the next one for a moment, as a token follows a token, and then sleep.
    """

    def __init__(self, num_threads: int, wait: Entry | None = None) -> None:
        """Nothing is started before the first call.

        wait   the compiled `memory.watch`, with which a thread looks for the next call without holding up Python; None sleeps at once
        """
        if num_threads < 1:
            raise OptionError(f"came: {num_threads} threads; expected: at least 1; leave it out for one per core")
        self.num_threads, self.wait = num_threads, wait
        self._called = threading.Condition()
        self._lock = threading.Lock()
        self._number = 0
        self._job: tuple[Entry, int] | None = None
        self._process: int | None = None
        self._signal, self._arrived, self._meetings = numpy.zeros(1, numpy.int64), numpy.zeros(1, numpy.int64), 0

    def run(self, entry: Entry, record: numpy.ndarray) -> None:
        """Run `entry(address of the record, thread)` in every thread; it returns when all shares are done.

        The record begins with what the team fills in, so that the threads can wait for one another: see layout. The last thing an
        entry does is to wait so.
        """
        with self._lock:
            record[NUM_THREADS], record[ARRIVED], record[MEETING] = self.num_threads, self._arrived.ctypes.data, self._meetings
            if self.num_threads > 1:
                self._start()
                with self._called:
                    self._job, self._number = (entry, record.ctypes.data), self._number + 1
                    self._signal[0] = self._number
                    self._called.notify_all()
            entry(record.ctypes.data, 0)
            self._meetings = int(record[MEETING])

    def _start(self) -> None:
        if self._process == os.getpid():  # threads do not follow a fork
            return
        self._process, self._called = os.getpid(), threading.Condition()
        for thread in range(1, self.num_threads):
            threading.Thread(target=self._work, args=(thread, self._number), daemon=True, name=f"headway-{thread}").start()

    def _work(self, thread: int, number: int) -> None:
        place = self._signal.ctypes.data
        while True:
            if self.wait:
                self.wait(place, number)
            with self._called:
                while self._number == number:
                    self._called.wait()
                number, job = self._number, self._job
            assert job is not None
            job[0](job[1], thread)


@cache
def num_cores() -> int:
    """The physical cores that this process may use."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    siblings = set()
    for core in allowed:
        try:
            siblings.add(Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").read_text())
        except OSError:
            return len(allowed)
    return max(len(siblings), 1)
