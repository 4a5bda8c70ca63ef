"""cosine_schedule: a learning rate that rises linearly, then falls along half a cosine to a minimum."""

from __future__ import annotations

import math
from typing import Any

from headway import functions
from headway.practice.exercise import QUIET, Convention, Exercise, Inputs, Probe, Step, optional
from headway.practice.recipes.encoding import without
from headway.practice.recipes.shares import SHARES
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("cosine_schedule")
ROLES = Roles("cosine_schedule")


def definition(step: int, total_steps: int, warmup_steps: int = 0, max_rate: float = 1.0, min_rate: float = 0.0) -> float:
    """Return the rate of headway.functions' schedule."""
    return functions.cosine_schedule(step, warmup_steps=warmup_steps, total_steps=total_steps, max_rate=max_rate, min_rate=min_rate)


def recipe(steps: Any, step: int, total_steps: int, warmup_steps: int = 0, max_rate: float = 1.0, min_rate: float = 0.0) -> Any:
    """The definition as named steps: warmup; or progress, wave, mix; after the end."""
    if step < warmup_steps:
        return steps.warmup(step, warmup_steps, total_steps, max_rate, min_rate)
    rate = steps.mix(steps.wave(steps.progress(step, warmup_steps, total_steps)), max_rate, min_rate)
    return steps.after(min_rate, max_rate, rate) if step > total_steps else rate


STEPS: dict[str, Step] = {
    "warmup": lambda step, warmup, total, high, low: high * step / warmup,
    "progress": lambda step, warmup, total: (step - warmup) / (total - warmup),
    "wave": lambda progress: 0.5 * (1 + math.cos(math.pi * progress)),
    "mix": lambda wave, high, low: low + wave * (high - low),
}

MISTAKES = (
    TEXTS.mistake("no_warmup", warmup=lambda step, warmup, total, high, low: high),
    TEXTS.mistake("warmup_over_all_steps", warmup=lambda step, warmup, total, high, low: high * step / total),
    TEXTS.mistake("warmup_without_rate", warmup=lambda step, warmup, total, high, low: step / warmup),
    TEXTS.mistake("warmup_not_subtracted", progress=lambda step, warmup, total: step / total),
    TEXTS.mistake("divided_by_all_steps", progress=lambda step, warmup, total: (step - warmup) / total),
    TEXTS.mistake("counted_from_zero", progress=lambda step, warmup, total: step / (total - warmup)),
    TEXTS.mistake("without_half", wave=lambda progress: 1 + math.cos(math.pi * progress)),
    TEXTS.mistake("cosine_alone", wave=lambda progress: math.cos(math.pi * progress)),
    TEXTS.mistake("one_not_halved", wave=lambda progress: 1 + 0.5 * math.cos(math.pi * progress)),
    TEXTS.mistake("rises", wave=lambda progress: 0.5 * (1 - math.cos(math.pi * progress))),
    TEXTS.mistake("sine", wave=lambda progress: 0.5 * (1 + math.sin(math.pi * progress))),
    TEXTS.mistake("degrees", wave=lambda progress: 0.5 * (1 + math.cos(180 * progress))),
    TEXTS.mistake("without_pi", wave=lambda progress: 0.5 * (1 + math.cos(progress))),
    TEXTS.mistake("whole_turn", wave=lambda progress: 0.5 * (1 + math.cos(2 * math.pi * progress))),
    TEXTS.mistake("quarter_turn", wave=lambda progress: math.cos(0.5 * math.pi * progress)),
    TEXTS.mistake("straight_line", wave=lambda progress: 1 - progress),
    TEXTS.mistake("minimum_not_added", mix=lambda wave, high, low: wave * (high - low)),
    TEXTS.mistake("minimum_not_subtracted", mix=lambda wave, high, low: low + wave * high),
    TEXTS.mistake("minimum_left_out", mix=lambda wave, high, low: wave * high),
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


def _fixed_share(share: float) -> Convention:
    """Return the convention of a minimum that is a share of the maximum, which the source names as a number: 0.1."""
    return Convention(
        TEXTS["falls_to_share"].format(share=f"{share:g}"),
        steps={"mix": lambda wave, high, low: high * (share + wave * (1 - share)), "after": lambda low, high, rate: high * share},
        source=rf"(?<![\w.])0?{f'{share:g}'[1:].replace('.', chr(92) + '.')}0*(?![\w.])",
        without="min_rate",
        is_whole=True,
    )


EXERCISE = Exercise(
    name="cosine_schedule",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
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
    mistakes=MISTAKES,
    conventions=(
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
    ),
    calls="schedule",
    is_trained_through=False,
)
