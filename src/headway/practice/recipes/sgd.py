"""Recipe, probes and mistakes of stochastic gradient descent as an optimizer that holds its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Inputs, Probe, Role, Step, optional, unchanged
from headway.practice.recipes.adam import RATE
from headway.practice.recipes.optimizers import OF_MATRICES, SETTING
from headway.practice.texts import Texts

TEXTS = Texts("sgd_optimizer")


SHAPES = TEXTS["several_shapes"]


@dataclass(frozen=True)
class Settings:
    """Options of stochastic gradient descent."""

    learning_rate: float = RATE
    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0


def recipe(steps: Any, points: Any, gradients: Any, **given: Any) -> Any:
    """The definition in the steps momentum, rate, slot, decay, gradient, slope, velocity, kept, direction, move, after; the output is every point after each step."""
    settings = Settings(**given)
    momentum = steps.momentum(settings.momentum)
    now = [numpy.asarray(point, numpy.float64) for point in points]
    velocities = [0 * point for point in now]
    found: list[Any] = []
    for count, slopes in enumerate(gradients, 1):
        rate = steps.rate(settings.learning_rate, count)
        for place, slope in enumerate(slopes):
            point, slot = now[place], steps.slot(place, now)
            weight_decay = steps.decay(settings.weight_decay, point, place)
            slope = steps.slope(steps.gradient(numpy.asarray(slope, numpy.float64)), point, weight_decay)
            velocity = steps.velocity(velocities[slot], slope, momentum, settings.dampening, count)
            direction = steps.direction(velocity, slope, momentum, steps.nesterov(settings.nesterov), velocities[slot])
            velocities[slot] = steps.kept(velocity)
            now[place] = steps.after(steps.move(point, direction, rate, weight_decay), point, direction, momentum)
        found += now
    return tuple(found)


def definition(points: Any, gradients: Any, **given: Any) -> Any:
    """Take one step of headway.functions' gradient descent for every point, along its velocity."""
    settings = Settings(**given)
    now, velocities = list(points), list[Any]([None] * len(points))
    found: list[Any] = []
    for slopes in gradients:
        for place, slope in enumerate(slopes):
            direction = slope + settings.weight_decay * now[place]
            if settings.momentum:
                old = velocities[place]
                velocity = direction if old is None else settings.momentum * old + (1 - settings.dampening) * direction
                velocities[place] = velocity
                direction = direction + settings.momentum * velocity if settings.nesterov else velocity
            now[place] = _moved(now[place], direction, settings.learning_rate)
        found += now
    return tuple(found)


def _moved(point: Any, direction: Any, rate: float) -> Any:
    return functions.gradient_descent(lambda x: direction, point, learning_rate=rate, tolerance=0.0, max_steps=1).point


def _velocity(velocity: Any, slope: Any, momentum: float, dampening: float, count: int) -> Any:
    return momentum * velocity + (1 - (dampening if count > 1 and momentum else 0.0)) * slope


def _direction(velocity: Any, slope: Any, momentum: float, nesterov: bool, old: Any) -> Any:
    return slope + momentum * velocity if nesterov else velocity


def _always(value: Any) -> Step:
    return lambda given: value


STEPS: Mapping[str, Step] = {
    "slope": lambda slope, point, weight_decay: slope + weight_decay * point,
    "velocity": _velocity,
    "direction": _direction,
    "move": lambda point, direction, rate, weight_decay: point - rate * direction,
}

DECOUPLED: Mapping[str, Step] = {
    "slope": unchanged,
    "move": lambda point, direction, rate, weight_decay: point * (1 - rate * weight_decay) - rate * direction,
}

