"""noam_schedule: a learning rate that rises linearly, then falls with the root of the step, scaled by the width of the model."""

from __future__ import annotations

from typing import Any

from headway import functions
from headway.practice.exercise import Convention, Exercise, Probe, Step, optional
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("noam_schedule")
ROLES = Roles("noam_schedule")


def definition(step: int, hidden_size: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Return the rate of headway.functions' schedule."""
    return functions.noam_schedule(step, hidden_size=hidden_size, warmup_steps=warmup_steps, factor=factor)


def recipe(steps: Any, step: int, hidden_size: int, warmup_steps: int, factor: float = 1.0) -> Any:
    """The definition as named steps: rise, fall, choose, width, multiply."""
    rate = steps.choose(steps.rise(step, warmup_steps), steps.fall(step, warmup_steps))
    return steps.multiply(steps.width(hidden_size) * rate, factor)


STEPS: dict[str, Step] = {
    "rise": lambda step, warmup: step * warmup**-1.5,
    "fall": lambda step, warmup: step**-0.5,
    "choose": min,
    "width": lambda size: size**-0.5,
    "multiply": lambda rate, factor: rate * factor,
}

MISTAKES = (
    TEXTS.mistake("maximum", choose=max),
    TEXTS.mistake("no_warmup", choose=lambda rise, fall: fall),
    TEXTS.mistake("no_fall", choose=lambda rise, fall: rise),
    TEXTS.mistake("root_of_warmup", rise=lambda step, warmup: step * warmup**-0.5),
    TEXTS.mistake("warmup_divides", rise=lambda step, warmup: step / warmup),
    TEXTS.mistake("step_missing", rise=lambda step, warmup: warmup**-1.5),
    TEXTS.mistake("step_without_root", fall=lambda step, warmup: 1 / step),
    TEXTS.mistake("root_of_width", width=lambda size: size**0.5),
    TEXTS.mistake("width_without_root", width=lambda size: 1 / size),
    TEXTS.mistake("width_missing", width=lambda size: 1.0),
    TEXTS.mistake("factor_missing", multiply=lambda rate, factor: rate),
)


def probes() -> tuple[Probe, ...]:
    """Steps of the warmup and after it, of several widths, with and without a factor."""
    small, large = {"hidden_size": 16, "warmup_steps": 10}, {"hidden_size": 90, "warmup_steps": 40}
    return (
        Probe("first step", {"step": 1, **small}),
        Probe("in the warmup", {"step": 7, **small}),
        Probe("falling", {"step": 33, **small}),
        Probe("in another warmup", {"step": 23, **large}),
        Probe("falling from another", {"step": 171, **large}),
        Probe("in the warmup, with a factor", {"step": 5, "factor": 3.0, **small}),
        Probe("falling with a factor", {"step": 95, "factor": 0.4, **large}),
    )


EXERCISE = Exercise(
    name="noam_schedule",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("step"), ROLES("hidden_size"), ROLES("warmup_steps"), ROLES("factor", neutral=1.0, off=1.0)),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(
            Convention(
                TEXTS["twice"],
                steps={"multiply": lambda rate, factor: 2 * rate * factor},
                used_source=r"(?i)\A(?=(.|\n)*(twice|t2t|tensor2tensor|doubl))(.|\n)*\b2(\.0?)? *\*(?!\*)",
            )
        ),
        optional(Convention(TEXTS["counts_from_zero"], lambda inputs: inputs | {"step": inputs["step"] - 1}, used_source=r"\+ *1\b(?!\.)")),
    ),
    calls="schedule",
    is_trained_through=False,
)
