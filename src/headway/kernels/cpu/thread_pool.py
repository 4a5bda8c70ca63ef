"""A pool of threads that run compiled code together."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from functools import cache
from numbers import Integral
from pathlib import Path

import numpy

from headway.errors import HeadwayError, OptionError, ResourceError
from headway.kernels.cpu.layout import ARRIVALS, NUM_BARRIERS, NUM_THREADS

Entry = Callable[[int, int], object]
"""Compiled code: called with the address of a record and the index of the thread."""

MAX_THREADS = 1024
WAKE_SECONDS = 60.0
"""A sleeping worker looks for a call this often, because `stop` can run inside its wait (by garbage collection) before it listens."""


def check_num_threads(num_threads: int) -> int:
    """Return the number of threads as an int.

    Errors   OptionError unless it is an integer from 1 to MAX_THREADS.
    """
    is_whole = isinstance(num_threads, Integral) and not isinstance(num_threads, bool)
    if not is_whole or not 1 <= num_threads <= MAX_THREADS:
        raise OptionError(
            f"got num_threads={num_threads!r}, expected an integer from 1 to {MAX_THREADS}",
            hint="leave it out for one thread per physical core",
        )
    return int(num_threads)


class ThreadPool:
    """The calling thread and `num_threads - 1` worker threads.

    The workers start with the first call. Between calls they spin for some microseconds, because the next token usually follows at
    once, and then sleep. They end when the pool is closed or garbage-collected, and when the interpreter exits.

    Every decoder has a pool of its own. A pool shared by decoders would have to count its users before it could be closed, and a pool
    that is not in use costs only the stacks of its sleeping threads.
    """

    def __init__(self, num_threads: int, wait_for_change: Entry | None = None) -> None:
        """Check the options; no thread is started before the first call.

        wait_for_change   the compiled `memory.wait_for_change`, in which a worker spins without the interpreter lock; None sleeps at once
        """
        self.num_threads = check_num_threads(num_threads)
        self._wait_for_change = wait_for_change
        self._run_lock = threading.Lock()
        self._is_closed = False
        self._workers: _Workers | None = None
        self._finalizer: weakref.finalize | None = None

    def run(self, entry: Entry, record: numpy.ndarray, address: int | None = None) -> None:
        """Run `entry(address of the record, thread)` in every thread and return when all of them have reached its last barrier.

        The pool fills in the first three fields of the record, which the barrier uses: see layout. An entry must end with a barrier and
        write the number of barriers back.

        address   that of the record, for callers that know it

        Errors   HeadwayError if the pool is closed; ResourceError if the system refuses to start a thread.
        """
        with self._run_lock:
            if self._is_closed:
                raise HeadwayError("got a call of a closed thread pool, expected an open one", hint="load the model again")
            workers = self._started_workers()
            address = record.ctypes.data if address is None else address
            number, is_done = workers.call_number, False
            # Counted by the arrivals, because an exception after the call could leave a copy of the number out of date.
            num_barriers = int(workers.arrivals[0]) // self.num_threads
            record[NUM_THREADS], record[ARRIVALS] = self.num_threads, workers.arrivals_address
            record[NUM_BARRIERS] = num_barriers
            try:
                workers.call((entry, address))
                entry(address, 0)
                is_done = True
            finally:
                # A signal handler may raise (Ctrl-C) between any two bytecodes. Workers that were called wait at the barrier for this
                # thread and use the caller's memory, so its share is done before the exception leaves.
                while not is_done and workers.call_number != number and record[NUM_BARRIERS] == num_barriers:
                    try:
                        workers.wake()
                        entry(address, 0)
                    except KeyboardInterrupt:
                        continue

    def close(self) -> None:
        """End the worker threads and wait for them. A closed pool can be closed again, but not run."""
        with self._run_lock:
            self._is_closed = True
            if self._finalizer is not None and self._workers is not None:
                self._finalizer()
                self._workers.join()

    def _started_workers(self) -> _Workers:
        if self._workers is None or self._workers.process != os.getpid():  # a forked process has no threads of its parent
            if self._finalizer is not None:
                self._finalizer.detach()
            workers = _Workers(self.num_threads - 1, self._wait_for_change)
            workers.start()
            self._workers, self._finalizer = workers, weakref.finalize(self, workers.stop)
        return self._workers


class _Workers:
    """The worker threads of a pool and the state that they share with it.

    A worker refers to this object and never to the pool, so that the pool can be garbage-collected while its workers sleep.
    The count of arrivals belongs to this object too: a worker may still read it after the calling thread has left the barrier.
    """

    def __init__(self, num_workers: int, wait_for_change: Entry | None) -> None:
        self.process, self.call_number = os.getpid(), 0
        self.arrivals = numpy.zeros(1, numpy.int64)
        self.arrivals_address = self.arrivals.ctypes.data
        self._signal = numpy.zeros(1, numpy.int64)
        self._wait_for_change = wait_for_change
        self._lock = threading.RLock()  # used directly: an exception within Condition.__exit__, which is Python, would leave it locked
        self._called = threading.Condition(self._lock)
        self._job: tuple[Entry, int] | None = None
        self._threads = [
            threading.Thread(target=self._work, args=(index,), daemon=True, name=f"headway-{index}") for index in range(1, num_workers + 1)
        ]

    def start(self) -> None:
        """Start the threads: all of them or none."""
        try:
            for thread in self._threads:
                thread.start()
        except BaseException as cause:
            self.stop()
            if not isinstance(cause, RuntimeError):
                raise
            raise ResourceError(
                f"got {cause} while starting {len(self._threads)} threads, expected the system to start them",
                hint="use a smaller num_threads",
            ) from cause

    def call(self, job: tuple[Entry, int] | None) -> None:
        """Give every worker a job; None ends it."""
        if not self._threads:
            return
        with self._lock:
            self._job = job
            self.call_number += 1
            self._signal[0] = self.call_number
            self._called.notify_all()

    def wake(self) -> None:
        """Wake sleeping workers again, in case `call` was interrupted before it could."""
        with self._lock:
            self._signal[0] = self.call_number
            self._called.notify_all()

    def stop(self) -> None:
        """Let the workers end. Garbage collection may call this in any thread, a worker included, so nothing is waited for."""
        if self.process == os.getpid():
            self.call(None)

    def join(self) -> None:
        """Wait for the workers to end."""
        for thread in self._threads:
            if self.process == os.getpid() and thread is not threading.current_thread():
                thread.join()

    def _work(self, index: int) -> None:
        number, signal_address = 0, self._signal.ctypes.data
        while True:
            if self._wait_for_change:
                self._wait_for_change(signal_address, number)
            with self._lock:
                while self.call_number == number:
                    self._called.wait(WAKE_SECONDS)
                number, job = self.call_number, self._job
            if job is None:
                return
            entry, address = job
            entry(address, index)


@cache
def num_cores() -> int:
    """Return the number of physical cores that this process may use."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    siblings = set()
    for core in allowed:
        try:
            siblings.add(Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").read_text())
        except OSError:
            return len(allowed)
    return max(len(siblings), 1)
