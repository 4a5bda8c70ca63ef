from __future__ import annotations

import pytest
from platformdirs import user_cache_path

from headway.kernels.cpu.machine import Machine


@pytest.fixture(scope="session")
def machine() -> Machine:
    """Two threads, and code that is compiled once per machine, not once per test run."""
    return Machine(2, user_cache_path("headway") / "compiled")
