"""Estimate of the duration of a pass from its number of rows."""

from __future__ import annotations

MEMORY = 0.9
"""Weight of the past in each update."""


class PassTime:
    """Least squares fit of `seconds = base + rows · per_row`, in which old passes count less and less."""

    def __init__(self) -> None:
        """Start without passes."""
        self._weight = self._rows = self._seconds = self._rows2 = self._product = 0.0

    def add(self, rows: int, seconds: float) -> None:
        """Add a measured pass."""
        self._weight = MEMORY * self._weight + 1
        self._rows = MEMORY * self._rows + rows
        self._seconds = MEMORY * self._seconds + seconds
        self._rows2 = MEMORY * self._rows2 + rows * rows
        self._product = MEMORY * self._product + rows * seconds

    def seconds(self, rows: int) -> float | None:
        """Return the expected duration; None before the first pass."""
        fit = self._fit()
        return None if fit is None else fit[0] + fit[1] * rows

    def rows_within(self, seconds: float) -> int | None:
        """Return the number of rows that take this time; None before the first pass."""
        fit = self._fit()
        return None if fit is None else int((seconds - fit[0]) / max(fit[1], 1e-9))

    def _fit(self) -> tuple[float, float] | None:
        """Return base and per_row, neither negative."""
        if not self._weight:
            return None
        rows, seconds = self._rows / self._weight, self._seconds / self._weight
        variance = self._rows2 / self._weight - rows * rows
        slope = (self._product / self._weight - rows * seconds) / variance if variance > 1e-9 * rows * rows else seconds / rows
        slope = min(max(slope, 0.0), seconds / rows)
        return seconds - slope * rows, slope
