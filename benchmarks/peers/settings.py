"""Settings that every conversion and measurement shares."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

THREADS = 2


def checkpoint() -> Path:
    """The folder that `python -m benchmarks.tasks make_qwen2 FOLDER` wrote."""
    return Path(os.environ.get("HEADWAY_BENCHMARK_FOLDER") or Path(tempfile.gettempdir()) / "headway-benchmark-qwen2-0.5b")


def converted(name: str) -> Path:
    """Path of the same weights in a peer's own format."""
    return checkpoint().with_name(checkpoint().name + "-peers") / name
