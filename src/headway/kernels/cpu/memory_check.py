"""Whether there is memory for what is about to begin."""

from __future__ import annotations

from pathlib import Path

from headway.errors import ResourceError

MEMINFO = Path("/proc/meminfo")


def check_memory(size: int, what: str) -> None:
    """Go on where the system has so many bytes of memory left, or does not say.

    Errors   ResourceError where it has less.
    """
    free = available_bytes()
    if free is not None and size > free:
        raise ResourceError(
            f"came: {what}, which take {size / 1e9:.1f} GB, and {free / 1e9:.1f} GB of free memory; expected: as much memory as that; "
            "close other programs, use int4 weights, an int8 cache or a shorter text, or a smaller model"
        )


def available_bytes() -> int | None:
    """The memory that programs can still have; None where the system does not say."""
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
