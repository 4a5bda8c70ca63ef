"""Schedules of a linear warmup and a fall to a minimum: the steps, mistakes, probes and conventions that the cosine and the straight line share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headway.practice.exercise import QUIET, Convention, Exercise, Inputs, Mistake, Probe, Step, optional
from headway.practice.recipes.encoding import without
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("shared/schedules")
ROLES = Roles("schedules")


def definition(schedule: Callable[..., float]) -> Callable[..., float]:
    """Return the rate of a schedule of headway.functions as a function of the inputs of the probes."""

    def rate(step: int, total_steps: int, warmup_steps: int = 0, max_rate: float = 1.0, min_rate: float = 0.0) -> float:
        return schedule(step, warmup_steps=warmup_steps, total_steps=total_steps, max_rate=max_rate, min_rate=min_rate)

    return rate


def recipe(steps: Any, step: int, total_steps: int, warmup_steps: int = 0, max_rate: float = 1.0, min_rate: float = 0.0) -> Any:
    """The definition as named steps: minimum, warmup; or progress, fall, mix; after the end."""
    min_rate = steps.minimum(min_rate, max_rate)
    if step < warmup_steps:
        return steps.warmup(step, warmup_steps, total_steps, max_rate, min_rate)
    rate = steps.mix(steps.fall(steps.progress(step, warmup_steps, total_steps)), max_rate, min_rate)
    return steps.after(min_rate, max_rate, rate) if step > total_steps else rate


STEPS: dict[str, Step] = {
    "warmup": lambda step, warmup, total, high, low: high * step / warmup,
    "progress": lambda step, warmup, total: (step - warmup) / (total - warmup),
    "mix": lambda share, high, low: low + share * (high - low),
}


def mistakes(*of_fall: Mistake) -> tuple[Mistake, ...]:
    """Return the mistakes of a schedule, those of its fall in their place among the others."""
    return (
        TEXTS.mistake("no_warmup", warmup=lambda step, warmup, total, high, low: high),
        TEXTS.mistake("warmup_over_all_steps", warmup=lambda step, warmup, total, high, low: high * step / total),
        TEXTS.mistake("warmup_without_rate", warmup=lambda step, warmup, total, high, low: step / warmup),
        TEXTS.mistake("warmup_not_subtracted", progress=lambda step, warmup, total: step / total),
        TEXTS.mistake("divided_by_all_steps", progress=lambda step, warmup, total: (step - warmup) / total),
        TEXTS.mistake("counted_from_zero", progress=lambda step, warmup, total: step / (total - warmup)),
        *of_fall,
        TEXTS.mistake("minimum_not_added", mix=lambda share, high, low: share * (high - low)),
        TEXTS.mistake("minimum_not_subtracted", mix=lambda share, high, low: low + share * high),
        TEXTS.mistake("minimum_left_out", mix=lambda share, high, low: share * high),
        TEXTS.mistake("zero_after_the_end", after=lambda low, high, rate: 0.0),
        TEXTS.mistake("maximum_after_the_end", after=lambda low, high, rate: high),
    )


AFTER = TEXTS["after"]


def probes() -> tuple[Probe, ...]:
    """Steps of the warmup, of the fall, at both ends, and after them; with and without a warmup, rates, and a minimum."""

    def at(step: int, **given: float) -> Inputs:
        return {"step": step, **given}

    every = {"max_rate": 0.6, "min_rate": 0.05, "warmup_steps": 10, "total_steps": 110}
    other = {"max_rate": 0.003, "min_rate": 0.0007, "warmup_steps": 40, "total_steps": 230}
    no_minimum = {"max_rate": 0.4, "warmup_steps": 20, "total_steps": 150}
    factor = {"warmup_steps": 20, "total_steps": 120}
    no_warmup = {"max_rate": 0.5, "min_rate": 0.02, "total_steps": 90}
    plain = {"max_rate": 0.7, "total_steps": 80}
    return (
        Probe("first step", at(0, **every)),
        Probe("in the warmup", at(4, **every)),
        Probe("end of the warmup", at(10, **every)),
        Probe("falling", at(47, **every)),
        Probe("nearly at the end", at(101, **every)),
        Probe("last step", at(110, **every)),
        Probe("after the end", at(117, **every), AFTER),
        Probe("in another warmup", at(31, **other)),
        Probe("falling to another minimum", at(119, **other)),
        Probe("in the warmup, no minimum", at(7, **no_minimum)),
        Probe("falling to zero", at(96, **no_minimum)),
        Probe("after the end, no minimum", at(156, **no_minimum), AFTER),
        Probe("factor in the warmup", at(13, **factor)),
        Probe("falling factor", at(71, **factor)),
        Probe("first step without a warmup", at(0, **no_warmup), QUIET),
        Probe("falling without a warmup", at(29, **no_warmup), QUIET),
        Probe("after the end, without a warmup", at(95, **no_warmup), AFTER),
        Probe("falling to zero without a warmup", at(52, **plain), QUIET),
        Probe("falling factor without a warmup", at(33, total_steps=80), QUIET),
    )


def _steps_of_the_fall(inputs: Inputs) -> Inputs | None:
    """Return the number of steps after the warmup in place of that of all steps."""
    return inputs | {"total_steps": inputs["total_steps"] - inputs.get("warmup_steps", 0)}


def _share(inputs: Inputs) -> Inputs | None:
    """Return the inputs with the minimum as a share of the maximum."""
    return without(inputs, "min_rate") | {"min_share": inputs["min_rate"] / inputs["max_rate"]} if "min_rate" in inputs else inputs


SHARES = (0.01, 0.05, 0.1, 0.2)
"""Shares of the maximum rate to which a schedule without a parameter for its minimum may fall."""


def _fixed_share(share: float) -> Convention:
    """Return the convention of a minimum that is a share of the maximum, which the source names as a number: 0.1."""
    return Convention(
        TEXTS["falls_to_share"].format(share=f"{share:g}"),
        steps={"minimum": lambda low, high: high * share},
        source=rf"(?<![\w.])0?{f'{share:g}'[1:].replace('.', chr(92) + '.')}0*(?![\w.])",
        without="min_rate",
    )


CONVENTIONS = (
    optional(
        Convention(TEXTS["first_step_is_one"], steps={"warmup": lambda step, warmup, total, high, low: high * (step + 1) / warmup}),
        Convention(
            TEXTS["first_step_is_one_of_more"],
            steps={"warmup": lambda step, warmup, total, high, low: high * (step + 1) / (warmup + 1)},
        ),
        Convention(
            TEXTS["warmup_from_the_minimum"],
            steps={"warmup": lambda step, warmup, total, high, low: low + (high - low) * step / warmup},
        ),
    ),
    optional(Convention(encode=_share, role="min_share", without="min_rate")),
    optional(*map(_fixed_share, SHARES)),
    optional(
        Convention(TEXTS["continues"], steps={"after": lambda low, high, rate: rate}),
        Convention(
            TEXTS["starts_again"],
            steps={
                "progress": lambda step, warmup, total: (step - warmup) % (total - warmup) / (total - warmup),
                "after": lambda low, high, rate: rate,
            },
            used_source=r"[\w)] % [\w(]",
        ),
    ),
    optional(
        Convention(
            TEXTS["steps_of_the_fall"],
            _steps_of_the_fall,
            role="total_steps",
            named=r"(?i)^(?!lr_)(.*_)?(decay|cos(ine)?)_(steps|iters)$|^t_cos(ine)?$",
        )
    ),
)

SCHEDULE = partial(
    Exercise,
    recipe=recipe,
    roles=(
        ROLES("step"),
        ROLES("max_rate", neutral=1.0, off=1.0),
        ROLES("min_rate", neutral=0.0, off=0.0),
        ROLES("min_share", neutral=0.0, off=0.0),
        ROLES("warmup_steps", off=0),
        ROLES("total_steps"),
        ROLES("num_cycles", neutral=0.5),
    ),
    probes=probes,
    conventions=CONVENTIONS,
    related=("cosine_schedule", "linear_schedule", "noam_schedule"),
    calls="schedule",
    is_trained_through=False,
)
"""An exercise whose function returns the rate of a step."""
