"""Recipe, probes and mistakes of Adam as an optimizer that holds its state, with and without decoupled weight decay."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Inputs, Probe, Role, Step, optional, unchanged
from headway.practice.recipes import adam as one_step
from headway.practice.recipes.adam import BETA1, BETA2, EPS, EPS_HAT, EPS_HAT_WORDS, RATE, STEP, UNCORRECTED, update
from headway.practice.texts import Texts

TEXTS = Texts("shared/optimizers")


def recipe(steps: Any, points: Any, gradients: Any, **given: Any) -> Any:
    """The definition in the steps of recipes.adam, and: turn, decay, slope, before, slot, after, stored; the output is every point after each step."""
    settings = one_step.Settings(**given)
    rate, (beta1, beta2) = settings.learning_rate, settings.decays
    now = [numpy.asarray(point, numpy.float64) for point in points]
    moments = [(0 * point, 0 * point) for point in now]
    found: list[Any] = []
    for count, slopes in enumerate(gradients, 1):
        for place, slope in enumerate(slopes):
            point = now[place]
            weight_decay = steps.decay(settings.weight_decay, point, place)
            given_slope, slope = slope, steps.slope(slope, point, weight_decay)
            t = steps.turn(count, place, len(now))
            decayed = steps.before(point, rate, weight_decay)
            slot = steps.slot(place, now)
            moved, mean, square = update(steps, decayed, slope, moments[slot], t, settings)
            correction = ((1 - beta2**t) ** 0.5 / (1 - beta1**t)) if t else 1.0
            updated = steps.after(moved, point, rate, weight_decay, correction, given_slope)
            now[place] = steps.stored(updated, point, place, len(now))
            moments[slot] = (mean, square)
        found += now
    return tuple(found)


def definition(points: Any, gradients: Any, **given: Any) -> Any:
    """Take headway.functions' Adam steps for every point, each after multiplying the point by 1 - learning_rate · weight_decay."""
    settings = one_step.Settings(**given)
    now, moments = list(points), list[Any]([None] * len(points))
    found: list[Any] = []
    for count, slopes in enumerate(gradients, 1):
        for place, slope in enumerate(slopes):
            decayed = now[place] * (1 - settings.learning_rate * settings.weight_decay)
            now[place], mean, square = functions.adam_step(decayed, slope, moments[place], step=count, **settings.options)
            moments[place] = (mean, square)
        found += now
    return tuple(found)


STEPS: dict[str, Step] = {
    **STEP,
    "before": lambda point, rate, weight_decay: point * (1 - rate * weight_decay),
}
COUPLED: dict[str, Any] = {
    "slope": lambda slope, point, weight_decay: slope + weight_decay * point,
    "before": unchanged,
}
"""Steps of weight decay as a part of the gradient (L2)."""

WITH_CORRECTED_RATE: dict[str, Any] = {
    "before": unchanged,
    "after": lambda moved, point, rate, weight_decay, correction, slope: moved * (1 - rate * correction * weight_decay),
}
"""Steps of weight decay by the rate that includes the correction of the bias."""

SETTING = TEXTS["more_than_one_parameter"]

