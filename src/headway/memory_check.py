"""A check of free memory before a large allocation."""

from __future__ import annotations

from pathlib import Path

from headway.errors import ResourceError

MEMINFO = Path("/proc/meminfo")


def check_memory(size: int, what: str) -> None:
    """Raise ResourceError if less than `size` bytes of memory are available; pass if the system does not say.

    what   what needs the memory, for the message
    """
    available = available_bytes()
    if available is not None and size > available:
        raise ResourceError(
            f"got {what}, which need {size / 1e9:.1f} GB of memory, expected at most the {available / 1e9:.1f} GB that are available",
            hint="close other programs, use int4 weights, an int8 cache or a shorter text, or choose a smaller model",
        )


def available_bytes() -> int | None:
    """Return the memory that programs can still allocate, in bytes; None if the system does not say."""
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
