"""Time limit for calls of a learner's function, which may loop forever if called with an unsuitable convention."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from headway.practice.message import BilingualError
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")


AGAIN_SECONDS = 0.5
"""CPU time after which the exception of a time limit is raised again."""


MAX_ITERATIONS = 10_000
"""Iterations of counted loops within one time limit."""


class TookTooLongError(BilingualError):
    """A learner's function exceeded the time limit for one probe."""


class TooManyIterationsError(TookTooLongError):
    """The counted loops of a learner's function exceeded MAX_ITERATIONS."""


class _Iterations:
    """The number of iterations of counted loops since the start of the last time limit."""

    def __init__(self) -> None:
        self.number = 0


_ITERATIONS = _Iterations()


def count_iteration() -> bool:
    """Count an iteration of a loop, and return True.

    An endless loop ends sooner than at its time limit, after the same number of iterations on every machine.

    Errors   TooManyIterationsError after MAX_ITERATIONS within one time limit
    """
    _ITERATIONS.number += 1
    if _ITERATIONS.number > MAX_ITERATIONS:
        raise TooManyIterationsError(TEXTS["no_return"].format(seconds=0))
    return True


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TookTooLongError after this much CPU time; no limit outside the main thread or on Windows.

    It is raised again every half second, because what runs may handle every exception: code that observes values, or the learner's own.
    """
    _ITERATIONS.number = 0
    if not hasattr(signal, "SIGVTALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> Any:
        raise TookTooLongError(TEXTS["no_return"].format(seconds=seconds))

    before, collects = signal.signal(signal.SIGVTALRM, stop), gc.isenabled()
    gc.disable()  # collecting earlier garbage would count against this call, and exceptions raised during a collection are lost
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, AGAIN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if collects:
            gc.enable()
