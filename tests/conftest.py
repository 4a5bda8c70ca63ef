"""Fixtures and hooks for the tests of every package."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import signal
import sys
import threading
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

from tests.practice.score import write_score

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # two workers share the cores; idle threads of torch would use up the CPU time of a call
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # it compiles every operation for every shape; none runs for long
MOST_CASES = 3
"""Number of cases of a test function in the quick part."""
MOST_BYTES = 1 << 29
"""Memory that the process may have in addition before compiled operations are dropped."""

# A busy machine is no failure, and the same commit passes each time; make fuzz draws other examples.
hypothesis.settings.register_profile(
    "headway",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize="HEADWAY_FUZZ" not in os.environ,
)
hypothesis.settings.load_profile("headway")


def pytest_terminal_summary(terminalreporter) -> None:
    """Print the scores of `headway check`, if they were measured."""
    write_score(terminalreporter)


def pytest_configure() -> None:
    """Restore SIGINT if it is ignored, as in background jobs and under nohup: child processes of the tests inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items) -> None:
    """Mark as slow: tests on JAX, which compiles every operation for every shape, and all but MOST_CASES cases of each function.

    The cases of the quick part are an odd number of cases apart, so that they differ in parameters of two values.
    """
    num_cases = Counter(_function(item) for item in items)
    seen: Counter[str] = Counter()
    for item in items:
        function = _function(item)
        if seen[function] % (math.ceil(num_cases[function] / MOST_CASES) | 1):
            item.add_marker(pytest.mark.slow)
        seen[function] += 1
        callspec = getattr(item, "callspec", None)
        if callspec is not None and any(isinstance(value, str) and value == "jax" for value in callspec.params.values()):
            item.add_marker(pytest.mark.slow)


def _function(item) -> str:
    return item.nodeid.partition("[")[0]


def pytest_collection_finish() -> None:
    """Keep the collected tests out of garbage collection; there are thousands of them."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Keep the process small: a worker runs thousands of tests, and every collection looks at all that it keeps."""
    yield
    if resident_bytes() > item.config.stash.get(RESIDENT, 0) + MOST_BYTES:
        _drop_caches()
        item.config.stash[RESIDENT] = resident_bytes()
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def _drop_caches() -> None:
    """Drop what JAX and torch compiled, also what is kept out of collections, and return the freed memory to the system."""
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    if "torch._dynamo" in sys.modules:
        sys.modules["torch._dynamo"].reset()
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)


RESIDENT = pytest.StashKey[int]()


def resident_bytes() -> int:
    """Return the memory of this process, 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return 0


def data_directory() -> Path:
    """Folder of the test data that is not part of the project: $HEADWAY_TEST_DATA, or ../shared/data next to the repository."""
    return Path(os.environ.get("HEADWAY_TEST_DATA") or ROOT.parent / "shared" / "data")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the test data; skip the test if it is absent."""
    directory = data_directory()
    if not directory.is_dir():
        pytest.skip(f"no test data at {directory}; set HEADWAY_TEST_DATA")
    return directory