MISTAKES = (
    TEXTS.mistake("ascent", move=lambda point, direction, rate, weight_decay: point + rate * direction),
    TEXTS.mistake("rate_missing", move=lambda point, direction, rate, weight_decay: point - direction),
    TEXTS.mistake("rate_twice", move=lambda point, direction, rate, weight_decay: point - rate * rate * direction),
    TEXTS.mistake("gradient_averaged", gradient=lambda slope: numpy.full_like(slope, slope.mean())),
    TEXTS.mistake("sign_of_gradient", gradient=numpy.sign),
    TEXTS.mistake("velocity_not_kept", kept=lambda velocity: 0 * velocity, needs="momentum"),
    TEXTS.mistake(
        "velocity_shared", slot=lambda place, points: [point.shape for point in points].index(points[place].shape), needs="momentum"
    ),
    TEXTS.mistake(
        "old_velocity_used", direction=lambda velocity, slope, momentum, nesterov, old: old if momentum else velocity, needs="momentum"
    ),
    TEXTS.mistake(
        "first_gradient_lost",
        velocity=lambda velocity, slope, momentum, dampening, count: (
            0 * slope if count == 1 and momentum else _velocity(velocity, slope, momentum, dampening, count)
        ),
        needs="momentum",
    ),
    TEXTS.mistake(
        "momentum_subtracted", velocity=lambda velocity, slope, momentum, dampening, count: slope - momentum * velocity, needs="momentum"
    ),
    TEXTS.mistake("update_not_stored", after=lambda moved, point, *others: point),
    TEXTS.mistake("gradient_stored", after=lambda moved, point, direction, momentum: direction),
    TEXTS.mistake(
        "gradient_stored_without_momentum",
        after=lambda moved, point, direction, momentum: moved if momentum else direction,
        said_as="gradient_stored",
        needs="momentum",
    ),
    TEXTS.mistake("nesterov_missing", nesterov=lambda is_on: False, needs="nesterov"),
    TEXTS.mistake(
        "nesterov_of_velocity",
        direction=lambda velocity, slope, momentum, nesterov, old: velocity + momentum * velocity if nesterov else velocity,
        needs="nesterov",
    ),
    TEXTS.mistake("decay_missing", slope=unchanged, needs="weight_decay"),
    TEXTS.mistake("decay_subtracted", slope=lambda slope, point, weight_decay: slope - weight_decay * point, needs="weight_decay"),
)

CONVENTIONS = (
    optional(
        Convention(
            TEXTS["averages"],
            steps={"velocity": lambda velocity, slope, momentum, dampening, count: momentum * velocity + (1 - momentum) * slope},
            used_source=r"1(\.0*)? *- *(self\.)?\w+",
        ),
        Convention(
            TEXTS["dampens_first_step"],
            steps={"velocity": lambda velocity, slope, momentum, dampening, count: momentum * velocity + (1 - dampening) * slope},
            role="dampening",
        ),
    ),
    optional(
        Convention(TEXTS["rate_decays"], steps={"rate": lambda rate, count: rate / count**0.5}, source=r"sqrt\(|\*\* *\(?-?(0?\.5|1 */ *2)")
    ),
    optional(Convention(TEXTS["decay_of_parameter"], steps=DECOUPLED, role="weight_decay")),
    OF_MATRICES,
    optional(
        *(
            Convention(
                TEXTS["momentum_is_fixed"].format(value=value), steps={"momentum": _always(value)}, without="momentum", source=source
            )
            for value, source in ((0.9, r"0?\.9\b"), (0.99, r"0?\.99\b"), (0.95, r"0?\.95\b"), (0.5, r"0?\.5\b"))
        )
    ),
    optional(
        Convention(
            TEXTS["always_nesterov"], steps={"nesterov": _always(True)}, without="nesterov", source=r"(?i)nesterov|nag\b|look_?ahead"
        )
    ),
)

ROLES = (
    Role("points"),
    Role("gradients"),
    Role("learning_rate", neutral=RATE),
    Role("momentum", neutral=0.0),
    Role("dampening", neutral=0.0),
    Role("nesterov", neutral=False),
    Role("weight_decay", neutral=0.0),
)


def probes() -> tuple[Probe, ...]:
    """One step and several, of one parameter and of more, in one shape and in several; with momentum, dampening, nesterov and decay."""
    random = numpy.random.default_rng(73)
    row, shapes = (3,), ((2, 3), (4,), (3, 2), (2,))

    def run(num_steps: int, rate: float, *of: tuple[int, ...], **more: Any) -> Inputs:
        points = [random.standard_normal(shape) for shape in of]
        gradients = [[random.standard_normal(shape) for shape in of] for _ in range(num_steps)]
        return {"points": points, "gradients": gradients, "learning_rate": rate} | more

    return (
        Probe("one step", run(1, 0.1, row)),
        Probe("four steps", run(4, 0.2, row)),
        Probe("two parameters", run(3, 0.1, row, row), SETTING, meant_by=""),
        Probe("four parameters", run(3, 0.3, *shapes), SHAPES, meant_by=""),
        Probe("momentum", run(4, 0.2, row, momentum=0.7)),
        Probe("momentum of two parameters", run(3, 0.1, row, row, momentum=0.9), SETTING),
        Probe("momentum of four parameters", run(3, 0.1, *shapes, momentum=0.8), SHAPES),
        Probe("decay", run(3, 0.2, row, weight_decay=0.3)),
        Probe("decay with momentum", run(3, 0.2, row, weight_decay=0.3, momentum=0.6)),
        Probe("dampening", run(4, 0.2, row, momentum=0.7, dampening=0.4)),
        Probe("nesterov", run(4, 0.2, row, momentum=0.7, nesterov=True)),
        Probe("decay of four parameters", run(3, 0.1, *shapes, weight_decay=0.4), SHAPES),
    )
