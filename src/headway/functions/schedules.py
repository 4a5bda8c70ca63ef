"""Schedules of the learning rate."""

from __future__ import annotations

import math

from headway.errors import OptionError


def cosine_schedule(step: float, *, warmup_steps: float, total_steps: float, max_rate: float = 1.0, min_rate: float = 0.0) -> float:
    """Return the learning rate of a step: a linear warmup, then half a cosine down to a minimum.

        max_rate · step / warmup_steps                                             for step < warmup_steps
        min_rate + ½ (1 + cos(π · progress)) · (max_rate - min_rate)               until total_steps
        min_rate                                                                   after it

    with progress = (step - warmup_steps) / (total_steps - warmup_steps).

    step          number of the step, from 0
    warmup_steps  number of steps of the warmup; 0 for none
    total_steps   step from which the rate is min_rate
    max_rate      rate at the end of the warmup; 1 by default, which makes the result a factor
    min_rate      rate at the end; 0 by default

    Errors   OptionError for a negative step or number of steps, or a total_steps not above warmup_steps.

    >>> [cosine_schedule(step, warmup_steps=2, total_steps=6) for step in (0, 1, 2, 4, 6)]
    [0.0, 0.5, 1.0, 0.5, 0.0]

    Source   Loshchilov and Hutter 2017, equation 5, without restarts; Radford et al. 2018, section 4.1
    """
    _check_steps(step, warmup_steps, total_steps)
    if step < warmup_steps:
        return max_rate * step / warmup_steps
    if step >= total_steps:
        return min_rate
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_rate + 0.5 * (1 + math.cos(math.pi * progress)) * (max_rate - min_rate)


def noam_schedule(step: float, *, hidden_size: int, warmup_steps: float, factor: float = 1.0) -> float:
    """Return the learning rate of a step: a linear warmup, then a fall with the root of the step.

        factor · hidden_size^-½ · min(step^-½, step · warmup_steps^-3⁄2)

    step          number of the step, from 0, whose rate is 0
    hidden_size   width of the model
    warmup_steps  step with the highest rate
    factor        factor of all rates

    Errors   OptionError for a negative step, or a hidden_size or number of steps that is not positive.

    >>> [noam_schedule(step, hidden_size=4, warmup_steps=4) for step in (0, 1, 4, 16)]
    [0.0, 0.0625, 0.25, 0.125]

    Source   Vaswani et al. 2017, equation 3; it is named after Noam Shazeer
    """
    if step < 0 or hidden_size <= 0 or warmup_steps <= 0:
        raise OptionError(
            f"got step={step}, hidden_size={hidden_size}, warmup_steps={warmup_steps}, "
            "expected step at least 0, hidden_size and warmup_steps above 0"
        )
    if step == 0:
        return 0.0
    return factor * hidden_size**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def linear_schedule(step: float, *, warmup_steps: float, total_steps: float, max_rate: float = 1.0, min_rate: float = 0.0) -> float:
    """Return the learning rate of a step: a linear warmup, then a straight line down to a minimum.

        max_rate · step / warmup_steps                              for step < warmup_steps
        min_rate + (1 - progress) · (max_rate - min_rate)           until total_steps
        min_rate                                                    after it

    with progress = (step - warmup_steps) / (total_steps - warmup_steps). The arguments and errors are those of `cosine_schedule`.

    >>> [linear_schedule(step, warmup_steps=2, total_steps=6) for step in (0, 1, 2, 4, 6)]
    [0.0, 0.5, 1.0, 0.5, 0.0]

    Source   Devlin et al. 2019, section A.2
    """
    _check_steps(step, warmup_steps, total_steps)
    if step < warmup_steps:
        return max_rate * step / warmup_steps
    progress = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))
    return min_rate + (1 - progress) * (max_rate - min_rate)


def _check_steps(step: float, warmup_steps: float, total_steps: float) -> None:
    if step < 0 or warmup_steps < 0 or total_steps <= warmup_steps:
        raise OptionError(
            f"got step={step}, warmup_steps={warmup_steps}, total_steps={total_steps}, "
            "expected step and warmup_steps at least 0, total_steps above warmup_steps"
        )
