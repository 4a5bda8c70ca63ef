"""Numerical tolerances by dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from headway.arrays import dtype_name, to_numpy

# Relative to each element, and relative to the largest element of the array (at least 1), because sums lose digits to cancellation.
TOLERANCE = {
    "float64": (1e-10, 1e-12),
    "float32": (2e-5, 2e-6),
    "float16": (4e-3, 2e-3),
    "bfloat16": (3e-2, 1.5e-2),
}


def assert_close(actual: Any, expected: Any, dtype: str | None = None) -> None:
    """Assert equal shapes and values within the tolerance of the dtype (that of `actual` by default)."""
    relative, absolute = TOLERANCE[dtype or dtype_name(actual.dtype)]
    actual, expected = to_numpy(actual), expected if isinstance(expected, (float, int, list)) else to_numpy(expected)
    assert np.shape(actual) == np.shape(expected), f"{np.shape(actual)} is not {np.shape(expected)}"
    largest = np.max(np.abs(expected), where=np.isfinite(expected), initial=1.0)
    np.testing.assert_allclose(actual, expected, rtol=relative, atol=absolute * largest)
