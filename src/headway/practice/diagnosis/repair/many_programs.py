"""Conditions under which thousands of changed programs run: quick constructors, and a limit on the memory that one of them may ask for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headway.practice.diagnosis.calls.quick_draws import FILLED, quick_draws
from headway.practice.diagnosis.calls.replacing import replaced

RANDOM = ("uniform_", "normal_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_")
"""Functions of torch.nn.init that draw numbers."""

MORE_BYTES = 2**30
"""Address space that may be mapped in addition: a changed size can ask for any amount, and the process ends at its limit of memory."""


@contextmanager
def many_programs() -> Iterator[None]:
    """Fill the weights of new layers of torch and Flax with one number, and refuse large arrays."""
    init = getattr(getattr(sys.modules.get("torch"), "nn", None), "init", None)
    with replaced(init, dict.fromkeys(RANDOM, _filled)), quick_draws(most=0), _limited_memory():
        yield


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Limit the address space, so that an array of too large a size raises an exception; only where the system tells how much is in use."""
    try:
        import resource

        num_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [each for each in (num_bytes + MORE_BYTES, soft, hard) if each != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    except (ImportError, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _filled(tensor: Any, *operands: Any, **named: Any) -> Any:
    return tensor.data.fill_(FILLED)
