"""Loss history of a run, and the progress that a state file stores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TypedDict

from headway.errors import TrainingError

NUM_LOSSES = 200
"""Number of points of the training loss curve over a whole run."""


class CurvePoint(TypedDict):
    """The losses at a step where the validation loss was measured."""

    step: int
    loss: float
    validation_loss: float
    seconds: float


@dataclass
class History:
    """Loss history of a run.

    curve    one point per validation; `loss` is that of the step's batch, `seconds` the training time so far
    losses   (step, mean training loss of the steps since the previous entry)
    recent   training losses since the last entry of `losses`
    """

    curve: list[CurvePoint] = field(default_factory=list)
    losses: list[tuple[int, float]] = field(default_factory=list)
    recent: list[float] = field(default_factory=list)

    def add(self, step: int, num_steps: int, loss: float) -> None:
        """Add the training loss of a step."""
        self.recent.append(loss)
        if step % max(num_steps // NUM_LOSSES, 1) == 0 or step == num_steps:
            self.losses.append((step, sum(self.recent) / len(self.recent)))
            self.recent.clear()

    def add_validation(self, step: int, loss: float, validation_loss: float, seconds: float) -> None:
        """Add a validation loss."""
        self.curve.append(
            {"step": step, "loss": round(loss, 4), "validation_loss": round(validation_loss, 4), "seconds": round(seconds, 1)}
        )


@dataclass
class SavedProgress:
    """The progress of a run, as stored in the metadata of a state file.

    step      number of steps done
    seconds   training time so far
    history   loss history so far
    """

    step: int
    seconds: float
    history: History

    def to_dict(self) -> dict[str, object]:
        """Return the progress as JSON values."""
        return {"step": self.step, "seconds": self.seconds, **asdict(self.history)}

    @classmethod
    def from_dict(cls, values: dict[str, object], name: str) -> SavedProgress:
        """Check JSON values from to_dict and return them as a SavedProgress; `name` is what error messages call their file.

        Older state files lack parts of the history; these are empty.

        Errors   TrainingError for a missing step or seconds, or a value of a wrong type or out of range.
        """
        try:
            curve = [_curve_point(point) for point in _list(values.get("curve", []))]
            losses = [_loss_point(point) for point in _list(values.get("losses", []))]
            recent = [_number(loss) for loss in _list(values.get("recent", []))]
            return cls(_step(values.get("step")), _number(values.get("seconds"), at_least=0), History(curve, losses, recent))
        except (TypeError, ValueError) as error:
            raise TrainingError(
                f"got {name} with invalid progress ({error}), expected a file written by headway train", hint="start a new run"
            ) from error


def _curve_point(point: object) -> CurvePoint:
    if not isinstance(point, dict) or not point.keys() >= CurvePoint.__annotations__.keys():
        raise ValueError("a point of the curve without step, loss, validation_loss and seconds")
    return {
        "step": _step(point["step"]),
        "loss": _number(point["loss"]),
        "validation_loss": _number(point["validation_loss"]),
        "seconds": _number(point["seconds"], at_least=0),
    }


def _loss_point(point: object) -> tuple[int, float]:
    pair = _list(point)
    if len(pair) != 2:
        raise ValueError("an entry of losses that is not a step and a loss")
    return _step(pair[0]), _number(pair[1])


def _list(value: object) -> Sequence[object]:
    if not isinstance(value, list):
        raise ValueError(f"a {type(value).__name__} instead of a list")
    return value


def _step(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise ValueError("a step that is not an integer of at least 0")
    return value


def _number(value: object, *, at_least: float = -math.inf) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value < at_least:
        raise ValueError("a number that is missing, not finite or negative")
    return float(value)
