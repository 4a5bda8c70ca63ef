"""What tests of every package share."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from tests.practice.score import write_score

ROOT = Path(__file__).resolve().parents[1]


def pytest_terminal_summary(terminalreporter) -> None:
    """How well `headway check` judged, where that was tested."""
    write_score(terminalreporter)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items) -> None:
    """JAX compiles every operation for every shape: what is asked of it is slow."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and any(isinstance(value, str) and value == "jax" for value in callspec.params.values()):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Thousands of tests are there to stay: the garbage collector need not look at them again and again."""
    gc.freeze()


def data_directory() -> Path:
    """Where the test data lies that is not part of the project: $HEADWAY_TEST_DATA, or ../shared/data beside the repository."""
    return Path(os.environ.get("HEADWAY_TEST_DATA") or ROOT.parent / "shared" / "data")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The test data; where it is absent the test is skipped, and says so."""
    directory = data_directory()
    if not directory.is_dir():
        pytest.skip(f"no test data at {directory}; set HEADWAY_TEST_DATA")
    return directory
