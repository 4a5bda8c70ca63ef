from __future__ import annotations

import pytest
from platformdirs import user_cache_path

from headway.kernels.cpu.runtime import Runtime


@pytest.fixture(scope="session")
def runtime() -> Runtime:
    """Return a runtime of two threads that keeps its code in the user's cache folder, so that tests compile it once."""
    return Runtime(2, user_cache_path("headway") / "compiled")
