"""Reports of the work that is needed before a model can run."""

from __future__ import annotations

import logging
from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a description of the work, the amount done and the total; a total of 0 marks a note to be shown once."""

logger = logging.getLogger("headway")


def log_progress(what: str, done: int, total: int) -> None:
    """Log notes, and the beginning of work that takes seconds, as warnings: they reach stderr unless logging is configured otherwise."""
    if total == 0:
        logger.warning("%s", what)
    elif done == 0:
        logger.warning("%s, once", what)
