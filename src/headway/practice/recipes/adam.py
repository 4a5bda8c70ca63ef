"""Steps and mistakes of one Adam update, shared by the exercises about Adam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from headway.practice.exercise import Step, unchanged
from headway.practice.texts import Texts

TEXTS = Texts("shared/adam")

RATE, BETA1, BETA2, EPS = 0.001, 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Settings:
    """Options of Adam; `betas` if both are given as one."""

    learning_rate: float = RATE
    beta1: float = BETA1
    beta2: float = BETA2
    eps: float = EPS
    weight_decay: float = 0.0
    betas: tuple[float, float] | None = None

    @property
    def decays(self) -> tuple[float, float]:
        """Both betas."""
        return self.betas or (self.beta1, self.beta2)

    @property
    def options(self) -> dict[str, Any]:
        """The options as headway.functions' adam_step takes them."""
        return {"learning_rate": self.learning_rate, "betas": self.decays, "eps": self.eps}


def update(steps: Any, point: Any, gradient: Any, moments: tuple[Any, Any], count: int, settings: Settings) -> tuple[Any, Any, Any]:
    """Compute one update in the steps count, mean, square, correct_mean, correct_square, divide, move, kept."""
    t, betas = steps.count(count), settings.decays
    mean, square = steps.mean(moments[0], gradient, betas), steps.square(moments[1], gradient, betas)
    mean_hat, square_hat = steps.correct_mean(mean, betas, t), steps.correct_square(square, betas, t)
    used = steps.used({"mean": mean_hat, "square": square_hat, "old": moments, "gradient": gradient, "betas": betas, "t": t})
    moved = steps.move(point, steps.rate(settings.learning_rate) * steps.divide(*used, steps.eps(settings.eps), (1 - betas[1] ** t) ** 0.5))
    return moved, *steps.kept(mean, square, mean_hat, square_hat)


STEP: dict[str, Step] = {
    "mean": lambda mean, gradient, betas: betas[0] * mean + (1 - betas[0]) * gradient,
    "square": lambda square, gradient, betas: betas[1] * square + (1 - betas[1]) * gradient * gradient,
    "correct_mean": lambda mean, betas, t: mean / numpy.float64(1 - betas[0] ** t),
    "correct_square": lambda square, betas, t: square / numpy.float64(1 - betas[1] ** t),
    "used": lambda known: (known["mean"], known["square"]),
    "divide": lambda mean, square, eps, correction: mean / (numpy.sqrt(square) + eps),
    "move": lambda point, change: point - change,
    "kept": lambda mean, square, mean_hat, square_hat: (mean, square),
}

EPS_HAT: Mapping[str, Step] = {"divide": lambda mean, square, eps, correction: mean / (numpy.sqrt(square) + eps / correction)}
"""Add eps to the root of the uncorrected square: √v̂ + eps / √(1 - β₂ᵗ)."""

EPS_HAT_WORDS = TEXTS["eps_hat_words"]


def _mean_with(keep: Any, take: Any) -> Step:
    return lambda mean, gradient, betas: keep(betas) * mean + take(betas) * gradient


def _square_with(keep: Any, take: Any) -> Step:
    return lambda square, gradient, betas: keep(betas) * square + take(betas) * gradient * gradient


def _first(betas: Any) -> float:
    return betas[0]


def _second(betas: Any) -> float:
    return betas[1]


def _rest(beta: Any) -> Any:
    return lambda betas: 1 - beta(betas)


def _one(betas: Any) -> float:
    return 1.0


def _plain(moment: Any, betas: Any, t: int) -> Any:
    return moment


UNCORRECTED: dict[str, Any] = {"correct_mean": _plain, "correct_square": _plain}
"""Steps without a correction of the moments."""


def _old_moments(known: Mapping[str, Any]) -> tuple[Any, Any]:
    (mean, square), betas, t = known["old"], known["betas"], known["t"]
    return mean / numpy.float64(1 - betas[0] ** t), square / numpy.float64(1 - betas[1] ** t)


MISTAKES = (
    TEXTS.mistake("no_bias_correction", **UNCORRECTED),
    TEXTS.mistake("mean_not_corrected", correct_mean=_plain),
    TEXTS.mistake("square_not_corrected", correct_square=_plain),
    TEXTS.mistake(
        "correction_without_power",
        correct_mean=lambda mean, betas, t: mean / (1 - betas[0]),
        correct_square=lambda square, betas, t: square / (1 - betas[1]),
    ),
    TEXTS.mistake(
        "correction_multiplied",
        correct_mean=lambda mean, betas, t: mean * (1 - betas[0] ** t),
        correct_square=lambda square, betas, t: square * (1 - betas[1] ** t),
    ),
    TEXTS.mistake("step_counted_from_zero", count=lambda t: t - 1),
    TEXTS.mistake("eps_inside_root", divide=lambda mean, square, eps, correction: mean / numpy.sqrt(square + eps)),
    TEXTS.mistake("eps_missing", eps=lambda eps: 0.0),
    TEXTS.mistake("eps_after_division", divide=lambda mean, square, eps, correction: mean / numpy.sqrt(square) + eps, needs="eps"),
    TEXTS.mistake("root_missing", divide=lambda mean, square, eps, correction: mean / (square + eps)),
    TEXTS.mistake(
        "root_of_correction_missing",
        divide=lambda mean, square, eps, correction: mean * correction / (numpy.sqrt(square) + eps / correction),
    ),
    TEXTS.mistake("gradient_not_squared", square=lambda square, gradient, betas: betas[1] * square + (1 - betas[1]) * gradient),
    TEXTS.mistake("average_squared", square=lambda square, gradient, betas: (betas[1] * square + (1 - betas[1]) * gradient) ** 2),
    TEXTS.mistake(
        "betas_exchanged",
        mean=_mean_with(_second, _rest(_second)),
        square=_square_with(_first, _rest(_first)),
        correct_mean=lambda mean, betas, t: mean / numpy.float64(1 - betas[1] ** t),
        correct_square=lambda square, betas, t: square / numpy.float64(1 - betas[0] ** t),
    ),
    TEXTS.mistake(
        "betas_exchanged_in_correction",
        correct_mean=lambda mean, betas, t: mean / numpy.float64(1 - betas[1] ** t),
        correct_square=lambda square, betas, t: square / numpy.float64(1 - betas[0] ** t),
    ),
    TEXTS.mistake("old_and_new_exchanged", mean=_mean_with(_rest(_first), _first), square=_square_with(_rest(_second), _second)),
    TEXTS.mistake("one_minus_beta_missing", mean=_mean_with(_first, _one), square=_square_with(_second, _one)),
    TEXTS.mistake("one_minus_beta1_missing", mean=_mean_with(_first, _one)),
    TEXTS.mistake("one_minus_beta2_missing", square=_square_with(_second, _one)),
    TEXTS.mistake("old_moments_used", used=_old_moments),
    TEXTS.mistake("gradient_for_mean", used=lambda known: (known["gradient"], known["square"])),
    TEXTS.mistake("square_not_used", divide=unchanged),
    TEXTS.mistake("ascent", move=lambda point, change: point + change),
    TEXTS.mistake("corrected_moments_kept", kept=lambda mean, square, mean_hat, square_hat: (mean_hat, square_hat)),
)
