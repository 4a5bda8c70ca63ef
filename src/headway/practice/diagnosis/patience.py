"""An end to calls that do not come back: asked in a way that it was not made for, even a right function may loop forever."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class TookTooLongError(Exception):
    """A learner's function worked on one small probe for seconds."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise TookTooLongError after so many seconds of this process's own work, where the system and the thread allow it."""
    if not hasattr(signal, "SIGVTALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> Any:
        raise TookTooLongError(f"it did not come back within {seconds:g} seconds: an endless loop?")

    before, collects = signal.signal(signal.SIGVTALRM, stop), gc.isenabled()
    gc.disable()  # what others left behind is not this call's work, and an error raised while it is collected is lost
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if collects:
            gc.enable()
