from __future__ import annotations

import pytest
from platformdirs import user_cache_path

from headway.kernels.cpu.runtime import Runtime


@pytest.fixture(scope="session")
def runtime() -> Runtime:
    """Two threads, and code that is compiled once per runtime, not once per test run."""
    return Runtime(2, user_cache_path("headway") / "compiled")
