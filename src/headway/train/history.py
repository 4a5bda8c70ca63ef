"""What a run's losses have been: the points where validation was measured, and a finer line of the training loss between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

NUM_LOSSES = 200
"""Points of the finer line over a whole run."""


@dataclass
class History:
    """The curve so far.

    curve    one point per validation: step, loss (of that step's batch), validation_loss, seconds
    losses   (step, the mean training loss of the steps since the point before it)
    recent   the training losses since the last of these points
    """

    curve: list[dict[str, Any]] = field(default_factory=list)
    losses: list[tuple[int, float]] = field(default_factory=list)
    recent: list[float] = field(default_factory=list)

    def add(self, step: int, num_steps: int, loss: float) -> None:
        """Note a step's training loss."""
        self.recent.append(loss)
        if step % max(num_steps // NUM_LOSSES, 1) == 0 or step == num_steps:
            self.losses.append((step, sum(self.recent) / len(self.recent)))
            self.recent.clear()

    def add_validation(self, step: int, loss: float, validation_loss: float, seconds: float) -> None:
        """Note a validation loss."""
        self.curve.append(
            {"step": step, "loss": round(loss, 4), "validation_loss": round(validation_loss, 4), "seconds": round(seconds, 1)}
        )

    def to_dict(self) -> dict[str, Any]:
        """The history as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> History:
        """What to_dict made; of an older run's values, those that there are."""
        losses = [(step, loss) for step, loss in values.get("losses", ())]
        return cls(list(values.get("curve", ())), losses, list(values.get("recent", ())))