SHARED = (
    TEXTS.mistake("step_counted_per_parameter", turn=lambda count, place, num_points: (count - 1) * num_points + place + 1),
    TEXTS.mistake("update_not_stored", after=lambda moved, point, *others: point),
    TEXTS.mistake("only_first_updated", stored=lambda updated, point, place, num_points: updated if place == 0 else point),
    TEXTS.mistake("only_last_updated", stored=lambda updated, point, place, num_points: updated if place == num_points - 1 else point),
    TEXTS.mistake("moments_shared", slot=lambda place, points: [point.shape for point in points].index(points[place].shape)),
    *one_step.MISTAKES,
)
DECAY_MISTAKES = (
    TEXTS.mistake("decay_in_gradient", **COUPLED),
    TEXTS.mistake("decay_twice", slope=COUPLED["slope"]),
    TEXTS.mistake(
        "decay_twice_with_corrected_rate",
        slope=COUPLED["slope"],
        **WITH_CORRECTED_RATE,
        said_as="decay_twice",
    ),
    TEXTS.mistake("decay_missing", before=unchanged),
    TEXTS.mistake("decay_without_rate", before=lambda point, rate, weight_decay: point * (1 - weight_decay)),
    TEXTS.mistake(
        "decay_without_rate_after_step",
        before=unchanged,
        after=lambda moved, point, rate, weight_decay, *others: moved * (1 - weight_decay),
        said_as="decay_without_rate",
    ),
    TEXTS.mistake("decay_added", before=lambda point, rate, weight_decay: point * (1 + rate * weight_decay)),
    TEXTS.mistake(
        "decay_with_corrected_rate",
        **WITH_CORRECTED_RATE,
    ),
    TEXTS.mistake(
        "decay_beside_update_with_corrected_rate",
        before=unchanged,
        after=lambda moved, point, rate, weight_decay, correction, slope: moved - rate * correction * weight_decay * point,
        said_as="decay_with_corrected_rate",
    ),
    TEXTS.mistake(
        "decay_of_gradient",
        before=unchanged,
        after=lambda moved, point, rate, weight_decay, correction, slope: moved - rate * weight_decay * slope,
    ),
    TEXTS.mistake(
        "decay_of_gradient_without_rate",
        before=unchanged,
        after=lambda moved, point, rate, weight_decay, correction, slope: moved - weight_decay * slope,
        said_as="decay_of_gradient",
    ),
    TEXTS.mistake("decay_of_ones", before=lambda point, rate, weight_decay: point - rate * weight_decay),
)
AFTER = Convention(
    TEXTS["decays_parameter_after_step_instead_before"],
    steps={
        "before": unchanged,
        "after": lambda moved, point, rate, weight_decay, *others: moved * (1 - rate * weight_decay),
    },
)
OF_MATRICES = optional(
    Convention(
        TEXTS["decays_matrices_only"],
        steps={"decay": lambda weight_decay, point, place: weight_decay if numpy.ndim(point) > 1 else 0.0},
        source=r"(\.ndim|\.dim\(\)|len\(\w+(\.\w+)*\.shape\)) *([<>]=?|==) *[12]\b",
    ),
    Convention(
        TEXTS["decays_weights_only"],
        steps={"decay": lambda weight_decay, point, place: weight_decay if place % 2 == 0 else 0.0},
        source=r"\A(?=(.|\n)*\.(W|weights?) *([-*]=|= ).*decay)(?!(.|\n)*\.(b|bias(es)?) *([-*]=|= ).*decay)",
    ),
)
"""An optimizer that leaves biases and the weights of norms, which are vectors, or the biases of layers without decay."""
EPSILONS = optional(Convention(EPS_HAT_WORDS, steps=EPS_HAT))


WITHOUT_COUNT = r"(?i)\Adef \w*adam_?w\w*\((?![^)]*\b(t|\w*(step|count|iter|state|beta\w*_?(t|pow\w*))\w*)\b)"
"""Pattern of the source of a function named AdamW that is given no number of steps, and no state that may hold it."""

UNCORRECTED_WITHOUT_COUNT = optional(Convention(TEXTS["has_no_bias_correction"], steps=UNCORRECTED, source=WITHOUT_COUNT))


def _fixed_eps(value: float, source: str | None = None) -> Convention:
    return Convention(TEXTS["eps_is_fixed"].format(eps=f"{value:g}"), steps={"eps": lambda eps: value}, without="eps", source=source)


FIXED_EPS = optional(
    *(_fixed_eps(value) for value in (1e-7, 1e-6, 1e-5, 1e-10, 1e-12)),
    *(_fixed_eps(10.0**-power, rf"e-0?{power}\b|\*\* ?-{power}\b") for power in (9, 11, 15, 16)),
    _fixed_eps(float(numpy.finfo(float).eps), "finfo"),
)
"""Values of eps that a class without a parameter for it may use."""

ROLES = (
    Role("points"),
    Role("gradients"),
    Role("learning_rate", neutral=RATE),
    Role("beta1", neutral=BETA1),
    Role("beta2", neutral=BETA2),
    Role("eps", neutral=EPS),
    Role("weight_decay", neutral=0.0),
)


def probes(*, has_decay: bool) -> tuple[Probe, ...]:
    """One step and several, of one, two and four parameters, two of them of one shape; tiny gradients; with given betas and eps; with decay."""
    random = numpy.random.default_rng(71)
    shapes = ((3,), (2, 2), (4,), (3,))

    def run(num_steps: int, rate: float, num_points: int = 1, size: float = 1.0, **more: Any) -> Inputs:
        points = [random.standard_normal(shape) for shape in shapes[:num_points]]
        gradients = [[size * random.standard_normal(shape) for shape in shapes[:num_points]] for _ in range(num_steps)]
        return {"points": points, "gradients": gradients, "learning_rate": rate} | more

    decays = (Probe("decay", run(3, 0.2, weight_decay=0.3)), Probe("decay of two parameters", run(3, 0.1, 2, weight_decay=0.5), SETTING))
    return (
        Probe("one step", run(1, 0.1)),
        Probe("four steps", run(4, 0.2)),
        Probe("two parameters", run(3, 0.1, 2), SETTING, meant_by=""),
        Probe("tiny gradient", run(3, 0.1, size=1e-8)),
        *(decays if has_decay else ()),
        Probe("betas given", run(4, 0.2, beta1=0.8, beta2=0.95)),
        Probe("eps given", run(3, 0.2, eps=1e-2)),
        Probe("four parameters", run(3, 0.1, 4), SETTING),
    )
