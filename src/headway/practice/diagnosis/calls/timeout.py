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


class TookTooLongError(BilingualError):
    """A learner's function exceeded the time limit for one probe."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TookTooLongError after this much CPU time; no limit outside the main thread or on Windows.

    It is raised again every half second, because what runs may handle every exception: code that observes values, or the learner's own.
    """
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
